//! Scan: count the records of one chunk of a log. Dialects call it, one record at a time.
//!
//! Times and durations in nanoseconds; text as logged, in bytes.

use crate::cached_rows::CachedRows;
use crate::connection::{Connection, FirstRequest, IdleTime, OperationResult};
use crate::connection_numbers::ConnectionNumbers;
use crate::counting::count_clear_bind;
use crate::idle_counting::count_idle_time;
use crate::interner::{ANONYMOUS, Symbol};
use crate::operation_kinds::{ABANDON, BIND, OperationKind, SEARCH, UNBIND};
use crate::pending_requests::Pending;
use crate::period::{Period, Place};
use crate::runs::Run;
use crate::segment::{Part, Segment, sample_of};
use crate::stamps::SECOND;
use crate::tables::{Caps, LONGEST, shortened};
use crate::templates::Templates;

/// The mechanism of a simple BIND (RFC 4511, 4.2); others are SASL's, as GSSAPI.
pub const SIMPLE: &[u8] = b"simple";
/// The mechanism of SASL that sends the password as it is (RFC 4616).
pub const PLAIN: &[u8] = b"PLAIN";
/// One that the log does not name, or only later.
pub const SASL: &[u8] = b"SASL";

/// Buffers of filters and DNs kept for reuse.
const MOST_BUFFERS: usize = 256;
/// Approximate bytes of a pending request without its text.
const PENDING_BYTES: usize = 120;
/// Approximate bytes of an unmatched result.
pub(crate) const UNMATCHED_BYTES: usize = 120;

/// Approximate bytes of a Segment from which on it should be taken, unless the caller sets another limit.
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

/// What a request asks for.
struct Requested {
    kind: OperationKind,
    /// The row that counts it.
    row: u32,
    /// The DN of a BIND.
    dn: Symbol,
}

/// Counts one chunk of a log.
pub struct Scan {
    /// What the text does not contain.
    pub hints: Hints,
    /// Approximate bytes of a Segment from which on it should be taken.
    pub heavy: usize,
    pub(crate) segment: Segment,
    pub(crate) run: Run,
    /// The connections opened in the runs before, since the server last started.
    pub(crate) opened_before: ConnectionNumbers,
    pub(crate) period: Period,
    /// The finished parts of the chunk, and their approximate bytes.
    pub(crate) parts: Vec<Part>,
    pub(crate) parts_weight: usize,
    /// Where the current records are, and the first and the last time there.
    pub(crate) place: Place,
    pub(crate) span: (i64, i64),
    /// The server that the records of the part name.
    pub(crate) instance: Option<Box<[u8]>>,
    pub(crate) rows: CachedRows,
    pub(crate) key: Vec<u8>,
    pub(crate) templates: Templates,
    /// The base and the scope of the last search, the reduced base, and its class, where a row needed it.
    pub(crate) base: (Vec<u8>, i64, Vec<u8>, Option<Symbol>),
    pub(crate) kept: Vec<u8>,
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
            opened_before: ConnectionNumbers::default(),
            period,
            parts: Vec::new(),
            parts_weight: 0,
            place: period.start(),
            span: period.span(period.start()),
            instance: None,
            rows: CachedRows::default(),
            templates: Templates::default(),
            key: Vec::new(),
            base: (Vec::new(), -1, Vec::new(), None),
            kept: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// Returns whether the parts are so large that they should be taken.
    pub fn is_heavy(&self) -> bool {
        self.parts_weight + self.segment.weight() > self.heavy
    }

    // -- requests

    /// Counts a request that is neither a BIND nor a search; `target`: the DN of its entry, or its OID.
    pub fn request(&mut self, number: i64, op: i64, time: i64, kind: OperationKind, target: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let row = self.target_row(kind, target);
        self.count_request(number, op, time, Requested { kind, row, dn: ANONYMOUS }, target);
    }

    /// Counts a BIND request.
    pub fn bind(&mut self, number: i64, op: i64, time: i64, dn: &[u8], mechanism: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let key = (BIND, self.segment.texts.intern(sample_of(mechanism)));
        let (text, row) = (dn, self.segment.target(key));
        let dn = self.intern_shortened(text);
        let location = self.count_request(number, op, time, Requested { kind: BIND, row, dn }, text);
        let (segment, connection) = match location {
            Location::Open(slot) => (&mut self.segment, self.run.connections.at(slot)),
            Location::AfterClose => (&mut self.segment, self.run.after_close(number, time)),
        };
        if connection.closed.is_none() {
            connection.bind_dn = Some(dn);
        }
        if !connection.secured && (mechanism == PLAIN || (mechanism == SIMPLE && dn != ANONYMOUS)) {
            let epoch = connection.epoch();
            count_clear_bind(segment, connection, (epoch, dn), 1);
        }
    }

