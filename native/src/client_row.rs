//! The row of the connections of one client address in a Segment.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::interner::{OTHER, RESTART, Symbol};
use crate::tables::CappedTable;

/// Approximate bytes of what the row of a client refers to: histograms of a few numbers, and a few codes.
pub const CLIENT_BYTES: usize = 500;

/// The connections of one client address.
#[derive(Clone, Default, Serialize, Deserialize)]
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
    /// Adds the counts of another row, whose close codes `code` translates.
    pub fn merge(&mut self, other: ClientRow, mut code: impl FnMut(Symbol) -> Symbol) {
        self.opened += other.opened;
        self.operations += other.operations;
        for (closed, count) in other.codes {
            *self.codes.entry(code(closed)).or_default() += count;
        }
        for (closed, count) in other.silent {
            *self.silent.entry(code(closed)).or_default() += count;
        }
        self.lifetimes.merge(&other.lifetimes);
        self.per_connection.merge(&other.per_connection);
        if let Some((first, last)) = other.used {
            self.used(first, last);
        }
    }

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

/// The close code under which a row counts a close: that of all others where the table of codes lacks it.
pub fn kept_code(closed: &CappedTable<Symbol, u64>, code: Symbol) -> Symbol {
    if code == RESTART || closed.contains(code) { code } else { OTHER }
}
