//! Scan: count the records of one chunk of a log. Dialects call it, one record at a time.
//!
//! Times and durations in nanoseconds; text as logged, in bytes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::clock_history::ClockHistory;
use crate::connection::{Account, Connection, FirstRequest, OperationResult};
use crate::counting::idle_times_of;
use crate::interner::{ANONYMOUS, Symbol};
use crate::operation_kinds::{ABANDON, BIND, OperationKind, SEARCH, UNBIND};
use crate::pending_requests::Pending;
use crate::period::Period;
use crate::runs::Run;
use crate::segment::Segment;
use crate::stamps::SECOND;
use crate::tables::{Caps, LONGEST, shortened};

/// Filter buffers kept for reuse.
const MOST_BUFFERS: usize = 256;
/// Approximate bytes of a pending request without its filter.
const PENDING_BYTES: usize = 120;
/// Approximate bytes of an unmatched result.
pub(crate) const UNMATCHED_BYTES: usize = 120;
/// Approximate bytes of an unusual result code.
const CODE_BYTES: usize = 32;

/// Approximate bytes of undecided state from which on the chunk should be taken, unless the caller sets another limit.
const HEAVY: usize = 24 << 20;

/// What the text of a log does not contain, and the opener of the file knows.
pub struct Hints {
    /// Nanoseconds since 1970: stamps without a year are the last such time before this.
    pub latest: i64,
    /// The zone of stamps without one.
    pub offset: Offset,
}

/// Returns the seconds east of UTC at (year, month, day, hour, minute) of the local wall clock.
pub type ZoneOffset = Box<dyn Fn(i32, u8, u8, u8, u8) -> i64 + Send + Sync>;

/// The offset of a zone from UTC, in seconds east.
pub enum Offset {
    /// The same at all times.
    Fixed(i64),
    /// By the zone's rules.
    At(ZoneOffset),
}

/// Where the connection of a request is.
enum Location {
    /// Its slot among the connections of the run.
    Open(u32),
    /// It is closed: the request belongs to a stand-in.
    AfterClose,
}

/// Counts one chunk of a log.
pub struct Scan {
    /// What the text does not contain.
    pub hints: Hints,
    /// Approximate bytes of undecided state from which on the chunk should be taken.
    pub heavy: usize,
    pub(crate) segment: Segment,
    pub(crate) run: Run,
    pub(crate) before: Option<Segment>,
    pub(crate) period: Period,
    /// The next time at which the period begins or is past.
    pub(crate) border: i64,
    pub(crate) over: bool,
    pub(crate) clock_before: ClockHistory,
    /// Rows by reduced filter, reduced base and scope.
    pub(crate) rows: HashMap<Box<[u8]>, u32, RandomState>,
    pub(crate) key: Vec<u8>,
    /// The base and the scope of the last search, and the reduced base.
    pub(crate) base: (Vec<u8>, i64, Vec<u8>),
    kept: Vec<u8>,
    buffers: Vec<Vec<u8>>,
}

