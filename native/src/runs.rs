//! Runs of connection openings, and the possible restarts of the server between them.
//!
//! A server numbers its connections upwards, so a log is a sequence of runs of ascending openings. An opening that does
//! not ascend is either the first after a restart or a line written out of order. The decision needs everything before
//! it: two runs belong to one server process unless `restarts` returns true.

use std::collections::HashMap;
use std::mem;

use foldhash::fast::RandomState;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::connection::{Account, Connection};
use crate::connection_numbers::ConnectionNumbers;
use crate::interner::UNKNOWN;
use crate::stamps::SECOND;

/// How far below the highest number an opening may be that was accepted earlier and written later.
const DISORDER: i64 = 8;

/// The same within a second of another opening: each thread of slapd may delay its line; 32 threads were 37 late.
const BURST_DISORDER: i64 = 1024;

/// Closed connections whose late requests are followed.
const MOST_LATE_REQUESTS: usize = 1_000;

/// Nanoseconds by which an opening may be written after the connection's first request, as slapd does.
pub const LATE: i64 = SECOND;

/// The number of a slot without a connection; no log has it.
const FREE: i64 = i64::MIN;

/// By number: connections that are open, await a result, or were opened earlier.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Hashed with a random seed per process: the numbers come from the log, which may be forged.
    by_number: HashMap<i64, u32, RandomState>,
    slots: Vec<Connection>,
    /// The number of the connection in each slot; FREE: none.
    numbers: Vec<i64>,
    free: Vec<u32>,
    /// The last connection found: a result follows its request.
    last: Option<(i64, u32)>,
}

impl Connections {
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
                self.numbers[slot as usize] = number;
                slot
            }
            None => {
                self.slots.push(connection);
                self.numbers.push(number);
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(before) = self.by_number.insert(number, slot) {
            self.take(before);
        }
        self.last = Some((number, slot));
        slot
    }

    /// Removes a connection.
    pub fn remove(&mut self, number: i64) -> Option<Connection> {
        let slot = self.by_number.remove(&number)?;
        self.last = None;
        Some(self.take(slot))
    }

    /// Drops the connections in these slots; the others get other slots.
    pub fn remove_all(&mut self, slots: impl Iterator<Item = u32>) {
        for slot in slots {
            self.numbers[slot as usize] = FREE;
        }
        let mut numbers = self.numbers.iter();
        self.slots.retain(|_| numbers.next() != Some(&FREE));
        self.numbers.retain(|&number| number != FREE);
        self.free.clear();
        self.by_number.clear();
        self.by_number.extend(self.numbers.iter().copied().zip(0..));
        self.last = None;
    }

    fn take(&mut self, slot: u32) -> Connection {
        self.free.push(slot);
        self.numbers[slot as usize] = FREE;
        mem::replace(&mut self.slots[slot as usize], Connection::new(0, None, None))
    }

    /// All connections with their numbers, in the order of their first records.
    pub fn into_order(mut self) -> impl Iterator<Item = (i64, Connection)> {
        let order = self.in_order();
        order.into_iter().map(move |(number, slot)| (number, self.take(slot)))
    }

    /// The connection in a slot.
    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut Connection {
        &mut self.slots[slot as usize]
    }

    /// The numbers and slots of all connections, in the order of their first records.
    pub fn in_order(&self) -> Vec<(i64, u32)> {
        let mut all: Vec<_> = self.iter().map(|(number, slot, connection)| (connection.line, number, slot)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, number, slot)| (number, slot)).collect()
    }

    /// The numbers of those connections that `is_so` holds of, ascending.
    pub fn which(&self, is_so: impl Fn(&Connection) -> bool) -> Vec<i64> {
        let all = self.iter().filter(|&(.., connection)| is_so(connection));
        let mut numbers: Vec<_> = all.map(|(number, ..)| number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The numbers, slots and connections, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u32, &Connection)> {
        let all = self.numbers.iter().zip(0..).zip(&self.slots);
        all.filter(|&((&number, _), _)| number != FREE).map(|((&number, slot), connection)| (number, slot, connection))
    }

    /// All connections, in no order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut() // a free slot holds a connection without any record
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}

/// A part of a log in which openings ascend: its connections, and how many were open at once.
#[derive(Clone, Serialize, Deserialize)]
pub struct Run {
    /// The log reports a start of the server here.
    pub explicit_start: bool,
    /// When the server started, as far as the log reports it.
    pub began: Option<i64>,
    /// The identity of the server process (startupID); empty where the log has none.
    pub identity: Box<[u8]>,
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
    /// Connections that were open before the log began.
    pub initial: i64,
    /// Of a server process: what its connections wait for.
    pub waiting: Waiting,
}

