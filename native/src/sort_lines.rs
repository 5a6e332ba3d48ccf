//! The SORT and VLV lines of searches, kept until the result.

use crate::connection::OperationResult;
use crate::operation_kinds::SORTED;
use crate::runs::LATE;
use crate::scan::{Scan, UNMATCHED_BYTES};
use crate::sorting::{NO_VLV, Sorting, sort_line};

impl Scan {
    /// Keeps the SORT line of a search until its result: `cn (1033)`.
    pub fn sort(&mut self, number: i64, op: i64, time: i64, text: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let (keys, candidates) = sort_line(text);
        let keys = self.segment.texts.intern(keys);
        self.sorting(number, op, time, Sorting { keys, candidates, vlv: NO_VLV });
    }

    /// Keeps the SORT or VLV line of a search until its result.
    pub fn sorting(&mut self, number: i64, op: i64, time: i64, line: Sorting) {
        if self.is_past(time) {
            return;
        }
        let slot = self.unless_ended(number, time);
        let is_open = slot.is_some_and(|slot| self.run.connections.at(slot).closed.is_none());
        if !is_open
            && let Some(late) = self.run.late_requests.get_mut(&number)
            && late.add_sorting(op, line)
        {
            return;
        }
        let Some(slot) = slot else { return };
        let connection = self.run.connections.at(slot);
        if !connection.is_expired(time) && connection.add_sorting(op, line) {
            return;
        }
        if connection.opened.is_none_or(|opened| time <= opened + LATE) {
            connection
                .rare()
                .unmatched
                .push(OperationResult { sorting: Some(line), ..OperationResult::mark(op, time, SORTED) });
            self.segment.added += UNMATCHED_BYTES;
        }
    }
}