impl Scan {
    /// A scan that has read nothing.
    pub fn new(hints: Hints, caps: Caps, period: Period) -> Self {
        Scan {
            hints,
            heavy: HEAVY,
            segment: Segment::new(caps),
            run: Run::new(false),
            before: None,
            period,
            border: period.next_border(),
            over: false,
            clock_before: ClockHistory::default(),
            rows: HashMap::default(),
            key: Vec::new(),
            base: (Vec::new(), -1, Vec::new()),
            kept: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// Returns whether a record past the period was read: the scan accepts no more.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns whether the undecided state is so large that the chunk should be taken.
    pub fn is_heavy(&self) -> bool {
        let results = self.segment.results.unusual() * CODE_BYTES;
        self.segment.weight + self.segment.texts.weight() + results > self.heavy
    }

    // -- requests

    /// Counts a request that is neither a BIND nor a search.
    pub fn request(&mut self, number: i64, op: i64, time: i64, kind: OperationKind) {
        if self.is_past(time) {
            return;
        }
        let location = self.connection_of_request(number, op, time);
        self.add_pending(number, location, Pending::new(op, time, kind));
        self.segment.operations[kind as usize] += 1;
    }

    /// Counts a BIND request.
    pub fn bind(&mut self, number: i64, op: i64, time: i64, dn: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let location = self.connection_of_request(number, op, time);
        let dn = self.intern_shortened(dn);
        self.connection(number, &location).bind_dn = Some(dn);
        self.add_pending(number, location, Pending { dn, ..Pending::new(op, time, BIND) });
        self.segment.operations[BIND as usize] += 1;
    }

    /// Counts a search request.
    pub fn search(&mut self, number: i64, op: i64, time: i64, base: &[u8], scope: i64, filter: &[u8]) {
        if self.is_past(time) {
            return;
        }
        self.segment.operations[SEARCH as usize] += 1;
        let row = self.row(filter, base, scope);
        self.segment.shapes.at(row as usize).searches += 1;
        let mut kept = self.buffers.pop().unwrap_or_default();
        shortened(filter, &mut kept);
        let location = self.connection_of_request(number, op, time);
        let pending = Pending { row: Some(row), filter: kept, ..Pending::new(op, time, SEARCH) };
        self.add_pending(number, location, pending);
    }

    /// Counts an UNBIND.
    ///
    /// It ends no idle time: a server that had closed the connection before would have done no harm.
    pub fn unbind(&mut self, number: i64, _op: i64, time: i64) {
        if self.is_past(time) {
            return;
        }
        self.segment.operations[UNBIND as usize] += 1;
        if let Some(slot) = self.unless_closed(number, time) {
            self.run.connections.at(slot).operations += 1;
        }
    }

    /// Counts an ABANDON; the operation that it ends (`target`) has no result.
    pub fn abandon(&mut self, number: i64, op: i64, time: i64, target: Option<i64>) {
        if self.is_past(time) {
            return;
        }
        let location = self.connection_of_request(number, op, time);
        self.segment.operations[ABANDON as usize] += 1;
        let there = self.run.connections.find(number).map_or(Location::AfterClose, Location::Open);
        if let Some(target) = target {
            self.drop_abandoned(number, &there, target, time);
        }
        let connection = self.connection(number, &location);
        if connection.pending.is_empty() {
            connection.idle_since = Some(time);
        }
        if let Location::Open(slot) = there {
            self.end_if_complete(number, slot);
        }
    }

    /// Drops the request that an ABANDON ends, which may be in an earlier chunk.
    fn drop_abandoned(&mut self, number: i64, location: &Location, target: i64, time: i64) {
        let connection = self.connection(number, location);
        if let Some(pending) = connection.pending.take(target) {
            self.recycle(pending);
        } else if connection.opened.is_none() {
            connection.rare().unmatched.push(OperationResult {
                op: target,
                time,
                kind: ABANDON,
                err: 0,
                etime: None,
                wait: None,
                entries: 0,
                notes: ANONYMOUS,
                account: None,
                bound_as: Account::Inherited,
                sorting: None,
            });
            self.segment.weight += UNMATCHED_BYTES;
        }
    }

    // -- parts of the above

    /// Returns the connection of a request, after counting the idle time that the request ends.
    fn connection_of_request(&mut self, number: i64, op: i64, time: i64) -> Location {
        let Some(slot) = self.unless_closed(number, time) else {
            count_request(self.after_close(number, time), op, time);
            return Location::AfterClose;
        };
        let connection = self.run.connections.at(slot);
        if op.checked_sub(1) == Some(connection.last_op)
            && let Some(since) = connection.idle_since
            && time - since >= SECOND
            && connection.last_op >= 0
            && connection.pending.is_empty()
        {
            let epoch = connection.epoch();
            idle_times_of(&mut self.segment, connection, epoch).add(time - since, time, number);
        }
        count_request(connection, op, time);
        Location::Open(slot)
    }

    fn connection(&mut self, number: i64, location: &Location) -> &mut Connection {
        match *location {
            Location::Open(slot) => self.run.connections.at(slot),
            Location::AfterClose => self.after_close(number, 0),
        }
    }

    fn add_pending(&mut self, number: i64, location: Location, mut pending: Pending) {
        pending.line = self.segment.lines;
        self.segment.weight += PENDING_BYTES + pending.filter.len();
        if let Some(before) = self.connection(number, &location).pending.insert(pending) {
            self.recycle(before);
        }
    }

    /// Keeps the filter buffer of a request that is no longer pending.
    pub(crate) fn recycle(&mut self, pending: Pending) {
        self.segment.weight = self.segment.weight.saturating_sub(PENDING_BYTES + pending.filter.len());
        if pending.filter.capacity() > 0 && self.buffers.len() < MOST_BUFFERS {
            self.buffers.push(pending.filter);
        }
    }

    pub(crate) fn intern_shortened(&mut self, text: &[u8]) -> Symbol {
        if text.len() <= LONGEST {
            return self.segment.texts.intern(text);
        }
        shortened(text, &mut self.kept);
        self.segment.texts.intern(&self.kept)
    }
}

/// Counts a request of a connection.
fn count_request(connection: &mut Connection, op: i64, time: i64) {
    connection.operations += 1;
    if connection.first_request.is_none() {
        let (epoch, idle_since) = (connection.epoch(), connection.idle_since);
        connection.first_request = Some(FirstRequest { op, time, epoch, idle_since });
    }
    connection.last_op = connection.last_op.max(op);
    connection.requests += 1;
}
