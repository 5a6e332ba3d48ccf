//! Lives of a server, and the connections of each as they open and close.

use std::mem;

use crate::clients;
use crate::connection::{Connection, Tail};
use crate::counting::end;
use crate::joining::introduce;
use crate::runs::{Run, is_late};
use crate::scan::Scan;
use crate::segment::beginning;
use crate::texts::Text;

/// Bytes, about, of a connection.
const CONNECTION: usize = 400;
/// Bytes, about, of a hole among the numbers of connections.
const HOLE: usize = 128;
/// Bytes, about, of a run of openings.
const RUN: usize = 2048;

impl Scan {
    /// Counts an accepted connection; `client` without its port.
    pub fn opened(&mut self, number: i64, time: i64, client: &[u8], server: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let client = self.address(client);
        self.segment.opened += 1;
        if !server.is_empty() {
            let server = self.segment.texts.number(beginning(server));
            self.segment.servers.count(server, 1);
        }
        let there = self.run.connections.find(number);
        let late = number <= self.run.last && self.run.holds(number, time);
        if let Some(slot) = there
            && is_late(self.run.connections.at(slot), time, late)
        {
            return self.opened_late(number, slot, time, client);
        }
        let ascends = number > self.run.last && (self.run.first.is_some() || self.run.connections.is_empty());
        if !ascends && (there.is_some() || !late) {
            self.next_run(false);
        }
        self.counts_opening(number, time);
        let mut connection = Connection::new(time, Some(time), Some(client));
        connection.line = self.segment.lines;
        let row = self.segment.client(client);
        connection.row = Some(row);
        self.segment.clients.at(row as usize).opened += 1;
        self.run.connections.put(number, connection);
        self.segment.weight += CONNECTION;
    }

    /// Reads the opening of a connection that has asked before it was written.
    fn opened_late(&mut self, number: i64, slot: u32, time: i64, client: Text) {
        self.counts_opening(number, time);
        let connection = self.run.connections.at(slot);
        introduce(&mut self.segment, connection, time, client);
        if let Some(row) = connection.row {
            self.segment.clients.at(row as usize).opened += 1;
        }
        self.end_if_complete(number, slot);
    }

    fn counts_opening(&mut self, number: i64, time: i64) {
        if self.run.opened(number, time) {
            self.segment.weight += HOLE;
        }
    }

    /// Takes the client that a PROXY header names for the one of the connection.
    pub fn client_is(&mut self, number: i64, time: i64, client: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let client = self.address(client);
        let Some(slot) = self.unless_closed(number, time) else { return };
        let connection = self.run.connections.at(slot);
        if let Some(row) = connection.row {
            self.segment.clients.at(row as usize).opened -= 1;
        }
        connection.client = Some(client);
        connection.cell = None;
        let row = self.segment.client(client);
        connection.row = Some(row);
        self.segment.clients.at(row as usize).opened += i64::from(connection.opened.is_some());
    }

    /// Counts a closed connection, and the server's word for why.
    pub fn closed(&mut self, number: i64, time: i64, code: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let code = self.segment.texts.number(beginning(code));
        let code = self.segment.closed.count(code, 1);
        self.run.delta -= 1;
        let Some(slot) = self.unless_closed(number, time) else { return };
        let connection = self.run.connections.at(slot);
        connection.closed = Some(time);
        connection.code = code;
        let (epoch, quiet) = (connection.held(), connection.pending.is_empty());
        connection.tail = Some(Tail { rested: connection.rested, epoch, quiet });
        self.end_if_complete(number, slot);
    }

    /// Begins a new server life: the log says that the server started here.
    pub fn banner(&mut self, time: i64, version: &[u8]) {
        if self.is_past(time) {
            return;
        }
        self.next_run(true);
        if !version.is_empty() {
            self.named(b"", version);
        }
    }

    /// Where a connection is; one not seen yet was opened before this piece, and one that is closed is not there.
    pub(crate) fn unless_closed(&mut self, number: i64, time: i64) -> Option<u32> {
        let slot = self.unless_gone(number, time)?;
        self.run.connections.at(slot).closed.is_none().then_some(slot)
    }

    /// Where a connection is; nowhere if it was opened in this run and is closed.
    pub(crate) fn unless_gone(&mut self, number: i64, time: i64) -> Option<u32> {
        if let Some(slot) = self.run.connections.find(number) {
            return Some(slot);
        }
        if self.run.numbers.contains(number) {
            return None;
        }
        self.run.last = self.run.last.max(number);
        self.segment.weight += CONNECTION;
        let mut connection = Connection::new(time, None, None);
        connection.line = self.segment.lines;
        Some(self.run.connections.put(number, connection))
    }

    /// Counts the end of a connection of which nothing more can come.
    pub(crate) fn end_if_complete(&mut self, number: i64, slot: u32) {
        if self.run.connections.at(slot).is_complete()
            && let Some(mut connection) = self.run.connections.remove(number)
        {
            end(&mut self.segment, number, &mut connection);
            self.segment.weight = self.segment.weight.saturating_sub(CONNECTION);
        }
    }

    /// Nobody's connection, for a request that was written after the close of the one of this number.
    pub(crate) fn after_close(&mut self, number: i64, time: i64) -> &mut Connection {
        if !self.run.gone.contains_key(&number) {
            let let_go = self.run.let_go();
            self.segment.weight = (self.segment.weight + CONNECTION).saturating_sub(let_go * CONNECTION);
        }
        self.run.after_close(number, time)
    }

    fn next_run(&mut self, certain: bool) {
        self.segment.runs.push(mem::replace(&mut self.run, Run::new(certain)));
        self.segment.weight += RUN;
    }

    fn address(&mut self, client: &[u8]) -> Text {
        let client = beginning(client);
        if memchr::memchr(b':', client).is_none() {
            return self.segment.texts.number(client);
        }
        self.segment.texts.number(&clients::address(client))
    }
}
