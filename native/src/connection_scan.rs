//! The opening and closing of connections, and the restarts of the server.

use std::mem;

use crate::clients;
use crate::connection::{Connection, Ending, IdleAtClose};
use crate::connection_numbers::ConnectionNumbers;
use crate::counting::end_connection;
use crate::interner::Symbol;
use crate::joining::{apply_late_opening, change_client};
use crate::runs::{Run, is_late};
use crate::scan::Scan;
use crate::segment::sample_of;
use crate::stamps::SECOND;

/// Approximate bytes of a connection.
const CONNECTION_BYTES: usize = 400;
/// Approximate bytes of a hole in the connection numbers.
const HOLE_BYTES: usize = 128;
/// Approximate bytes of a run of openings.
const RUN_BYTES: usize = 2048;

impl Scan {
    /// Counts an accepted connection; `client` without its port; `secured`: by TLS from the beginning.
    pub fn opened(&mut self, number: i64, time: i64, client: &[u8], server: &[u8], secured: bool) {
        if self.is_past(time) {
            return;
        }
        self.segment.timeline.at(time.div_euclid(SECOND)).opened += 1;
        let client = self.address(client);
        self.segment.opened += 1;
        if !server.is_empty() {
            let server = self.segment.texts.intern(sample_of(server));
            self.segment.servers.count(server, 1);
        }
        let there = self.run.connections.find(number);
        let late = number <= self.run.last && self.run.admits_late_opening(number, time);
        if let Some(slot) = there
            && is_late(self.run.connections.at(slot), time, late)
        {
            return self.opened_late(number, slot, time, client, secured);
        }
        let ascends = number > self.run.last && (self.run.first.is_some() || self.run.connections.is_empty());
        let is_continued = there.is_some_and(|slot| is_late(self.run.connections.at(slot), time, true));
        if (!ascends && (there.is_some() || !late)) || self.opened_before.contains(number) {
            self.next_run(false);
        }
        self.count_opening(number, time);
        let mut connection = Connection::new(time, Some(time), Some(client));
        connection.line = self.segment.lines;
        connection.secured = secured;
        connection.is_continued = is_continued;
        self.segment.client_row(client).opened += 1;
        self.run.connections.put(number, connection);
        self.segment.added += CONNECTION_BYTES;
    }

    /// Counts the opening of a connection that is written after other records of it.
    fn opened_late(&mut self, number: i64, slot: u32, time: i64, client: Symbol, secured: bool) {
        self.count_opening(number, time);
        let connection = self.run.connections.at(slot);
        apply_late_opening(&mut self.segment, connection, time, client);
        connection.secured |= secured;
        self.segment.client_row(client).opened += 1;
        self.end_if_complete(number, slot);
    }

    fn count_opening(&mut self, number: i64, time: i64) {
        if self.run.opened(number, time) {
            self.segment.added += HOLE_BYTES;
        }
    }

    /// Replaces the client of a connection by the one that a PROXY header names.
    pub fn proxied_client(&mut self, number: i64, time: i64, client: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let client = self.address(client);
        let Some(slot) = self.unless_closed(number, time) else { return };
        let connection = self.run.connections.at(slot);
        change_client(&mut self.segment, connection, client);
    }

    /// Keeps the client, unless it is empty, and the account that a line of a connection names.
    ///
    /// They count if the log has no opening, no PROXY header and no BIND that shows them (rotated away).
    pub fn identified(&mut self, number: i64, time: i64, client: &[u8], account: Option<&[u8]>) {
        if self.is_past(time) {
            return;
        }
        let Some(slot) = self.unless_closed(number, time) else { return };
        if self.run.connections.at(slot).opened.is_none() {
            let client = (!client.is_empty()).then(|| self.address(client));
            let account = account.map(|account| self.intern_shortened(account));
            self.run.connections.at(slot).name(client, account);
        }
    }

    /// Counts a closed connection by its close code, as the server writes it.
    pub fn closed(&mut self, number: i64, time: i64, code: &[u8]) {
        if self.is_past(time) {
            return;
        }
        self.segment.timeline.at(time.div_euclid(SECOND)).closed += 1;
        let code = self.segment.texts.intern(sample_of(code));
        let code = self.segment.closed.count(code, 1);
        self.run.delta -= 1;
        let Some(slot) = self.unless_closed(number, time) else { return };
        let connection = self.run.connections.at(slot);
        connection.closed = Some(time);
        connection.code = code;
        let (epoch, quiet) = (connection.epoch(), connection.pending.is_empty());
        connection.idle_at_close = Some(IdleAtClose { idle_since: connection.idle_since, epoch, quiet });
        self.end_if_complete(number, slot);
    }

