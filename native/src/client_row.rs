//! The row of the connections of one client address in a Segment.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::interner::{OTHER, RESTART, Symbol};
use crate::tables::CappedTable;

/// Approximate bytes of what the row of a client refers to: histograms of a few numbers, and a few codes.
pub const CLIENT_BYTES: usize = 500;

/// Closes by close code: most clients have one or two, and the table of codes bounds them.
pub type CodeCounts = Vec<(Symbol, u64)>;

/// Counts closes with a code.
pub fn add_code(codes: &mut CodeCounts, code: Symbol, closes: u64) {
    match codes.iter_mut().find(|(known, _)| *known == code) {
        Some((_, count)) => *count += closes,
        None => {
            codes.reserve_exact(usize::from(codes.is_empty()));
            codes.push((code, closes));
        }
    }
}

/// The connections of one client address.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ClientRow {
    /// Connections accepted.
    pub opened: i64,
    /// Operations on connections that have ended.
    pub operations: u64,
    /// Closes by close code.
    pub codes: CodeCounts,
    /// Closes of connections without any operation, such as health checks.
    pub silent: CodeCounts,
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
            add_code(&mut self.codes, code(closed), count);
        }
        for (closed, count) in other.silent {
            add_code(&mut self.silent, code(closed), count);
        }
        self.lifetimes.merge(&other.lifetimes);
        self.per_connection.merge(&other.per_connection);
        if let Some((first, last)) = other.used {
            self.used(first, last);
        }
    }

    /// The row in a table whose close codes are others, as `merge` translates them.
    pub fn translated(mut self, mut code: impl FnMut(Symbol) -> Symbol) -> Self {
        for codes in [&mut self.codes, &mut self.silent] {
            for (closed, count) in std::mem::take(codes) {
                add_code(codes, code(closed), count);
            }
        }
        self
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
