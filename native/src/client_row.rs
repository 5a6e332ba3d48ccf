//! The row of the connections of one client address in a Segment.

use rustc_hash::FxHashMap;

use crate::histogram::Histogram;
use crate::interner::Symbol;

/// Approximate bytes of what the row of a client refers to: histograms of a few numbers, and a few codes.
pub const CLIENT_BYTES: usize = 500;

/// The connections of one client address.
#[derive(Default)]
pub struct ClientRow {
    /// Connections accepted.
    pub opened: i64,
    /// Operations on connections that have ended.
    pub operations: u64,
    /// Closes by close code.
    pub codes: FxHashMap<Symbol, u64>,
    /// Closes of connections without any operation, such as health checks.
    pub silent: FxHashMap<Symbol, u64>,
    /// Closed connections by the bit length of their lifetime in nanoseconds.
    pub lifetimes: Histogram,
    /// Closed connections by the bit length of their number of operations.
    pub per_connection: Histogram,
    /// From the first opening to the last use of its connections, of those that `operations` counts.
    pub used: Option<(i64, i64)>,
}

impl ClientRow {
    /// Counts the time in which one of its connections was used.
    pub fn used(&mut self, begun: i64, ended: i64) {
        let (first, last) = self.used.unwrap_or((begun, begun));
        self.used = Some((first.min(begun), last.max(begun).max(ended)));
    }
}

/// The bit length of a number: bucket b of a histogram counts those below 2**b.
pub fn bit_length(number: u64) -> u16 {
    (u64::BITS - number.leading_zeros()) as u16
}
