//! The pending requests of one connection: usually one or two, at worst hundreds of thousands.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::interner::Symbol;
use crate::operation_kinds::OperationKind;
use crate::sorting::Sorting;

/// The row of a request that is not counted: it came before the period.
pub const NO_ROW: u32 = u32::MAX;
/// From here on a row is the index of the key of a row that was removed (`Segment::removed_rows`).
pub const REMOVED: u32 = 1 << 31;

/// Up to this number requests are searched linearly.
const FEW: usize = 8;

/// A request without a result yet.
#[derive(Clone, Serialize, Deserialize)]
pub struct Pending {
    /// The operation number.
    pub op: i64,
    /// The line of the chunk it is in: when there are too many, the oldest are dropped.
    pub line: u64,
    /// The time of the request.
    pub time: i64,
    /// The kind of operation.
    pub kind: OperationKind,
    /// The row that counts it, of a shape or a target.
    pub row: u32,
    /// The DN of a BIND; [`ANONYMOUS`](crate::interner::ANONYMOUS) for other kinds.
    pub dn: Symbol,
    /// The filter of a search, the DN of the entry, or the OID.
    pub subject: Vec<u8>,
    /// The SORT and VLV lines of a search.
    pub sorting: Option<Box<Sorting>>,
    /// Earlier requests with the same number, as a client can forge them. A result ends the last: this is so wherever
    /// the log is cut.
    pub before: Vec<Pending>,
}

/// Pending requests by operation number.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PendingRequests {
    few: Vec<Pending>,
    many: Option<Box<FxHashMap<i64, Pending>>>,
}

impl PendingRequests {
    /// Adds a request.
    #[inline]
    pub fn add(&mut self, pending: Pending) {
        if self.many.is_none() && self.few.len() < FEW && self.few.iter().all(|there| there.op != pending.op) {
            self.few.push(pending);
        } else {
            self.add_to_others(pending);
        }
    }

    #[cold]
    fn add_to_others(&mut self, pending: Pending) {
        if let Some(there) = self.get_mut(pending.op) {
            let mut last = std::mem::replace(there, pending);
            there.before = std::mem::take(&mut last.before);
            there.before.push(last);
        } else {
            self.many.get_or_insert_default().insert(pending.op, pending);
        }
    }

    /// The request with this number.
    pub fn get_mut(&mut self, op: i64) -> Option<&mut Pending> {
        match self.few.iter().position(|there| there.op == op) {
            Some(place) => Some(&mut self.few[place]),
            None => self.many.as_mut()?.get_mut(&op),
        }
    }

    /// Removes and returns the last request with this number.
    #[inline]
    pub fn take(&mut self, op: i64) -> Option<Pending> {
        match self.few.iter().position(|there| there.op == op) {
            Some(place) if self.few[place].before.is_empty() => Some(self.few.swap_remove(place)),
            _ => self.take_of_others(op),
        }
    }

    #[cold]
    fn take_of_others(&mut self, op: i64) -> Option<Pending> {
        let there = self.get_mut(op)?;
        if let Some(mut before) = there.before.pop() {
            before.before = std::mem::take(&mut there.before);
            return Some(std::mem::replace(there, before));
        }
        let many = self.many.as_mut()?;
        let taken = many.remove(&op);
        if many.is_empty() {
            self.many = None;
        }
        taken
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    /// Returns whether there is a request with this number.
    pub fn contains(&self, op: i64) -> bool {
        self.few.iter().any(|there| there.op == op) || self.many.as_ref().is_some_and(|many| many.contains_key(&op))
    }

    /// All requests.
    pub fn iter(&self) -> impl Iterator<Item = &Pending> {
        let last = self.few.iter().chain(self.many.iter().flat_map(|many| many.values()));
        last.flat_map(|one| one.before.iter().chain([one]))
    }

    /// Calls `each` with every request.
    pub fn each(&mut self, mut each: impl FnMut(&mut Pending)) {
        for one in self.few.iter_mut().chain(self.many.iter_mut().flat_map(|many| many.values_mut())) {
            one.before.iter_mut().for_each(&mut each);
            each(one);
        }
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Moves all requests of another connection here.
    pub fn add_all(&mut self, other: &mut PendingRequests) {
        let many = other.many.take().map(|many| many.into_values());
        for mut pending in other.few.drain(..).chain(many.into_iter().flatten()) {
            std::mem::take(&mut pending.before).into_iter().for_each(|before| self.add(before));
            self.add(pending);
        }
    }

    /// The numbers of all requests but the `kept` latest.
    pub fn oldest(&self, kept: usize) -> Vec<i64> {
        let mut all: Vec<_> = self.iter().map(|pending| (pending.line, pending.op)).collect();
        all.sort_unstable();
        all.truncate(all.len().saturating_sub(kept));
        all.into_iter().map(|(_, op)| op).collect()
    }
}
