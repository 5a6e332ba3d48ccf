//! A set of connection numbers kept as intervals, because a server assigns them consecutively.

use serde::{Deserialize, Serialize};

/// Each hole is a missing opening. Beyond this limit every second hole is closed, as if its openings had been seen.
const MOST_INTERVALS: usize = 50_000;

/// A set of mostly consecutive numbers.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ConnectionNumbers {
    starts: Vec<i64>,
    /// One past the last of each interval.
    ends: Vec<i64>,
}

impl ConnectionNumbers {
    /// Returns whether the set contains a number.
    pub fn contains(&self, number: i64) -> bool {
        let place = self.starts.partition_point(|&start| start <= number);
        place > 0 && number < self.ends[place - 1]
    }

    /// Adds a number; the fast path is the successor of the highest. Returns whether it forms a new interval.
    pub fn add(&mut self, number: i64) -> bool {
        if let Some(end) = self.ends.last_mut().filter(|end| **end == number) {
            *end += 1;
            return false;
        }
        if !self.contains(number) {
            let before = self.starts.len();
            self.span(number, number + 1);
            return self.starts.len() > before;
        }
        false
    }

    /// Adds the numbers of another set.
    pub fn update(&mut self, other: &ConnectionNumbers) {
        for (&start, &end) in other.starts.iter().zip(&other.ends) {
            self.span(start, end);
        }
    }

    /// The intervals, as (first, one past the last).
    pub fn intervals(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.starts.iter().copied().zip(self.ends.iter().copied())
    }

    /// Adds the numbers from `start` to below `end`, joined with the intervals that they overlap or touch.
    fn span(&mut self, mut start: i64, mut end: i64) {
        let before = self.starts.partition_point(|&other| other <= start);
        let first = if before > 0 && self.ends[before - 1] >= start { before - 1 } else { before };
        let past = self.starts.partition_point(|&other| other <= end);
        if first < past {
            start = start.min(self.starts[first]);
            end = end.max(self.ends[past - 1]);
        }
        self.starts.splice(first..past.max(first), [start]);
        self.ends.splice(first..past.max(first), [end]);
        if self.starts.len() > MOST_INTERVALS {
            self.close_every_second_hole();
        }
    }

    fn close_every_second_hole(&mut self) {
        let odd = self.ends.len() % 2;
        let last = *self.ends.last().unwrap_or(&0);
        self.starts = self.starts.iter().copied().step_by(2).collect();
        self.ends = self.ends.iter().copied().skip(1).step_by(2).collect();
        if odd == 1 {
            self.ends.push(last);
        }
    }
}
