//! One connection as far as one piece of a log tells it, and what waits at the piece's edges.
//!
//! A piece that does not hold the connection's opening knows neither the client nor, before its first BIND, the
//! account, nor which operations were outstanding when it began. What depends on them waits here until Python's
//! `joining` puts the pieces together.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kinds::Kind;
use crate::rests::Rests;
use crate::texts::{ANONYMOUS, Text};
use crate::waiting::Waiting;

/// Nanoseconds after a close in which the results of what was outstanding may still be written.
const CLOSED_FOR_GOOD: i64 = 600_000_000_000;

/// Who an operation is told for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    /// Who it was in an earlier piece, and nobody where there is none.
    Untold,
    /// Who the BIND of this number in an earlier piece names.
    Of(i64),
    /// A bind DN; empty: anonymous.
    Named(Text),
}

/// A request that waits for its result.
pub struct Pending {
    /// Its number.
    pub op: i64,
    /// The line of the piece it stands in: should too many wait, the oldest are let go.
    pub line: u64,
    /// When it came.
    pub time: i64,
    /// What it is.
    pub kind: Kind,
    /// The row of a search.
    pub row: Option<u32>,
    /// The DN of a BIND.
    pub dn: Text,
    /// The filter of a search.
    pub filter: Vec<u8>,
}

impl Pending {
    /// A request that is neither a BIND nor a search.
    pub fn new(op: i64, time: i64, kind: Kind) -> Self {
        Pending { op, line: 0, time, kind, row: None, dn: ANONYMOUS, filter: Vec::new() }
    }
}

/// A result whose request is not in this piece.
#[derive(Clone, Copy)]
pub struct Answer {
    /// The number of its operation.
    pub op: i64,
    /// When it came.
    pub time: i64,
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
    /// Notes; [`ANONYMOUS`], the empty text, where there are none.
    pub notes: Text,
    /// Who a BIND result says is bound now.
    pub account: Option<Text>,
    /// Who was bound when it came; an operation is told for whoever is bound at its end.
    pub who: Account,
}

/// The first request of a piece, which may end a rest that began in an earlier one.
#[derive(Clone, Copy)]
pub struct Asked {
    /// Its number.
    pub op: i64,
    /// When it came.
    pub time: i64,
    /// How many results without request had come before it.
    pub epoch: usize,
    /// When the last of them came.
    pub rested: Option<i64>,
}

/// The end of a connection: since when it had rested.
#[derive(Clone, Copy)]
pub struct Tail {
    /// Nothing was answered in this piece where it is none.
    pub rested: Option<i64>,
    /// How many results without request had come.
    pub epoch: usize,
    /// Nothing of this piece was outstanding.
    pub quiet: bool,
}

/// Searches, nanoseconds, noted ones.
#[derive(Clone, Copy, Default)]
pub struct Cell {
    /// Results of searches.
    pub count: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Those with a note.
    pub noted: u64,
}

impl Cell {
    /// Counts what another one counts, too.
    pub fn add(&mut self, other: Cell) {
        self.count += other.count;
        self.etime += other.etime;
        self.noted += other.noted;
    }
}

/// What few connections have.
#[derive(Default)]
pub struct Aside {
    /// Results whose request may be in an earlier piece.
    pub held: Vec<Answer>,
    /// Of an unknown client: searches by shape and account.
    pub owed: FxHashMap<(Text, Account), Cell>,
    /// Of an unknown client: failed BINDs by DN and result code.
    pub failures: FxHashMap<(Text, i64), u64>,
    /// Of an unknown client, by the epoch they ended in: they count if nothing from before was outstanding then.
    pub rests: FxHashMap<usize, Rests>,
    /// Paged searches touched here, by the server's number; true: they go on.
    pub pages: FxHashMap<i64, bool>,
    /// Those whose first page here may not be the first.
    pub pages_left: FxHashSet<i64>,
}

/// A connection, or the part of it that one piece of a log holds.
pub struct Connection {
    /// The line of the piece that was the first to tell of it.
    pub line: u64,
    /// When it was first told of.
    pub first: i64,
    /// When it was accepted; none: in an earlier piece.
    pub opened: Option<i64>,
    /// Its client's address.
    pub client: Option<Text>,
    /// Where the counts of this client are; none while it is unknown.
    pub row: Option<u32>,
    /// Who is bound.
    pub account: Account,
    /// Who the BIND that is under way will have bound, where a line before its result says so.
    pub named: Option<Text>,
    /// Who the BIND under way names.
    pub binding: Option<Text>,
    /// Requests.
    pub operations: u64,
    /// The number of the last request; -1: none yet.
    pub last_op: i64,
    /// Requests that are numbered one after the other: all but an UNBIND.
    pub requests: u64,
    /// The first request.
    pub asked: Option<Asked>,
    /// When the last result came that left nothing outstanding.
    pub rested: Option<i64>,
    /// Requests without result.
    pub pending: Waiting,
    /// What few connections have.
    pub aside: Option<Box<Aside>>,
    /// Where searches of this shape by this account were counted last: one connection asks the same again and again.
    pub cell: Option<(Text, Text, usize)>,
    /// Searches that are a later page of an earlier one.
    pub continued: u64,
    /// When it was closed.
    pub closed: Option<i64>,
    /// The server's word for why.
    pub code: Text,
    /// Its end.
    pub tail: Option<Tail>,
}

impl Connection {
    /// A connection of which this is the first that is told.
    pub fn new(first: i64, opened: Option<i64>, client: Option<Text>) -> Self {
        Connection {
            line: 0,
            first,
            opened,
            client,
            row: None,
            account: Account::Untold,
            named: None,
            binding: None,
            operations: 0,
            last_op: -1,
            requests: 0,
            asked: None,
            rested: None,
            pending: Waiting::default(),
            aside: None,
            cell: None,
            continued: 0,
            closed: None,
            code: ANONYMOUS,
            tail: None,
        }
    }

    /// What few connections have, of this one.
    pub fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }

    /// How many results wait for a request of an earlier piece.
    pub fn held(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.held.len())
    }

    /// Who an operation that ends now is told for.
    pub fn who(&self) -> Account {
        self.binding.map_or(self.account, Account::Named)
    }

    /// Tells whether it was closed so long ago that no result is waited for.
    pub fn is_gone(&self, time: i64) -> bool {
        self.closed.is_some_and(|closed| time - closed > CLOSED_FOR_GOOD)
    }

    /// Tells whether nothing of it can still come, nor be in an earlier piece.
    pub fn is_complete(&self) -> bool {
        let begun = self.asked.map_or(self.operations == 0, |asked| asked.op == 0);
        begun && self.closed.is_some() && self.opened.is_some() && self.pending.is_empty() && self.held() == 0
    }
}