/// What connections wait for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// Those that are closed.
    pub closed: usize,
    /// Results without a request.
    pub early: usize,
    /// Requests without a result.
    pub pending: usize,
}

impl Waiting {
    fn of(connection: &Connection) -> Self {
        Waiting {
            closed: usize::from(connection.opened.is_some() && connection.closed.is_some()),
            early: connection.rare.as_ref().map_or(0, |rare| rare.early.len()),
            pending: connection.pending.len(),
        }
    }

    /// Adds what one more connection waits for.
    pub fn add(&mut self, connection: &Connection) {
        let Waiting { closed, early, pending } = Waiting::of(connection);
        (self.closed, self.early, self.pending) = (self.closed + closed, self.early + early, self.pending + pending);
    }

    /// Subtracts what a connection waited for.
    pub fn subtract(&mut self, connection: &Connection) {
        let Waiting { closed, early, pending } = Waiting::of(connection);
        (self.closed, self.early, self.pending) = (self.closed - closed, self.early - early, self.pending - pending);
    }
}

impl Run {
    /// A run without connections.
    pub fn new(explicit_start: bool) -> Self {
        Run {
            explicit_start,
            began: None,
            identity: Box::default(),
            first: None,
            last: -1,
            latest: None,
            numbers: ConnectionNumbers::default(),
            connections: Connections::default(),
            late_requests: FxHashMap::default(),
            delta: 0,
            top: 0,
            initial: 0,
            waiting: Waiting::default(),
        }
    }

    /// Calls `each` with each connection, and each stand-in for a closed one.
    pub fn each_connection(&mut self, mut each: impl FnMut(&mut Connection)) {
        self.connections.iter_mut().chain(self.late_requests.values_mut()).for_each(&mut each);
    }

    /// What all its connections wait for.
    pub fn count_waiting(&self) -> Waiting {
        let mut waiting = Waiting::default();
        self.connections.iter().for_each(|(.., connection)| waiting.add(connection));
        waiting
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

    /// Keeps the pending requests that were written after the close of the connection of this number.
    pub fn keep_late(&mut self, number: i64, late: &mut Connection) {
        if !late.pending.is_empty() {
            if !self.late_requests.contains_key(&number) {
                self.drop_late_requests();
            }
            self.after_close(number, late.first).pending.add_all(&mut late.pending);
        }
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

    /// Returns whether a connection was opened in this run and has ended.
    pub fn is_closed(&mut self, number: i64) -> bool {
        self.numbers.contains(number) && self.connections.find(number).is_none()
    }

    /// Returns whether the log reports that another server process wrote the following run.
    fn ends_before(&self, following: &Run) -> bool {
        let (one, other) = (&self.identity, &following.identity);
        following.explicit_start || (!one.is_empty() && !other.is_empty() && one != other)
    }

    /// Returns whether the server restarted between this run, the whole of its process so far, and the next.
    pub fn restarts(&mut self, following: &Run) -> bool {
        if self.ends_before(following) {
            return true;
        }
        let Some((number, time)) = following.first.filter(|&(number, _)| number <= self.last) else { return false };
        if let Some(slot) = self.connections.find(number) {
            return !is_late(self.connections.at(slot), time, true);
        }
        let is_burst = self.latest.is_some_and(|latest| time - latest <= LATE);
        let disorder = if is_burst { BURST_DISORDER } else { DISORDER };
        self.numbers.contains(number) || number <= self.last - disorder
    }

    /// When the server restarted between this run and the next, wherever the log is cut.
    ///
    /// It is the time that the log reports, else that of the next opening, else that of the last one before.
    pub fn restarted_at(&self, following: &Run) -> Option<i64> {
        if self.ends_before(following) {
            return following.began.or(self.latest);
        }
        following.first.map(|(_, time)| time).or(self.latest)
    }

    /// Adds the counts of the run that follows.
    pub fn count_on(&mut self, following: &Run) {
        if self.identity.is_empty() {
            self.identity.clone_from(&following.identity);
        }
        self.first = self.first.or(following.first);
        self.last = self.last.max(following.last);
        self.latest = self.latest.max(following.latest);
        self.numbers.update(&following.numbers);
        self.top = self.top.max(self.delta + following.top);
        self.delta += following.delta;
        self.initial += following.initial;
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
