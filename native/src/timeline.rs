//! Timeline: what happened in each interval of a log, in at most 240 intervals that have a record or an idle time.
//!
//! The intervals begin at multiples of their length since 1970 (UTC). The length is the smallest step for which no more
//! than 240 of them have one; it depends on the records alone, not on their order, so timelines are merged exactly.
//!
//! Each interval keeps in which of its 300 slots (of 1 s or longer) an operation was answered: a silence within it.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::idle_times::TIMEOUTS;
use crate::operation_row::OTHER_RESULT;
use crate::stamps::SECOND;

/// Intervals with records.
const MOST: usize = 240;
const DAY: i64 = 86_400;
/// Seconds. Each is a multiple of those before it, so intervals are regrouped exactly.
const STEPS: [i64; 18] = [
    1,
    5,
    15,
    60,
    300,
    900,
    3600,
    21_600,
    DAY,
    DAY << 2,
    DAY << 4,
    DAY << 6,
    DAY << 8,
    DAY << 10,
    DAY << 12,
    DAY << 14,
    DAY << 16,
    DAY << 18,
];
/// Slots of an interval, at most.
const SLOTS: i64 = 300;
/// Nanoseconds: an operation that takes at least this long is slow.
pub const SLOW: i64 = SECOND;
/// Different result codes in one interval.
const MOST_RESULTS: usize = 100;

/// The records of one interval. Times in nanoseconds. Fields as in timeline.py.
#[allow(missing_docs)]
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Interval {
    pub answered: u64,
    pub etime: i128,
    pub searches: u64,
    pub search_etime: i128,
    pub slow: u64,
    pub failed_binds: u64,
    pub writing: i128,
    pub opened: u64,
    pub closed: u64,
    pub most_busy: (i64, i64),
    pub longest_queue: i64,
    /// By result code, in the order of their first results: most have the first code.
    pub results: Vec<(i64, u64)>,
    /// By the index of the timeout: connections whose idle time reached it; used again after that; closed after that.
    /// Empty, or of all timeouts.
    pub idle: Vec<[u64; 3]>,
    /// Bits: the slots in which an operation was answered. Their length is that of the Timeline, which merges them.
    pub slots: [u64; SLOTS as usize / 64 + 1],
}

impl Interval {
    /// Counts results by code.
    #[inline]
    pub fn result(&mut self, err: i64, count: u64) {
        match self.results.first_mut() {
            Some((first, results)) if *first == err => *results += count,
            _ => self.other_result(err, count),
        }
    }

    #[inline(never)]
    fn other_result(&mut self, err: i64, count: u64) {
        let there = |code: i64, results: &[(i64, u64)]| results.iter().position(|&(known, _)| known == code);
        let is_full = self.results.len() >= MOST_RESULTS;
        match there(err, &self.results).or_else(|| there(OTHER_RESULT, &self.results).filter(|_| is_full)) {
            Some(place) => self.results[place].1 += count,
            None => self.results.push((if is_full { OTHER_RESULT } else { err }, count)),
        }
    }

    fn idle_times(&mut self, timeout: usize, counts: [u64; 3]) {
        self.idle.resize(TIMEOUTS.len(), [0; 3]);
        for (sum, count) in self.idle[timeout].iter_mut().zip(counts) {
            *sum += count;
        }
    }

    fn set_slot(&mut self, place: i64) {
        self.slots[place as usize / 64] |= 1 << (place % 64);
    }

    fn merge(&mut self, other: &Interval) {
        self.answered += other.answered;
        self.etime += other.etime;
        self.searches += other.searches;
        self.search_etime += other.search_etime;
        self.slow += other.slow;
        self.failed_binds += other.failed_binds;
        self.writing += other.writing;
        self.opened += other.opened;
        self.closed += other.closed;
        self.most_busy = self.most_busy.max(other.most_busy);
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        for &(err, count) in &other.results {
            self.result(err, count);
        }
        for (timeout, &counts) in other.idle.iter().enumerate() {
            self.idle_times(timeout, counts);
        }
    }
}

/// Intervals by their number since 1970.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// The index of the step in STEPS.
    pub level: usize,
    /// The intervals with records.
    pub intervals: IndexMap<i64, Interval, FxBuildHasher>,
    /// The index of the last interval, its first second and the one after its last.
    last: usize,
    from: i64,
    until: i64,
    /// The second of the last result.
    answered: Option<i64>,
}

