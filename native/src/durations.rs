//! Durations: a histogram of durations whose quantiles are right within 4 %, small where durations are alike.
//!
//! Each power of two is divided into 16 buckets of equal width.
//!
//! ```text
//! nanoseconds    0 .. 31    32 33   34 35  ...  64 .. 67  ...
//! bucket         0 .. 31    32      33          48
//! ```

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// 16 buckets for each power of two.
const SUB_BITS: u32 = 4;
/// Nanoseconds below which each duration has a bucket of its own.
const EXACT: u64 = 2 << SUB_BITS;

/// The bucket of a duration.
#[inline]
pub fn bucket(nanoseconds: u64) -> u16 {
    let shift = (u64::BITS - (nanoseconds | (EXACT - 1)).leading_zeros()) - SUB_BITS - 1;
    ((shift << SUB_BITS) as u16).wrapping_add((nanoseconds >> shift) as u16)
}

/// The number of durations in each bucket.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Durations(pub Histogram);

impl Durations {
    /// Counts a duration, which is not negative; returns the bytes added.
    #[inline]
    pub fn add(&mut self, nanoseconds: i64) -> usize {
        self.0.count(bucket(nanoseconds.max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_adjacent_and_a_sixteenth_wide() {
        for (nanoseconds, number) in [(0, 0), (31, 31), (32, 32), (33, 32), (34, 33), (64, 48), (67, 48), (68, 49)] {
            assert_eq!(bucket(nanoseconds), number);
        }
        for shift in 5..64 {
            assert_eq!(bucket(1 << shift) - bucket((1 << shift) - 1), 1);
        }
        assert_eq!(bucket(i64::MAX as u64), 959);
    }
}
