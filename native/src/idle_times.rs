//! Idle times of LDAP connections, as a histogram whose edges are the idle timeouts that administrators set.
//!
//! Edges every second to two minutes, every 10 s to an hour, every minute to a day.

use crate::interner::Symbol;
use serde::{Deserialize, Serialize};

use crate::stamps::SECOND;

const FINE: i64 = 120;
const MIDDLE: i64 = 3600;
const COARSE: i64 = 86_400;
const MIDDLE_FROM: i64 = FINE;
const COARSE_FROM: i64 = FINE + (MIDDLE - FINE) / 10;
const LAST: i64 = COARSE_FROM + (COARSE - MIDDLE) / 60;

/// Seconds: the timeouts for which the timeline shows when connections reach them, and when those are used again.
pub const TIMEOUTS: [i64; 19] = [
    60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200, 10_800, 14_400, 21_600, 28_800, 43_200, 86_400,
];

/// The bucket of an idle time.
pub fn bucket(nanoseconds: i64) -> i64 {
    match nanoseconds / SECOND {
        seconds if seconds < FINE => seconds,
        seconds if seconds < MIDDLE => MIDDLE_FROM + (seconds - FINE) / 10,
        seconds if seconds < COARSE => COARSE_FROM + (seconds - MIDDLE) / 60,
        _ => LAST,
    }
}

/// Approximate bytes of the idle times of a client and an account: a few buckets, and those before one close code.
pub const IDLE_BYTES: usize = 400;

/// The idle times of the connections of one client that were bound as one account, by what ended them.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct IdleRow {
    /// Those that a request ended.
    pub used: IdleTimes,
    /// Those that a close ended, by close code.
    pub before_close: Vec<(Symbol, IdleTimes)>,
    /// Those that nothing ended before the end of the log.
    pub open: IdleTimes,
}

impl IdleRow {
    /// Adds the idle times of another row, whose close codes `code` translates.
    pub fn merge(&mut self, other: &IdleRow, mut code: impl FnMut(Symbol) -> Symbol) {
        self.used.merge(&other.used);
        self.open.merge(&other.open);
        for (closed, idle_times) in &other.before_close {
            self.before(code(*closed)).merge(idle_times);
        }
    }

    /// The row in a table whose close codes are others, as `merge` translates them.
    pub fn translated(mut self, mut code: impl FnMut(Symbol) -> Symbol) -> Self {
        for (closed, idle_times) in std::mem::take(&mut self.before_close) {
            let there = self.before(code(closed));
            if there.buckets.is_empty() {
                *there = idle_times;
            } else {
                there.merge(&idle_times);
            }
        }
        self
    }

    /// Those before a close code: most rows have one or two.
    pub fn before(&mut self, code: Symbol) -> &mut IdleTimes {
        let codes = &mut self.before_close;
        let place = codes.iter().position(|&(known, _)| known == code).unwrap_or(codes.len());
        if place == codes.len() {
            codes.reserve_exact(usize::from(codes.is_empty()));
            codes.push((code, IdleTimes::default()));
        }
        &mut codes[place].1
    }

    /// The number of idle times, and the longest in nanoseconds.
    pub fn count_and_longest(&self) -> (u64, i64) {
        let all = || [&self.used, &self.open].into_iter().chain(self.before_close.iter().map(|(_, times)| times));
        let count = all().flat_map(|one| &one.buckets).map(|&(_, count, _)| count).sum();
        (count, all().map(|one| one.longest.0).max().unwrap_or(0))
    }
}

/// Idle times of a second and more: number and sum in each bucket, and the longest.
#[derive(Default, Clone, Serialize, Deserialize)]
pub struct IdleTimes {
    /// Ascending buckets: idle times, and their sum in nanoseconds.
    pub buckets: Vec<(i64, u64, i128)>,
    /// Nanoseconds, -(end), -connection: of two equal idle times the earlier compares greater.
    pub longest: (i64, i64, i64),
}

impl IdleTimes {
    /// Adds other idle times.
    pub fn merge(&mut self, other: &IdleTimes) {
        for &(number, count, nanoseconds) in &other.buckets {
            self.add_to(number, count, nanoseconds);
        }
        self.longest = self.longest.max(other.longest);
    }

    /// Counts one idle time.
    pub fn add(&mut self, nanoseconds: i64, ended: i64, connection: i64) {
        self.add_to(bucket(nanoseconds), 1, i128::from(nanoseconds));
        self.longest = self.longest.max((nanoseconds, -ended, -connection));
    }

    fn add_to(&mut self, number: i64, count: u64, nanoseconds: i128) {
        match self.buckets.binary_search_by_key(&number, |&(number, ..)| number) {
            Ok(place) => {
                self.buckets[place].1 += count;
                self.buckets[place].2 += nanoseconds;
            }
            Err(place) => {
                self.buckets.reserve_exact(usize::from(self.buckets.is_empty()));
                self.buckets.insert(place, (number, count, nanoseconds));
            }
        }
    }
}
