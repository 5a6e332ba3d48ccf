//! Scan: what the records of one piece of a log say, added up as they come. Dialects call it, a record at a time.
//!
//! Times and durations in nanoseconds; text as logged, in bytes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::border::Period;
use crate::connection::{Account, Answer, Asked, Connection, Pending};
use crate::counting::rests_of;
use crate::kinds::{ABANDON, BIND, Kind, SEARCH, UNBIND};
use crate::runs::Run;
use crate::segment::Segment;
use crate::stamps::SECOND;
use crate::tables::{Caps, LONGEST, shortened};
use crate::tally::Clock;
use crate::texts::{ANONYMOUS, Text};

pub use crate::results::Outcome;

/// Buffers of filters that are kept for the next search.
const MOST_SPARE: usize = 256;
/// Bytes, about, of a request that waits, besides its filter.
const PENDING: usize = 120;
/// Bytes, about, of a result that waits.
pub(crate) const HELD: usize = 120;
/// Bytes, about, of an unusual result code.
const CODE: usize = 32;

/// Bytes, about, of what waits at the edges from which on a piece is better handed over, unless somebody says another
/// number.
const HEAVY: usize = 24 << 20;

/// What the text of a log does not say, and whoever opened the file knows.
pub struct Hints {
    /// Nanoseconds since 1970: stamps without a year are of the last such time before this.
    pub latest: i64,
    /// Of stamps without a zone.
    pub offset: Offset,
}

/// Seconds east at (year, month, day, hour, minute) of the wall clock there.
pub type Zone = Box<dyn Fn(i32, u8, u8, u8, u8) -> i64 + Send + Sync>;

/// How far a zone lies east of UTC.
pub enum Offset {
    /// Always so many seconds.
    Fixed(i64),
    /// As its rules say.
    At(Zone),
}

/// Where the connection of a request is.
enum Place {
    Open(u32),
    Gone,
}

/// Adds up one piece of a log.
pub struct Scan {
    /// What the text does not say.
    pub hints: Hints,
    /// Bytes, about, of what waits at the edges from which on a piece is better handed over.
    pub heavy: usize,
    pub(crate) segment: Segment,
    pub(crate) run: Run,
    pub(crate) before: Option<Segment>,
    pub(crate) period: Period,
    /// The first time at which something else begins: what is asked for, or what comes after it.
    pub(crate) border: i64,
    pub(crate) over: bool,
    pub(crate) clock_before: Clock,
    /// Rows by filter without values, base and scope.
    pub(crate) rows: HashMap<Box<[u8]>, u32, RandomState>,
    pub(crate) key: Vec<u8>,
    /// The base and the scope of the last search, and what is left of the base.
    pub(crate) base: (Vec<u8>, i64, Vec<u8>),
    kept: Vec<u8>,
    spare: Vec<Vec<u8>>,
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
            clock_before: Clock::default(),
            rows: HashMap::default(),
            key: Vec::new(),
            base: (Vec::new(), -1, Vec::new()),
            kept: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Tells whether a record past the period came: nothing more is read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Tells whether so much waits at the edges that it is better handed over.
    pub fn is_heavy(&self) -> bool {
        let results = self.segment.results.unusual() * CODE;
        self.segment.weight + self.segment.texts.weight() + results > self.heavy
    }

    // -- requests

    /// Counts a request that is neither a BIND nor a search.
    pub fn request(&mut self, number: i64, op: i64, time: i64, kind: Kind) {
        if self.is_past(time) {
            return;
        }
        let place = self.asks(number, op, time);
        self.waits(number, place, Pending::new(op, time, kind));
        self.segment.operations[kind as usize] += 1;
    }

    /// Counts a BIND request.
    pub fn bind(&mut self, number: i64, op: i64, time: i64, dn: &[u8]) {
        if self.is_past(time) {
            return;
        }
        let place = self.asks(number, op, time);
        let dn = self.short(dn);
        self.connection(number, &place).binding = Some(dn);
        self.waits(number, place, Pending { dn, ..Pending::new(op, time, BIND) });
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
        let mut kept = self.spare.pop().unwrap_or_default();
        shortened(filter, &mut kept);
        let place = self.asks(number, op, time);
        self.waits(number, place, Pending { row: Some(row), filter: kept, ..Pending::new(op, time, SEARCH) });
    }

