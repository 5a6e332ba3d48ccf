//! Counts by small numbers, dense: the numbers that one row counts are close together.

use serde::{Deserialize, Serialize};

/// Numbers by which the window grows at either end.
const STEP: u16 = 8;

/// Counts of small numbers, in a window around those that have been counted; without one while all are the same.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// The number of the first count.
    base: u16,
    /// How often `base` was counted before there was a window.
    single: u64,
    counts: Box<[u64]>,
}

impl Histogram {
    /// Counts a number; returns the bytes by which the window has grown.
    #[inline]
    pub fn count(&mut self, number: u16) -> usize {
        self.add(number, 1)
    }

    /// Counts a number so many times; returns the bytes by which the window has grown.
    #[inline]
    fn add(&mut self, number: u16, times: u64) -> usize {
        match self.counts.get_mut(usize::from(number.wrapping_sub(self.base))) {
            Some(count) => {
                *count += times;
                0
            }
            None => self.add_outside(number, times),
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (number, times) in other.iter() {
            self.add(number, times);
        }
    }

    #[cold]
    fn add_outside(&mut self, number: u16, times: u64) -> usize {
        if !self.counts.is_empty() {
            return self.grow(number, times);
        }
        if self.single == 0 || self.base == number {
            self.base = number;
            self.single += times;
            return 0;
        }
        let (first, single) = (self.base, std::mem::take(&mut self.single));
        self.base = first / STEP * STEP;
        self.grow(first, single) + self.add(number, times)
    }

    fn grow(&mut self, number: u16, times: u64) -> usize {
        let (first, before) = (number / STEP * STEP, self.counts.len());
        let in_front = usize::from(self.base.saturating_sub(first));
        let end = (usize::from(first.saturating_sub(self.base)) + usize::from(STEP)).max(before);
        let mut counts = Vec::with_capacity(in_front + end);
        counts.resize(in_front, 0);
        counts.extend_from_slice(&self.counts);
        counts.resize(in_front + end, 0);
        self.base = self.base.min(first);
        counts[usize::from(number - self.base)] += times;
        self.counts = counts.into_boxed_slice();
        (self.counts.len() - before) * size_of::<u64>()
    }

    /// The numbers that were counted, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let single = (self.single > 0).then_some((self.base, self.single));
        let counts = (self.base..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0);
        single.into_iter().chain(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_counted_wherever_the_window_began() {
        for order in [[300, 7, 975, 300, 0], [0, 8, 300, 975, 300], [975, 300, 8, 7, 300]] {
            let mut histogram = Histogram::default();
            let bytes: usize = order.iter().map(|&number| histogram.count(number)).sum();
            for number in order {
                let expected = order.iter().filter(|&&one| one == number).count() as u64;
                assert_eq!(histogram.iter().find(|&(one, _)| one == number), Some((number, expected)));
            }
            assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), 5);
            assert_eq!(bytes, histogram.counts.len() * 8);
        }
    }
}
