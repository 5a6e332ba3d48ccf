//! What results say, added up as they come.

use crate::connection::{Account, Answer, Connection};
use crate::counting::{IN_PROGRESS, answer, unrequested};
use crate::kinds::{BIND, Kind, SEARCH};
use crate::runs::LATE;
use crate::scan::{HELD, Scan};
use crate::texts::{ANONYMOUS, Text};

/// Bytes, about, of a page of a paged search.
const PAGE: usize = 32;

/// The fields of a result.
#[derive(Clone, Copy, Default)]
pub struct Outcome<'a> {
    /// What its tag says.
    pub kind: Kind,
    /// The result code.
    pub err: i64,
    /// Nanoseconds it took, where the log tells.
    pub etime: Option<i64>,
    /// Nanoseconds it waited for a worker.
    pub wait: Option<i64>,
    /// Entries that were sent.
    pub entries: i64,
    /// As the server spells them: `P,A`.
    pub notes: &'a [u8],
    /// Who a BIND result says is bound now.
    pub account: Option<&'a [u8]>,
    /// The server's number of a paged search.
    pub page: Option<i64>,
    /// Its last page is sent.
    pub pages_end: bool,
}

impl Scan {
    /// Counts a result.
    pub fn result(&mut self, number: i64, op: i64, time: i64, outcome: &Outcome) {
        if self.is_past(time) {
            return;
        }
        self.segment.results.count(outcome.err);
        if let Some(wait) = outcome.wait {
            self.waited(wait, time);
        }
        let slot = self.unless_gone(number, time);
        let open = slot.filter(|&slot| self.run.connections.at(slot).closed.is_none());
        let notes = self.noted(open, outcome);
        let account = outcome.account.map(|account| self.short(account));
        let &Outcome { kind, err, etime, wait, entries, .. } = outcome;
        let who = slot.map_or(Account::Untold, |slot| self.run.connections.at(slot).who());
        let held = Answer { op, time, kind, err, etime, wait, entries, notes, account, who };
        let Some(slot) = open else { return self.late(number, slot, &held) };
        let connection = self.run.connections.at(slot);
        if let Some(mut pending) = connection.pending.take(op) {
            answer(&mut self.segment, number, connection, &mut pending, &held, who);
            if kind == BIND {
                bound(connection, op, err, account, Some(pending.dn));
            }
            self.spare(pending);
        } else {
            self.unrequested(number, slot, &held);
        }
        let connection = self.run.connections.at(slot);
        if connection.pending.is_empty() {
            connection.rested = Some(time);
        }
    }

    /// Takes this account for the connection's: AUTOBIND, a client certificate.
    pub fn bound(&mut self, number: i64, time: i64, account: &[u8]) {
        if self.is_past(time) {
            return;
        }
        if let Some(slot) = self.unless_closed(number, time) {
            let account = self.short(account);
            self.run.connections.at(slot).account = Account::Named(account);
        }
    }

    /// Takes this account for who the BIND under way will have bound: slapd's second line, before its result.
    pub fn binds(&mut self, number: i64, time: i64, account: &[u8]) {
        if self.is_past(time) {
            return;
        }
        if let Some(slot) = self.unless_closed(number, time) {
            let account = self.short(account);
            let connection = self.run.connections.at(slot);
            connection.account = Account::Named(account);
            connection.named = Some(account);
            connection.binding = Some(account);
        }
    }

    fn waited(&mut self, wait: i64, time: i64) {
        let segment = &mut self.segment;
        segment.waits.count(wait as u64);
        segment.waited += i128::from(wait);
        segment.longest_wait = segment.longest_wait.max((wait, -time));
    }

    /// Counts a result that comes after the close of its connection.
    fn late(&mut self, number: i64, slot: Option<u32>, held: &Answer) {
        if let Some(gone) = self.run.gone.get_mut(&number)
            && let Some(mut pending) = gone.pending.take(held.op)
        {
            let who = gone.who();
            answer(&mut self.segment, number, gone, &mut pending, held, who);
            return self.spare(pending);
        }
        let Some(slot) = slot else { return unrequested(&mut self.segment, number, held) };
        let connection = self.run.connections.at(slot);
        match connection.pending.take(held.op) {
            Some(mut pending) if !connection.is_gone(held.time) => {
                let who = connection.who();
                answer(&mut self.segment, number, connection, &mut pending, held, who);
                self.spare(pending);
            }
            Some(pending) => {
                self.spare(pending);
                self.unrequested(number, slot, held);
            }
            None => self.unrequested(number, slot, held),
        }
        self.end_if_complete(number, slot);
    }

    /// Keeps a result whose request may be in an earlier piece, else counts it.
    fn unrequested(&mut self, number: i64, slot: u32, held: &Answer) {
        let connection = self.run.connections.at(slot);
        if connection.opened.is_none_or(|opened| held.time <= opened + LATE) {
            connection.aside().held.push(*held);
            self.segment.weight += HELD;
        } else {
            unrequested(&mut self.segment, number, held);
        }
        let connection = self.run.connections.at(slot);
        if held.kind == BIND && connection.closed.is_none() {
            bound(connection, held.op, held.err, held.account, None);
        }
    }

    /// Counts the notes of a search, and returns what they are counted as; a paged search has one, too.
    fn noted(&mut self, open: Option<u32>, outcome: &Outcome) -> Text {
        if outcome.notes.is_empty() {
            return ANONYMOUS;
        }
        let notes = self.segment.texts.number(outcome.notes);
        if outcome.kind != SEARCH {
            return notes;
        }
        if let (Some(page), Some(slot)) = (outcome.page, open) {
            self.page(slot, page, outcome.pages_end);
        }
        self.segment.noted.count(notes, 1)
    }

    /// Tells the first page of a paged search from the later ones, which are no searches of their own.
    fn page(&mut self, slot: u32, page: i64, ends: bool) {
        let connection = self.run.connections.at(slot);
        let before = connection.opened.is_none();
        let aside = connection.aside.get_or_insert_default();
        match aside.pages.get(&page) {
            Some(true) => connection.continued += 1,
            Some(false) => {}
            None if aside.pages.len() >= self.segment.caps.pages => {
                self.segment.cut_short.insert("pages");
                return;
            }
            None => {
                self.segment.weight += PAGE;
                if before {
                    aside.pages_left.insert(page);
                }
            }
        }
        aside.pages.insert(page, !ends);
    }
}

/// Tells who is bound after the result of a BIND (RFC 4511, 4.2.1: a failed one leaves nobody).
///
/// The result itself knows best, then a line before it, then the request.
fn bound(connection: &mut Connection, op: i64, err: i64, told: Option<Text>, asked: Option<Text>) {
    if err == IN_PROGRESS {
        return;
    }
    let named = connection.named.take();
    connection.binding = None;
    connection.account = if err != 0 {
        Account::Named(ANONYMOUS)
    } else {
        told.or(named).or(asked).map_or(Account::Of(op), Account::Named)
    };
}