    /// Counts a search request.
    pub fn search(&mut self, number: i64, op: i64, time: i64, base: &[u8], scope: i64, filter: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let row = self.row(filter, base, scope);
        self.count_request(number, op, time, Requested { kind: SEARCH, row, dn: ANONYMOUS }, filter);
    }

    /// Counts a request that will have a result, and keeps it until then.
    #[inline(always)]
    fn count_request(&mut self, number: i64, op: i64, time: i64, requested: Requested, text: &[u8]) -> Location {
        let Requested { kind, row, dn } = requested;
        self.segment.operations[kind as usize] += 1;
        self.segment.operations_at(kind, row).requests += 1;
        let mut subject = self.buffers.pop().unwrap_or_default();
        shortened(text, &mut subject);
        let location = self.connection_of_request(number, op, time);
        let line = self.segment.lines;
        self.add_pending(
            number,
            &location,
            Pending { op, line, time, kind, row, dn, subject, sorting: None, before: Vec::new() },
        );
        location
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
        self.connection(number, &location).end_operation(time);
        if let Location::Open(slot) = there {
            self.end_if_complete(number, slot);
        }
    }

    /// Drops the request that an ABANDON ends, which may be in an earlier chunk.
    fn drop_abandoned(&mut self, number: i64, location: &Location, target: i64, time: i64) {
        let connection = self.connection(number, location);
        if let Some(pending) = connection.pending.take(target) {
            self.segment.operations_at(pending.kind, pending.row).abandoned += 1;
            self.recycle(pending);
        } else if connection.opened.is_none() {
            connection.rare().unmatched.push(OperationResult::mark(target, time, ABANDON));
            self.segment.added += UNMATCHED_BYTES;
        }
    }

    // -- parts of the above

    /// Returns the connection of a request, after counting the idle time that the request ends.
    #[inline]
    fn connection_of_request(&mut self, number: i64, op: i64, time: i64) -> Location {
        let Some(slot) = self.unless_closed(number, time) else {
            count_request_of(self.after_close(number, time), op, time);
            return Location::AfterClose;
        };
        let connection = self.run.connections.at(slot);
        let idle_since = if connection.last_op < 0 { connection.opened } else { connection.idle_since };
        if op.checked_sub(1) == Some(connection.previous_op)
            && let Some(since) = idle_since
            && time - since >= SECOND
            && connection.pending.is_empty()
        {
            let (epoch, account) = (connection.epoch(), connection.bound_as());
            count_idle_time(&mut self.segment, number, connection, IdleTime { epoch, account, since, ended: time });
        }
        count_request_of(connection, op, time);
        Location::Open(slot)
    }

    #[inline]
    fn connection(&mut self, number: i64, location: &Location) -> &mut Connection {
        match *location {
            Location::Open(slot) => self.run.connections.at(slot),
            Location::AfterClose => self.after_close(number, 0),
        }
    }

    #[inline]
    fn add_pending(&mut self, number: i64, location: &Location, pending: Pending) {
        self.segment.added += PENDING_BYTES + pending.subject.len();
        self.connection(number, location).pending.add(pending);
    }

    /// Keeps the buffer of a request that is no longer pending.
    #[inline]
    pub(crate) fn recycle(&mut self, pending: Pending) {
        self.segment.added = self.segment.added.saturating_sub(PENDING_BYTES + pending.subject.len());
        if pending.subject.capacity() > 0 && self.buffers.len() < MOST_BUFFERS {
            self.buffers.push(pending.subject);
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
#[inline]
fn count_request_of(connection: &mut Connection, op: i64, time: i64) {
    connection.operations += 1;
    if connection.first_request.is_none() {
        let (epoch, idle_since, account) = (connection.epoch(), connection.idle_since, connection.bound_as());
        connection.first_request = Some(FirstRequest { op, time, epoch, idle_since, account });
    }
    connection.last_op = connection.last_op.max(op);
    connection.previous_op = op;
    connection.requests += 1;
}
