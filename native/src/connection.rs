//! The state of one connection within one chunk of a log, and what is undecided at the chunk's edges.
//!
//! In a chunk that does not contain the connection's opening, three things are unknown: the client, the account before
//! the first BIND, and the operations outstanding at its start. Counts that depend on them are kept here until
//! `joining` joins the chunks.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::idle_times::IdleTimes;
use crate::interner::{ANONYMOUS, Symbol, UNKNOWN};
use crate::operation_kinds::OperationKind;
use crate::pending_requests::PendingRequests;
use crate::sorting::Sorting;

/// Nanoseconds after a close in which the results of outstanding operations may still be written.
const RESULT_TIMEOUT: i64 = 600_000_000_000;

/// The extended operation after whose success TLS begins (RFC 4511, 4.14.1).
const STARTTLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// saslBindInProgress (RFC 4511, appendix A): a step, neither a success nor a failure.
pub const IN_PROGRESS: i64 = 14;

/// The account to which an operation is attributed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Account {
    /// The account at the end of the earlier chunk; anonymous where there is none.
    Inherited,
    /// The DN of the BIND with this number, requested in an earlier chunk.
    OfBind(i64),
    /// A bind DN; empty: anonymous.
    Dn(Symbol),
}

impl Account {
    /// The account, where nothing came before it: then it is anonymous until the first BIND.
    pub fn or_anonymous(self) -> Self {
        if self == Account::Inherited { Account::Dn(ANONYMOUS) } else { self }
    }

    /// The account as far as it is known, now that no record before it can follow; `unbound`: before the first BIND.
    pub fn known(self, unbound: Symbol) -> Symbol {
        match self {
            Account::Dn(account) => account,
            Account::Inherited => unbound,
            Account::OfBind(_) => UNKNOWN,
        }
    }
}

/// A result, which can be kept until its request is known; or what ends or describes one, as an ABANDON or SORT line.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct OperationResult {
    /// The operation number.
    pub op: i64,
    /// The time of the result.
    pub time: i64,
    /// The kind of operation, by its tag.
    pub kind: OperationKind,
    /// The result code.
    pub err: i64,
    /// Duration in nanoseconds, where the log has it.
    pub etime: Option<i64>,
    /// Nanoseconds of waiting for a worker thread.
    pub wait: Option<i64>,
    /// Nanoseconds without the wait.
    pub optime: Option<i64>,
    /// Entries returned.
    pub entries: i64,
    /// Notes; [`ANONYMOUS`], the empty text, where there are none.
    pub notes: Symbol,
    /// The account that a BIND result reports as bound; the mechanism (kind NAMED).
    pub account: Option<Symbol>,
    /// The account of the connection when the result was written; operations are attributed to it.
    pub bound_as: Account,
    /// Of a SORT or VLV line (kind SORTED).
    pub sorting: Option<Sorting>,
}

impl OperationResult {
    /// What ends or describes a request that may be in an earlier chunk.
    pub fn mark(op: i64, time: i64, kind: OperationKind) -> Self {
        OperationResult {
            op,
            time,
            kind,
            err: 0,
            etime: None,
            wait: None,
            optime: None,
            entries: 0,
            notes: ANONYMOUS,
            account: None,
            bound_as: Account::Inherited,
            sorting: None,
        }
    }
}

/// An idle time that a request ended, as far as this chunk determines it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct IdleTime {
    /// The number of unmatched results before its end; it counts if no operation of an earlier chunk was outstanding
    /// then.
    pub epoch: usize,
    /// The account that was bound.
    pub account: Account,
    /// When it began.
    pub since: i64,
    /// When the request ended it.
    pub ended: i64,
}

/// The first request of a chunk, which may end an idle time that began in an earlier one.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct FirstRequest {
    /// The operation number.
    pub op: i64,
    /// The time of the request.
    pub time: i64,
    /// The number of unmatched results before it.
    pub epoch: usize,
    /// The time of the last of them.
    pub idle_since: Option<i64>,
    /// The account of the connection before it.
    pub account: Account,
}

/// The idle time at the close of a connection, as far as this chunk determines it.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct IdleAtClose {
    /// `None`: no result in this chunk.
    pub idle_since: Option<i64>,
    /// The number of unmatched results before the close.
    pub epoch: usize,
    /// No operation requested in this chunk was outstanding.
    pub quiet: bool,
}

/// What ends a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its close.
    Close,
    /// A restart of the server at this time, where it is known; it has its close, or the code RESTART.
    Restart(Option<i64>),
    /// The end of the log, whose last record has this time.
    EndOfLog(Option<i64>),
}

impl Ending {
    /// When it is known to have ended, where it has no close.
    pub fn at(self) -> Option<i64> {
        match self {
            Ending::Close => None,
            Ending::Restart(at) | Ending::EndOfLog(at) => at,
        }
    }
}