    /// Counts an UNBIND; it ends no rest, for the connection would not have been missed.
    pub fn unbound(&mut self, number: i64, _op: i64, time: i64) {
        if self.is_past(time) {
            return;
        }
        self.segment.operations[UNBIND as usize] += 1;
        if let Some(slot) = self.unless_closed(number, time) {
            self.run.connections.at(slot).operations += 1;
        }
    }

    /// Counts an ABANDON; the operation it found has no result.
    pub fn abandoned(&mut self, number: i64, op: i64, time: i64, target: Option<i64>) {
        if self.is_past(time) {
            return;
        }
        let asked = self.asks(number, op, time);
        self.segment.operations[ABANDON as usize] += 1;
        let there = self.run.connections.find(number).map_or(Place::Gone, Place::Open);
        if let Some(target) = target {
            self.drops(number, &there, target, time);
        }
        let connection = self.connection(number, &asked);
        if connection.pending.is_empty() {
            connection.rested = Some(time);
        }
        if let Place::Open(slot) = there {
            self.end_if_complete(number, slot);
        }
    }

    /// Lets go of the request that an ABANDON found, which may be in an earlier piece.
    fn drops(&mut self, number: i64, there: &Place, target: i64, time: i64) {
        let connection = self.connection(number, there);
        if let Some(pending) = connection.pending.take(target) {
            self.spare(pending);
        } else if connection.opened.is_none() {
            let (notes, account, who) = (ANONYMOUS, None, Account::Untold);
            let (etime, wait, entries) = (None, None, 0);
            let held = Answer { op: target, time, kind: ABANDON, err: 0, etime, wait, entries, notes, account, who };
            connection.aside().held.push(held);
            self.segment.weight += HELD;
        }
    }

    // -- how

    /// Returns the connection of a request, with the rest counted that the request ends.
    fn asks(&mut self, number: i64, op: i64, time: i64) -> Place {
        let Some(slot) = self.unless_closed(number, time) else {
            asked(self.after_close(number, time), op, time);
            return Place::Gone;
        };
        let connection = self.run.connections.at(slot);
        if op.checked_sub(1) == Some(connection.last_op)
            && let Some(rested) = connection.rested
            && time - rested >= SECOND
            && connection.last_op >= 0
            && connection.pending.is_empty()
        {
            let epoch = connection.held();
            rests_of(&mut self.segment, connection, epoch).add(time - rested, time, number);
        }
        asked(connection, op, time);
        Place::Open(slot)
    }

    fn connection(&mut self, number: i64, place: &Place) -> &mut Connection {
        match *place {
            Place::Open(slot) => self.run.connections.at(slot),
            Place::Gone => self.after_close(number, 0),
        }
    }

    fn waits(&mut self, number: i64, place: Place, mut pending: Pending) {
        pending.line = self.segment.lines;
        self.segment.weight += PENDING + pending.filter.len();
        if let Some(before) = self.connection(number, &place).pending.insert(pending) {
            self.spare(before);
        }
    }

    /// Keeps the buffer of a request that waits no longer.
    pub(crate) fn spare(&mut self, pending: Pending) {
        self.segment.weight = self.segment.weight.saturating_sub(PENDING + pending.filter.len());
        if pending.filter.capacity() > 0 && self.spare.len() < MOST_SPARE {
            self.spare.push(pending.filter);
        }
    }

    pub(crate) fn short(&mut self, text: &[u8]) -> Text {
        if text.len() <= LONGEST {
            return self.segment.texts.number(text);
        }
        shortened(text, &mut self.kept);
        self.segment.texts.number(&self.kept)
    }
}

/// Notes a request of a connection.
fn asked(connection: &mut Connection, op: i64, time: i64) {
    connection.operations += 1;
    if connection.asked.is_none() {
        let (epoch, rested) = (connection.held(), connection.rested);
        connection.asked = Some(Asked { op, time, epoch, rested });
    }
    connection.last_op = connection.last_op.max(op);
    connection.requests += 1;
}