impl Timeline {
    /// The interval of a second (since 1970).
    #[inline]
    pub fn at(&mut self, second: i64) -> &mut Interval {
        if second < self.from || second >= self.until {
            self.find(second);
        }
        &mut self.intervals[self.last]
    }

    /// Counts a result by code, at its second.
    #[inline]
    pub fn result(&mut self, err: i64, second: i64) {
        self.at(second).result(err, 1);
        if self.answered != Some(second) {
            self.answered = Some(second);
            let place = (second - self.from) / slot_of(STEPS[self.level]);
            self.intervals[self.last].set_slot(place);
        }
    }

    /// Counts an idle time of a connection at each timeout that it reached: one `used` again, or `closed`.
    pub fn idle_time(&mut self, since: i64, ended: i64, used: u64, closed: u64) {
        let second = since.div_euclid(SECOND);
        let reached = TIMEOUTS.iter().take_while(|&&timeout| ended - since >= timeout * SECOND).count();
        for (index, timeout) in TIMEOUTS[..reached].iter().enumerate() {
            self.at(second + timeout).idle_times(index, [1, 0, 0]);
        }
        if reached > 0 && (used > 0 || closed > 0) {
            let interval = self.at(ended.div_euclid(SECOND));
            for index in 0..reached {
                interval.idle_times(index, [0, used, closed]);
            }
        }
    }

    #[inline(never)]
    fn find(&mut self, second: i64) {
        self.place(second);
        while self.intervals.len() > MOST {
            self.lengthen();
            self.place(second);
        }
    }

    /// Makes the intervals one step longer.
    fn lengthen(&mut self) {
        let before = STEPS[self.level];
        self.level += 1;
        for (number, interval) in std::mem::take(&mut self.intervals) {
            self.place(number * before);
            self.merge_here(number * before, before, &interval);
        }
    }

    /// Adds an interval that begins at a second to the one around it, which was found last.
    fn merge_here(&mut self, begin: i64, step: i64, other: &Interval) {
        let (first, own, length) = (begin - self.from, slot_of(step), slot_of(STEPS[self.level]));
        let there = &mut self.intervals[self.last];
        there.merge(other);
        for place in (0..SLOTS).filter(|&place| other.slots[place as usize / 64] >> (place % 64) & 1 == 1) {
            there.set_slot((first + place * own) / length);
        }
    }

    /// Adds the intervals of another timeline.
    pub fn merge(&mut self, other: &Timeline) {
        while self.level < other.level {
            self.lengthen();
        }
        for (&number, interval) in &other.intervals {
            let (begin, step) = (number * STEPS[other.level], STEPS[other.level]);
            self.at(begin);
            self.merge_here(begin, step, interval);
        }
    }

    fn place(&mut self, second: i64) {
        let step = STEPS[self.level];
        let number = second.div_euclid(step);
        let entry = self.intervals.entry(number);
        self.last = entry.index();
        entry.or_default();
        (self.from, self.until) = (number * step, (number + 1) * step);
    }
}

/// The length of a slot in an interval of `step` seconds; like steps, each is a multiple of those before.
fn slot_of(step: i64) -> i64 {
    (step / SLOTS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_shortest_of_which_240_suffice_in_any_order() {
        for (seconds, level, count) in [(0..240, 0, 240), (0..241, 1, 49), (0..3600, 2, 240), (-5..3600, 3, 61)] {
            let mut timeline = Timeline::default();
            for second in seconds.clone().rev() {
                timeline.at(second).result(0, 1);
            }
            let results = |interval: &Interval| interval.results[0].1 as usize;
            assert_eq!((timeline.level, timeline.intervals.len()), (level, count));
            assert_eq!(timeline.intervals.values().map(results).sum::<usize>(), seconds.clone().count());
        }
    }

    #[test]
    fn a_wild_time_does_not_lengthen_the_others() {
        let mut timeline = Timeline::default();
        for second in [-9_000_000_000, 5, 9_000_000_000, 5] {
            timeline.at(second).opened += 1;
        }
        assert_eq!((timeline.level, timeline.intervals[&5].opened), (0, 2));
    }

    #[test]
    fn result_codes_beyond_the_most_are_counted_together() {
        let mut interval = Interval::default();
        for err in (0..150).chain(0..150) {
            interval.result(err, 1);
        }
        assert_eq!((interval.results.len(), interval.results[100]), (101, (OTHER_RESULT, 100)));
    }
}
