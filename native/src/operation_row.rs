//! The rows of operations in a Segment: their counts, their durations, and when they came. Times in nanoseconds.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::connection::OperationResult;
use crate::durations::Durations;
use crate::interner::Symbol;
use crate::operation_kinds::OperationKind;
use crate::series::Series;

/// Kind of operation; and the class of the entry's DN, of a BIND the mechanism, of an extended operation its OID.
pub type TargetKey = (OperationKind, Symbol);
/// Filter shape, class of the base, scope.
pub type ShapeKey = (Symbol, Symbol, i64);

/// The code that counts all others, where there are too many different ones.
pub const OTHER_RESULT: i64 = -1;
/// Different result codes in one row.
const MOST_ERRORS: usize = 100;
/// Approximate bytes of the count of a result code.
const ERROR_BYTES: usize = 32;

/// The slowest operation of a row.
#[derive(Clone, Serialize, Deserialize)]
pub struct Worst {
    /// Nanoseconds, -time, -connection, -op: of two equal durations the earlier compares greater.
    pub order: (i64, i64, i64, i64),
    /// The filter or the DN as logged.
    pub subject: Vec<u8>,
}

/// The operations of one kind and target, or the searches of one shape. Fields as in operation_row.py.
#[allow(missing_docs)]
#[derive(Clone, Serialize, Deserialize)]
pub struct OperationRow {
    pub requests: u64,
    pub answered: u64,
    pub abandoned: u64,
    pub unanswered: u64,
    pub etime: i128,
    pub wait: i128,
    pub entries: i128,
    pub errors: FxHashMap<i64, u64>,
    pub etimes: Durations,
    pub waits: Durations,
    pub optimes: Durations,
    pub worst: Worst,
    pub first: i64,
    pub last: i64,
    pub series: Series,
}

impl Default for OperationRow {
    fn default() -> Self {
        OperationRow {
            requests: 0,
            answered: 0,
            abandoned: 0,
            unanswered: 0,
            etime: 0,
            wait: 0,
            entries: 0,
            errors: FxHashMap::default(),
            etimes: Durations::default(),
            waits: Durations::default(),
            optimes: Durations::default(),
            worst: Worst { order: (-1, 0, 0, 0), subject: Vec::new() },
            first: i64::MAX,
            last: i64::MIN,
            series: Series::default(),
        }
    }
}

impl OperationRow {
    /// Counts a result of a second (since 1970); returns the approximate number of bytes added.
    #[inline]
    pub fn count(&mut self, result: &OperationResult, second: i64, etime: i64) -> usize {
        self.answered += 1;
        self.etime += i128::from(etime);
        self.entries += i128::from(result.entries);
        let mut added = self.etimes.add(etime);
        if let Some(wait) = result.wait {
            self.wait += i128::from(wait);
            added += self.waits.add(wait);
        }
        if let Some(optime) = result.optime {
            added += self.optimes.add(optime);
        }
        if result.err != 0 {
            added += self.failed(result.err, 1);
        }
        self.first = self.first.min(result.time);
        self.last = self.last.max(result.time);
        added + self.series.add(second, etime)
    }

    /// Counts results with a code other than success; returns the approximate number of bytes added.
    fn failed(&mut self, err: i64, results: u64) -> usize {
        let count = self.errors.len();
        let err = if count >= MOST_ERRORS && !self.errors.contains_key(&err) { OTHER_RESULT } else { err };
        *self.errors.entry(err).or_default() += results;
        (self.errors.len() - count) * ERROR_BYTES
    }

    /// Adds the counts of another row.
    pub fn merge(&mut self, other: OperationRow) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.abandoned += other.abandoned;
        self.unanswered += other.unanswered;
        self.etime += other.etime;
        self.wait += other.wait;
        self.entries += other.entries;
        for (&err, &count) in &other.errors {
            self.failed(err, count);
        }
        self.etimes.0.merge(&other.etimes.0);
        self.waits.0.merge(&other.waits.0);
        self.optimes.0.merge(&other.optimes.0);
        if (other.worst.order, &other.worst.subject) > (self.worst.order, &self.worst.subject) {
            self.worst = other.worst;
        }
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.series.merge(&other.series);
    }

    /// Returns whether it has counted nothing: its only request was moved to another row.
    pub fn is_empty(&self) -> bool {
        self.requests + self.answered + self.abandoned + self.unanswered == 0
    }

    /// Keeps an operation if it is the slowest so far; takes the text of `subject` if it is.
    #[inline]
    pub fn keep_worst(&mut self, number: i64, result: &OperationResult, etime: i64, subject: &mut Vec<u8>) {
        if etime < self.worst.order.0 {
            return;
        }
        let order = (etime, -result.time, -number, -result.op);
        if (order, &*subject) > (self.worst.order, &self.worst.subject) {
            self.worst.order = order;
            std::mem::swap(&mut self.worst.subject, subject);
        }
    }
}
