//! The results of operations.

use crate::connection::{Account, OperationResult};
use crate::counting::{count_clear_bind, count_result, count_without_request, name_mechanism};
use crate::interner::{ANONYMOUS, Symbol};
use crate::operation_kinds::{BIND, EXTENDED, NAMED, SEARCH};
use crate::result_fields::ResultFields;
use crate::runs::LATE;
use crate::scan::{PLAIN, SIMPLE, Scan, UNMATCHED_BYTES};
use crate::segment::sample_of;
use crate::stamps::SECOND;
use crate::write_times::is_write;

/// Approximate bytes of a page of a paged search.
const PAGE_BYTES: usize = 32;

impl Scan {
    /// Counts a result.
    pub fn result(&mut self, number: i64, op: i64, time: i64, fields: &ResultFields) {
        if self.is_past(time) {
            return;
        }
        self.segment.results.count(fields.err);
        self.segment.timeline.result(fields.err, time.div_euclid(SECOND));
        if let Some(wait) = fields.wait {
            self.count_wait(wait, time);
        }
        if is_write(fields.kind) && fields.err == 0 {
            self.count_write(time, fields);
        }
        let slot = self.unless_ended(number, time);
        let (open, bound_as) = match slot.map(|slot| (slot, self.run.connections.at(slot))) {
            Some((slot, connection)) => (connection.closed.is_none().then_some(slot), connection.bound_as()),
            None => (None, Account::Inherited),
        };
        let notes = self.count_notes(open, fields);
        let account = fields.account.map(|account| self.intern_shortened(account));
        let &ResultFields { kind, err, etime, wait, optime, entries, .. } = fields;
        let result = OperationResult {
            op,
            time,
            kind,
            err,
            etime,
            wait,
            optime,
            entries,
            notes,
            account,
            bound_as,
            sorting: None,
        };
        let Some(slot) = open else { return self.result_after_close(number, slot, &result) };
        let connection = self.run.connections.at(slot);
        if let Some(mut pending) = connection.pending.take(op) {
            if kind == EXTENDED {
                connection.end_extended(err, &pending.subject);
            }
            count_result(&mut self.segment, number, connection, &mut pending, &result, bound_as);
            if kind == BIND {
                connection.end_bind(op, err, account, Some(pending.dn));
            }
            connection.end_operation(time);
            return self.recycle(pending);
        }
        self.result_without_request(slot, &result);
        self.run.connections.at(slot).end_operation(time);
    }

    /// Sets the account of a connection that is bound without a BIND: AUTOBIND, a client certificate.
    pub fn authenticated(&mut self, number: i64, time: i64, account: &[u8]) {
        if self.is_past(time) {
            return;
        }
        if let Some(slot) = self.unless_closed(number, time) {
            let account = self.intern_shortened(account);
            self.run.connections.at(slot).account = Account::Dn(account);
        }
    }

    /// Sets the account from slapd's second BIND line, which it writes before the result of a BIND that succeeds.
    pub fn bind_confirmed(&mut self, number: i64, op: i64, time: i64, account: &[u8], mechanism: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let Some(slot) = self.unless_closed(number, time) else { return };
        let account = self.intern_shortened(account);
        let connection = self.run.connections.at(slot);
        connection.account = Account::Dn(account);
        connection.confirmed_dn = Some(account);
        connection.bind_dn = Some(account);
        if mechanism == PLAIN && !connection.secured {
            let epoch = connection.epoch();
            count_clear_bind(&mut self.segment, connection, (epoch, account), 1);
        }
        if mechanism == SIMPLE {
            return;
        }
        let mechanism = self.segment.texts.intern(sample_of(mechanism));
        if !name_mechanism(&mut self.segment, connection, op, mechanism)
            && connection.opened.is_none_or(|opened| time <= opened + LATE)
        {
            let named = OperationResult { account: Some(mechanism), ..OperationResult::mark(op, time, NAMED) };
            connection.rare().unmatched.push(named);
            self.segment.added += UNMATCHED_BYTES;
        }
    }