/// What operations are counted by, beside client and account: their kind, and the filter shape or the target.
pub type Subject = (OperationKind, Symbol);

/// Counts of results, as attributed to client and account.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct ResultCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds.
    pub etime: i128,
    /// Results with notes.
    pub noted: u64,
}

impl ResultCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: ResultCounts) {
        self.answered += other.answered;
        self.etime += other.etime;
        self.noted += other.noted;
    }
}

/// State that few connections need, kept apart to keep the others small.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct RareState {
    /// The client that other lines than an opening or a PROXY header name; UNKNOWN if they differ.
    pub named_client: Option<Symbol>,
    /// The account that lines before the first BIND name; UNKNOWN if they differ.
    pub named_account: Option<Symbol>,
    /// Results whose request may be in an earlier chunk.
    pub unmatched: Vec<OperationResult>,
    /// Results whose request is in no earlier chunk, but may be written later; false: written after the close.
    pub early: Vec<(OperationResult, bool)>,
    /// While the client or account is unknown, by subject, account and result code.
    pub unattributed: FxHashMap<(Subject, Account, i64), ResultCounts>,
    /// Idle times while the client or account is unknown, or operations of an earlier chunk may have been outstanding.
    pub uncertain_idle_times: Vec<IdleTime>,
    /// The others, while the client or account is unknown.
    pub idle_times: FxHashMap<Account, IdleTimes>,
    /// Paged searches seen here, by the server's number; true: more pages follow.
    pub pages: FxHashMap<i64, bool>,
    /// Paged searches whose first page here may be a later one.
    pub uncertain_pages: FxHashSet<i64>,
}

/// A connection, or the part of it that is in one chunk of a log.
#[derive(Clone, Serialize, Deserialize)]
pub struct Connection {
    /// The line of the chunk with its first record.
    pub line: u64,
    /// The time of its first record.
    pub first: i64,
    /// The time of its opening; `None`: in an earlier chunk.
    pub opened: Option<i64>,
    /// Records just before its opening, in an earlier run, may be its own: it ends when that is known.
    pub is_continued: bool,
    /// The client's address.
    pub client: Option<Symbol>,
    /// The account it is bound as.
    pub account: Account,
    /// The DN that a line before the result of the BIND in progress reports as bound (slapd).
    pub confirmed_dn: Option<Symbol>,
    /// The DN of the BIND in progress.
    pub bind_dn: Option<Symbol>,
    /// The number of requests.
    pub operations: u64,
    /// The number of the last request; -1: none yet.
    pub last_op: i64,
    /// The number of the last request: the same wherever the log is cut, also where numbers come again.
    pub previous_op: i64,
    /// Requests with consecutive numbers: all but an UNBIND.
    pub requests: u64,
    /// The first request.
    pub first_request: Option<FirstRequest>,
    /// The time of the last result that left no operation outstanding.
    pub idle_since: Option<i64>,
    /// Requests without a result.
    pub pending: PendingRequests,
    /// State that few connections need.
    pub rare: Option<Box<RareState>>,
    /// The last result counted: subject, account, result code and their index in the attribution. One connection repeats
    /// them.
    pub last_attribution: Option<(Subject, Symbol, i64, usize)>,
    /// By TLS, from the beginning or by StartTLS.
    pub secured: bool,
    /// BINDs with a password before the connection was secured in this chunk, by epoch and DN: most connections have none or one.
    /// They count if no StartTLS of an earlier chunk had succeeded by then.
    pub clear_binds: Vec<((usize, Symbol), u64)>,
    /// Searches that are a later page of an earlier search.
    pub continued: u64,
    /// The time of its close.
    pub closed: Option<i64>,
    /// The close code, as the server writes it.
    pub code: Symbol,
    /// The idle time at its close.
    pub idle_at_close: Option<IdleAtClose>,
}

impl Connection {
    /// A connection with its first record at `first`.
    pub fn new(first: i64, opened: Option<i64>, client: Option<Symbol>) -> Self {
        Connection {
            line: 0,
            first,
            opened,
            is_continued: false,
            client,
            account: Account::Inherited,
            confirmed_dn: None,
            bind_dn: None,
            operations: 0,
            last_op: -1,
            previous_op: -1,
            requests: 0,
            first_request: None,
            idle_since: None,
            pending: PendingRequests::default(),
            rare: None,
            last_attribution: None,
            secured: false,
            clear_binds: Vec::new(),
            continued: 0,
            closed: None,
            code: ANONYMOUS,
            idle_at_close: None,
        }
    }

    /// The rare state, created on first use.
    pub fn rare(&mut self) -> &mut RareState {
        self.rare.get_or_insert_default()
    }

