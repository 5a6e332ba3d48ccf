//! Idle times of LDAP connections, as a histogram whose edges are the idle timeouts that administrators set.
//!
//! Edges every second to two minutes, every 10 s to an hour, every minute to a day.

use rustc_hash::FxHashMap;

use crate::stamps::SECOND;

const FINE: i64 = 120;
const MIDDLE: i64 = 3600;
const COARSE: i64 = 86_400;
const MIDDLE_FROM: i64 = FINE;
const COARSE_FROM: i64 = FINE + (MIDDLE - FINE) / 10;
const LAST: i64 = COARSE_FROM + (COARSE - MIDDLE) / 60;

/// The bucket of an idle time.
pub fn bucket(nanoseconds: i64) -> i64 {
    match nanoseconds / SECOND {
        seconds if seconds < FINE => seconds,
        seconds if seconds < MIDDLE => MIDDLE_FROM + (seconds - FINE) / 10,
        seconds if seconds < COARSE => COARSE_FROM + (seconds - MIDDLE) / 60,
        _ => LAST,
    }
}

/// Idle times of a second and more: the number in each bucket, and the longest.
#[derive(Default, Clone)]
pub struct IdleTimes {
    /// Counts by bucket.
    pub buckets: FxHashMap<i64, u64>,
    /// Nanoseconds, -(end), -connection: of two equal idle times the earlier compares greater.
    pub longest: (i64, i64, i64),
}

impl IdleTimes {
    /// Counts one idle time.
    pub fn add(&mut self, nanoseconds: i64, ended: i64, connection: i64) {
        *self.buckets.entry(bucket(nanoseconds)).or_default() += 1;
        self.longest = self.longest.max((nanoseconds, -ended, -connection));
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &IdleTimes) {
        for (&number, count) in &other.buckets {
            *self.buckets.entry(number).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }
}