    /// Counts a connection that is secured by TLS from now on.
    pub fn tls(&mut self, number: i64, time: i64, protocol: &[u8], cipher: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let texts = &mut self.segment.texts;
        let key = (texts.intern(sample_of(protocol)), texts.intern(sample_of(cipher)));
        self.segment.ciphers.count(key, 1);
        if let Some(slot) = self.unless_ended(number, time) {
            self.run.connections.at(slot).secured = true;
        }
    }

    /// Counts a connection that the server accepted and closed at once; `reason` as logged.
    pub fn refused(&mut self, time: i64, client: &[u8], reason: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let key = (self.address(client), self.segment.texts.intern(sample_of(reason)));
        self.segment.refused.count(key, 1);
    }

    /// Begins a run after a start of the server that the log reports.
    pub fn server_started(&mut self, time: i64, version: &[u8]) {
        if self.is_past(time) {
            return;
        }
        self.next_run(true);
        self.run.began = Some(time);
        if !version.is_empty() {
            self.header(b"", version);
        }
    }

    /// Begins a run when the startupID changes: it identifies the server process that wrote the record.
    pub fn startup(&mut self, identity: &[u8]) {
        if *self.run.identity == *identity {
            return;
        }
        if !self.run.identity.is_empty() {
            self.next_run(true);
        }
        self.run.identity = identity.into();
        self.segment.added += identity.len();
    }

    /// The slot of a connection that is not closed; one that is new here was opened before this chunk.
    #[inline]
    pub(crate) fn unless_closed(&mut self, number: i64, time: i64) -> Option<u32> {
        let slot = self.unless_ended(number, time)?;
        self.run.connections.at(slot).closed.is_none().then_some(slot)
    }

    /// The slot of a connection; `None` for one that was opened in this run and has ended.
    #[inline]
    pub(crate) fn unless_ended(&mut self, number: i64, time: i64) -> Option<u32> {
        match self.run.connections.find(number) {
            Some(slot) => Some(slot),
            None => self.opened_before(number, time),
        }
    }

    /// The slot of a connection without records yet, which was opened before this chunk; `None` for one that has ended.
    #[cold]
    fn opened_before(&mut self, number: i64, time: i64) -> Option<u32> {
        if self.run.numbers.contains(number) {
            return None;
        }
        self.run.last = self.run.last.max(number);
        self.segment.added += CONNECTION_BYTES;
        let mut connection = Connection::new(time, None, None);
        connection.line = self.segment.lines;
        Some(self.run.connections.put(number, connection))
    }

    /// Counts the end of a connection of which no record can follow.
    pub(crate) fn end_if_complete(&mut self, number: i64, slot: u32) {
        if self.run.connections.at(slot).is_complete()
            && let Some(mut connection) = self.run.connections.remove(number)
        {
            end_connection(&mut self.segment, number, &mut connection, Ending::Close);
            self.segment.added = self.segment.added.saturating_sub(CONNECTION_BYTES);
        }
    }

    /// The stand-in that takes requests written after the close of the connection of this number.
    pub(crate) fn after_close(&mut self, number: i64, time: i64) -> &mut Connection {
        if !self.run.late_requests.contains_key(&number) {
            let dropped = self.run.drop_late_requests();
            self.segment.added = (self.segment.added + CONNECTION_BYTES).saturating_sub(dropped * CONNECTION_BYTES);
        }
        self.run.after_close(number, time)
    }

    fn next_run(&mut self, explicit_start: bool) {
        let mut run = Run::new(explicit_start);
        if explicit_start {
            self.opened_before = ConnectionNumbers::default();
        } else {
            run.identity.clone_from(&self.run.identity);
            self.opened_before.update(&self.run.numbers);
        }
        self.segment.runs.push(mem::replace(&mut self.run, run));
        self.segment.added += RUN_BYTES;
    }

    fn address(&mut self, client: &[u8]) -> Symbol {
        let client = sample_of(client);
        if memchr::memchr(b':', client).is_none() {
            return self.segment.texts.intern(client);
        }
        self.segment.texts.intern(&clients::address(client))
    }
}
