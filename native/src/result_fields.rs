//! The fields of a result, as a dialect reads them.

use crate::operation_kinds::OperationKind;

/// The fields of a result.
#[derive(Clone, Copy, Default)]
pub struct ResultFields<'a> {
    /// The kind of operation, by its tag.
    pub kind: OperationKind,
    /// The result code.
    pub err: i64,
    /// Duration in nanoseconds, where the log has it.
    pub etime: Option<i64>,
    /// Nanoseconds of waiting for a worker thread.
    pub wait: Option<i64>,
    /// Nanoseconds without the wait.
    pub optime: Option<i64>,
    /// Entries returned.
    pub entries: i64,
    /// As the server writes them: `P,A`.
    pub notes: &'a [u8],
    /// The account that a BIND result reports as bound.
    pub account: Option<&'a [u8]>,
    /// The server's number of a paged search.
    pub page: Option<i64>,
    /// This is the last page.
    pub pages_end: bool,
}
