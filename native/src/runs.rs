//! Runs of connection openings, and the possible restarts of the server between them.
//!
//! A server numbers its connections upwards, so a log is a sequence of runs of ascending openings. An opening that does
//! not ascend is either the first after a restart or a line written out of order. Python decides which, when everything
//! before it is known.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rustc_hash::FxHashMap;

use crate::connection::{Account, Connection};
use crate::connection_numbers::ConnectionNumbers;
use crate::interner::UNKNOWN;
use crate::stamps::SECOND;

/// How far below the highest number an opening may be that was accepted earlier and written later, within a second of
/// another opening.
const BURST_DISORDER: i64 = 1024;

/// Closed connections whose late requests are followed.
const MOST_LATE_REQUESTS: usize = 1_000;

/// Nanoseconds by which an opening may be written after the connection's first request, as slapd does.
pub const LATE: i64 = SECOND;

/// By number: connections that are open, await a result, or were opened earlier.
pub struct Connections {
    /// Hashed with a random seed per process: the numbers come from the log, which may be forged.
    by_number: HashMap<i64, u32, RandomState>,
    slots: Vec<Connection>,
    free: Vec<u32>,
    /// The last connection found: a result follows its request.
    last: Option<(i64, u32)>,
}

impl Connections {
    fn new() -> Self {
        Connections { by_number: HashMap::default(), slots: Vec::new(), free: Vec::new(), last: None }
    }

    /// The slot of a connection.
    #[inline]
    pub fn find(&mut self, number: i64) -> Option<u32> {
        match self.last {
            Some((last, slot)) if last == number => Some(slot),
            _ => self.look_up(number),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, number: i64) -> Option<u32> {
        let slot = *self.by_number.get(&number)?;
        self.last = Some((number, slot));
        Some(slot)
    }

    /// Inserts a connection, or replaces the one with the same number.
    pub fn put(&mut self, number: i64, connection: Connection) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = connection;
                slot
            }
            None => {
                self.slots.push(connection);
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(before) = self.by_number.insert(number, slot) {
            self.free.push(before);
        }
        self.last = Some((number, slot));
        slot
    }

    /// Removes a connection.
    pub fn remove(&mut self, number: i64) -> Option<Connection> {
        let slot = self.by_number.remove(&number)?;
        self.last = None;
        self.free.push(slot);
        Some(std::mem::replace(&mut self.slots[slot as usize], Connection::new(0, None, None)))
    }

    /// The connection in a slot.
    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut Connection {
        &mut self.slots[slot as usize]
    }

    /// All connections with their numbers, in the order of their first records.
    pub fn in_order(&self) -> Vec<(i64, &Connection)> {
        let each = |(&number, &slot): (&i64, &u32)| (number, &self.slots[slot as usize]);
        let mut all: Vec<_> = self.by_number.iter().map(each).collect();
        all.sort_by_key(|(_, connection)| connection.line);
        all
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}

/// A part of a log in which openings ascend: its connections, and how many were open at once.
pub struct Run {
    /// The log reports a start of the server here.
    pub explicit_start: bool,
    /// When the server started, as far as the log reports it.
    pub began: Option<i64>,
    /// Number and time of the first opening.
    pub first: Option<(i64, i64)>,
    /// The highest number in any record.
    pub last: i64,
    /// The time of the latest opening.
    pub latest: Option<i64>,
    /// The numbers of the connections opened.
    pub numbers: ConnectionNumbers,
    /// Connections that are open, await a result, or were opened earlier.
    pub connections: Connections,
    /// By number: stand-ins for closed connections of which requests were written later.
    pub late_requests: FxHashMap<i64, Connection>,
    /// Openings less closes.
    pub delta: i64,
    /// The maximum of delta.
    pub top: i64,
}

impl Run {
    /// A run without connections.
    pub fn new(explicit_start: bool) -> Self {
        Run {
            explicit_start,
            began: None,
            first: None,
            last: -1,
            latest: None,
            numbers: ConnectionNumbers::default(),
            connections: Connections::new(),
            late_requests: FxHashMap::default(),
            delta: 0,
            top: 0,
        }
    }

    /// Counts an opening; returns whether it adds an interval to the numbers.
    pub fn opened(&mut self, number: i64, time: i64) -> bool {
        self.first.get_or_insert((number, time));
        self.last = self.last.max(number);
        self.latest = self.latest.max(Some(time));
        self.delta += 1;
        self.top = self.top.max(self.delta);
        self.numbers.add(number)
    }

    /// Drops the stand-ins for closed connections where one more would be too many; returns their number.
    pub fn drop_late_requests(&mut self) -> usize {
        let count = self.late_requests.len();
        if count < MOST_LATE_REQUESTS {
            return 0;
        }
        self.late_requests.clear();
        count
    }

    /// The stand-in that takes requests written after the close of the connection of this number.
    pub fn after_close(&mut self, number: i64, time: i64) -> &mut Connection {
        self.late_requests.entry(number).or_insert_with(|| {
            let mut unknown = Connection::new(time, Some(time), Some(UNKNOWN));
            unknown.closed = Some(time);
            unknown.account = Account::Dn(UNKNOWN);
            unknown
        })
    }

    /// Returns whether an opening at this time may belong to this run, with only its line written late.
    pub fn admits_late_opening(&self, number: i64, time: i64) -> bool {
        let (Some((first, _)), Some(latest)) = (self.first, self.latest) else {
            return false;
        };
        time - latest <= LATE && first.max(self.last - BURST_DISORDER) < number && !self.numbers.contains(number)
    }
}

/// Returns whether an opening at this time is the late line of a connection that is there already.
///
/// slapd may write the close of a short connection before its opening. Such a connection has no request, or none in
/// this chunk, unless all its records are here (`from_its_beginning`).
pub fn is_late(there: &Connection, time: i64, from_its_beginning: bool) -> bool {
    let begun = match there.first_request {
        Some(request) => request.op == 0,
        None => from_its_beginning && there.idle_since.is_none(),
    };
    there.opened.is_none() && begun && time - there.first <= LATE
}
