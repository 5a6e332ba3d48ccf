//! Runs of openings, and where a server life may end.
//!
//! A server numbers its connections upwards, so a log is a sequence of runs of ascending openings; where an opening
//! does not ascend, the server has restarted, or two lines were written in the wrong order. Which of the two is
//! decided in Python, when everything before is known.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rustc_hash::FxHashMap;

use crate::connection::{Account, Connection};
use crate::numbers::Numbers;
use crate::stamps::SECOND;
use crate::texts::UNKNOWN;

/// So far below the newest connection one may be, while connections come in, that was accepted before it and written
/// after it.
const BURST_DISORDER: i64 = 1024;

/// Closed connections of which requests are followed that were written later.
const MOST_GONE: usize = 1_000;

/// Nanoseconds by which the line of an opening may come after the connection's first request: slapd does that.
pub const LATE: i64 = SECOND;

/// The connections that are open, or wait for a result, or were opened earlier.
pub struct Connections {
    /// Hashed by a secret of this process: whoever forges lines chooses these numbers.
    by_number: HashMap<i64, u32, RandomState>,
    slots: Vec<Connection>,
    free: Vec<u32>,
    /// The one asked for last: a result follows its request.
    last: Option<(i64, u32)>,
}

impl Connections {
    fn new() -> Self {
        Connections { by_number: HashMap::default(), slots: Vec::new(), free: Vec::new(), last: None }
    }

    /// Where a connection is.
    pub fn find(&mut self, number: i64) -> Option<u32> {
        if let Some((last, slot)) = self.last
            && last == number
        {
            return Some(slot);
        }
        let slot = *self.by_number.get(&number)?;
        self.last = Some((number, slot));
        Some(slot)
    }

    /// Puts a connection in, in the place of one of the same number.
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

    /// Takes a connection out.
    pub fn remove(&mut self, number: i64) -> Option<Connection> {
        let slot = self.by_number.remove(&number)?;
        self.last = None;
        self.free.push(slot);
        Some(std::mem::replace(&mut self.slots[slot as usize], Connection::new(0, None, None)))
    }

    /// A connection by its place.
    pub fn at(&mut self, slot: u32) -> &mut Connection {
        &mut self.slots[slot as usize]
    }

    /// All of them and their numbers, in the order in which they were told of.
    pub fn in_order(&self) -> Vec<(i64, &Connection)> {
        let each = |(&number, &slot): (&i64, &u32)| (number, &self.slots[slot as usize]);
        let mut all: Vec<_> = self.by_number.iter().map(each).collect();
        all.sort_by_key(|(_, connection)| connection.line);
        all
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}

/// A stretch of a log in which openings ascend: its connections, and how many were open at once.
pub struct Run {
    /// The log says that the server started here.
    pub certain: bool,
    /// Number and time of the first opening.
    pub first: Option<(i64, i64)>,
    /// The highest number opened or mentioned.
    pub last: i64,
    /// When a connection was opened last.
    pub latest: Option<i64>,
    /// Those that were opened.
    pub numbers: Numbers,
    /// Those that are open, or wait for a result, or were opened earlier.
    pub connections: Connections,
    /// Requests that were written after the close of their connection, by its number: they are nobody's.
    pub gone: FxHashMap<i64, Connection>,
    /// Openings less closes.
    pub delta: i64,
    /// The most that delta has been.
    pub top: i64,
}

impl Run {
    /// A run without connections.
    pub fn new(certain: bool) -> Self {
        Run {
            certain,
            first: None,
            last: -1,
            latest: None,
            numbers: Numbers::default(),
            connections: Connections::new(),
            gone: FxHashMap::default(),
            delta: 0,
            top: 0,
        }
    }

    /// Counts an opening; tells whether it leaves a hole among the numbers.
    pub fn opened(&mut self, number: i64, time: i64) -> bool {
        self.first.get_or_insert((number, time));
        self.last = self.last.max(number);
        self.latest = self.latest.max(Some(time));
        self.delta += 1;
        self.top = self.top.max(self.delta);
        self.numbers.add(number)
    }

    /// Lets go of nobody's connections where one more would be too many; returns how many there were.
    pub fn let_go(&mut self) -> usize {
        let gone = self.gone.len();
        if gone < MOST_GONE {
            return 0;
        }
        self.gone.clear();
        gone
    }

    /// Nobody's connection, for a request that was written after the close of the one of this number.
    pub fn after_close(&mut self, number: i64, time: i64) -> &mut Connection {
        self.gone.entry(number).or_insert_with(|| {
            let mut nobodys = Connection::new(time, Some(time), Some(UNKNOWN));
            nobodys.closed = Some(time);
            nobodys.account = Account::Named(UNKNOWN);
            nobodys
        })
    }

    /// Tells whether an opening at this time belongs among those of this run, and only its line is late.
    pub fn holds(&self, number: i64, time: i64) -> bool {
        let (Some((first, _)), Some(latest)) = (self.first, self.latest) else {
            return false;
        };
        time - latest <= LATE && first.max(self.last - BURST_DISORDER) < number && !self.numbers.contains(number)
    }
}

/// Tells whether an opening at this time is the late line of a connection that has already asked, or is closed.
pub fn is_late(there: &Connection, time: i64, from_its_beginning: bool) -> bool {
    let begun = match there.asked {
        Some(asked) => asked.op == 0,
        None => from_its_beginning && there.rested.is_none(),
    };
    there.opened.is_none() && begun && time - there.first <= LATE
}