    /// Keeps the client and the account that a line names; the connection's end shows whether they are needed.
    pub fn name(&mut self, client: Option<Symbol>, account: Option<Symbol>) {
        let account = account.filter(|_| self.bound_as() == Account::Inherited);
        if client.is_some() || account.is_some() {
            let rare = self.rare();
            rare.named_client = agreed(rare.named_client, client);
            rare.named_account = agreed(rare.named_account, account);
        }
    }

    /// The number of unmatched results so far.
    pub fn epoch(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.unmatched.len())
    }

    /// The account to which an operation that ends now is attributed.
    pub fn bound_as(&self) -> Account {
        self.bind_dn.map_or(self.account, Account::Dn)
    }

    /// The client to count it under, now that no opening or PROXY header can follow.
    pub fn client_at_end(&self) -> Symbol {
        let named = self.rare.as_ref().and_then(|rare| rare.named_client);
        let mut clients = [self.client, named].into_iter().flatten();
        clients.find(|&client| client != ANONYMOUS).unwrap_or(UNKNOWN) // an empty text names none
    }

    /// The account before its first BIND, now that no opening can follow.
    pub fn unbound(&self) -> Symbol {
        if self.opened.is_some() {
            return ANONYMOUS;
        }
        self.rare.as_ref().and_then(|rare| rare.named_account).unwrap_or(UNKNOWN)
    }

    /// Since when it is idle at its close, or at the end of the log; `None`: it is not, or that is not known.
    pub fn idle_at_end(&self) -> Option<i64> {
        let (idle_since, is_quiet) = match self.idle_at_close {
            Some(idle) => (idle.idle_since, idle.quiet),
            None => (self.idle_since, self.pending.is_empty()),
        };
        idle_since.or(self.opened.filter(|_| self.last_op < 0)).filter(|_| is_quiet)
    }

    /// When it was last used: by its last result, or with operations outstanding until its end.
    ///
    /// `until`: when a restart of the server, or the end of the log, ended it. A close alone is no use: an idle timeout
    /// closes connections of clients that are gone.
    pub fn last_use(&self, until: Option<i64>) -> i64 {
        let with_pending = until.filter(|_| !self.pending.is_empty()).unwrap_or(self.first);
        self.idle_at_end().or(self.closed).unwrap_or(with_pending)
    }

    /// Begins an idle time after a result, unless an operation is outstanding.
    #[inline]
    pub fn end_operation(&mut self, time: i64) {
        if self.pending.is_empty() {
            self.idle_since = Some(time);
        }
    }

    /// Sets the account after the result of a BIND; a failed one leaves it anonymous (RFC 4511, 4.2.1).
    ///
    /// The DN of the result takes precedence over that of a line before it, and this over that of the request.
    pub fn end_bind(&mut self, op: i64, err: i64, reported: Option<Symbol>, requested: Option<Symbol>) {
        if err == IN_PROGRESS {
            return;
        }
        let confirmed = self.confirmed_dn.take();
        self.bind_dn = None;
        self.account = if err != 0 {
            Account::Dn(ANONYMOUS)
        } else {
            reported.or(confirmed).or(requested).map_or(Account::OfBind(op), Account::Dn)
        };
    }

    /// Takes the connection as secured after a StartTLS that succeeded.
    pub fn end_extended(&mut self, err: i64, oid: &[u8]) {
        self.secured |= err == 0 && oid == STARTTLS;
    }

    /// Adds a SORT or VLV line to the request it belongs to; returns whether this is known.
    pub fn add_sorting(&mut self, op: i64, line: Sorting) -> bool {
        let Some(pending) = self.pending.get_mut(op) else { return false };
        pending.sorting = Some(Box::new(pending.sorting.as_ref().map_or(line, |before| before.and_then(line))));
        true
    }

    /// Returns whether it was closed so long ago that no result is expected.
    pub fn is_expired(&self, time: i64) -> bool {
        self.closed.is_some_and(|closed| time - closed > RESULT_TIMEOUT)
    }

    /// Returns whether it is closed, and no result is expected.
    pub fn is_done(&self) -> bool {
        let has_early = self.rare.as_ref().is_some_and(|rare| !rare.early.is_empty());
        self.closed.is_some() && self.opened.is_some() && self.pending.is_empty() && self.epoch() == 0 && !has_early
    }

    /// Returns whether no record of it can follow or be in an earlier chunk.
    pub fn is_complete(&self) -> bool {
        let begun = self.first_request.map_or(self.operations == 0, |request| request.op == 0);
        begun && self.is_done() && !self.is_continued
    }
}

/// The name on which two agree; UNKNOWN if they differ, as behind a proxy; `None`: no name.
fn agreed(one: Option<Symbol>, other: Option<Symbol>) -> Option<Symbol> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(UNKNOWN),
        (one, other) => one.or(other),
    }
}