    /// Keeps how many worker threads were busy, of how many, and how many operations waited in the queue.
    pub fn workers_busy(&mut self, time: i64, busy: i64, threads: i64, queued: i64) {
        if self.is_past(time) {
            return;
        }
        let interval = self.segment.timeline.at(time.div_euclid(SECOND));
        interval.most_busy = interval.most_busy.max((busy, threads));
        interval.longest_queue = interval.longest_queue.max(queued);
    }

    fn count_wait(&mut self, wait: i64, time: i64) {
        let segment = &mut self.segment;
        segment.waited += i128::from(wait);
        segment.longest_wait = segment.longest_wait.max((wait, -time));
    }

    /// Counts the time of a write, where the log has it.
    #[inline(never)]
    fn count_write(&mut self, time: i64, fields: &ResultFields) {
        let without_wait = || fields.etime.map(|etime| etime.saturating_sub(fields.wait.unwrap_or(0)).max(0));
        if let Some(duration) = fields.optime.or_else(without_wait) {
            let segment = &mut self.segment;
            segment.added += segment.writes.add(&mut segment.timeline, time, duration);
        }
    }

    /// Counts a result that is written after the close of its connection.
    fn result_after_close(&mut self, number: i64, slot: Option<u32>, result: &OperationResult) {
        if let Some(late) = self.run.late_requests.get_mut(&number)
            && let Some(mut pending) = late.pending.take(result.op)
        {
            let bound_as = late.bound_as();
            count_result(&mut self.segment, number, late, &mut pending, result, bound_as);
            return self.recycle(pending);
        }
        let Some(slot) = slot else { return count_without_request(&mut self.segment, number, None, result) };
        let connection = self.run.connections.at(slot);
        match connection.pending.take(result.op) {
            Some(mut pending) if !connection.is_expired(result.time) => {
                let bound_as = connection.bound_as();
                count_result(&mut self.segment, number, connection, &mut pending, result, bound_as);
                self.recycle(pending);
            }
            Some(pending) => {
                self.segment.operations_at(pending.kind, pending.row).unanswered += 1;
                self.recycle(pending);
                self.result_without_request(slot, result);
            }
            None => self.result_without_request(slot, result),
        }
        self.end_if_complete(number, slot);
    }

    /// Keeps a result whose request may be in an earlier chunk, or be written later.
    fn result_without_request(&mut self, slot: u32, result: &OperationResult) {
        let connection = self.run.connections.at(slot);
        connection.rare().unmatched.push(*result);
        self.segment.added += UNMATCHED_BYTES;
        if result.kind == BIND && connection.closed.is_none() {
            connection.end_bind(result.op, result.err, result.account, None);
        }
    }

    /// Counts the notes of a search, and returns the key they are counted under; paged searches have a note, too.
    fn count_notes(&mut self, open: Option<u32>, fields: &ResultFields) -> Symbol {
        if fields.notes.is_empty() {
            return ANONYMOUS;
        }
        let notes = self.segment.texts.intern(fields.notes);
        if fields.kind != SEARCH {
            return notes;
        }
        if let (Some(page), Some(slot)) = (fields.page, open) {
            self.count_page(slot, page, fields.pages_end);
        }
        self.segment.noted.count(notes, 1)
    }

    /// Counts a page of a paged search; a later page is no search of its own.
    fn count_page(&mut self, slot: u32, page: i64, ends: bool) {
        let connection = self.run.connections.at(slot);
        let is_from_before = connection.opened.is_none();
        let rare = connection.rare.get_or_insert_default();
        match rare.pages.get(&page) {
            Some(true) => connection.continued += 1,
            Some(false) => {}
            None if rare.pages.len() >= self.segment.caps.pages => {
                self.segment.cut_short("pages");
                return;
            }
            None => {
                self.segment.added += PAGE_BYTES;
                if is_from_before {
                    rare.uncertain_pages.insert(page);
                }
            }
        }
        rare.pages.insert(page, !ends);
    }
}
