//! Idle times of LDAP connections, as a histogram whose edges are the idle timeouts that administrators set.
//!
//! Edges every second to two minutes, every 10 s to an hour, every minute to a day.

use crate::interner::Symbol;
use rustc_hash::FxHashMap;

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
#[derive(Default)]
pub struct IdleRow {
    /// Those that a request ended.
    pub used: IdleTimes,
    /// Those that a close ended, by close code.
    pub before_close: FxHashMap<Symbol, IdleTimes>,
}

/// Idle times of a second and more: number and sum in each bucket, and the longest.
#[derive(Default, Clone)]
pub struct IdleTimes {
    /// By bucket: idle times, and their sum in nanoseconds.
    pub buckets: FxHashMap<i64, (u64, i128)>,
    /// Nanoseconds, -(end), -connection: of two equal idle times the earlier compares greater.
    pub longest: (i64, i64, i64),
}

impl IdleTimes {
    /// Counts one idle time.
    pub fn add(&mut self, nanoseconds: i64, ended: i64, connection: i64) {
        let cell = self.buckets.entry(bucket(nanoseconds)).or_default();
        *cell = (cell.0 + 1, cell.1 + i128::from(nanoseconds));
        self.longest = self.longest.max((nanoseconds, -ended, -connection));
    }
}
