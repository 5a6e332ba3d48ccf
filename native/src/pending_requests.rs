//! The pending requests of one connection: usually one or two, at worst hundreds of thousands.

use rustc_hash::FxHashMap;

use crate::interner::Symbol;
use crate::operation_kinds::OperationKind;
use crate::sorting::Sorting;

/// Up to this number requests are searched linearly.
const FEW: usize = 8;

/// A request without a result yet.
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
}

/// Pending requests by operation number.
#[derive(Default)]
pub struct PendingRequests {
    few: Vec<Pending>,
    many: Option<Box<FxHashMap<i64, Pending>>>,
}

impl PendingRequests {
    /// Inserts a request; returns the one with the same number that it replaces.
    #[inline]
    pub fn insert(&mut self, mut pending: Pending) -> Option<Pending> {
        if let Some(there) = self.few.iter_mut().find(|there| there.op == pending.op) {
            pending.line = there.line;
            return Some(std::mem::replace(there, pending));
        }
        if self.few.len() < FEW && self.many.is_none() {
            self.few.push(pending);
            return None;
        }
        self.insert_into_many(pending)
    }

    #[cold]
    fn insert_into_many(&mut self, mut pending: Pending) -> Option<Pending> {
        let many = self.many.get_or_insert_default();
        if let Some(there) = many.get(&pending.op) {
            pending.line = there.line;
        }
        many.insert(pending.op, pending)
    }

    /// The request with this number.
    pub fn get_mut(&mut self, op: i64) -> Option<&mut Pending> {
        match self.few.iter().position(|there| there.op == op) {
            Some(place) => Some(&mut self.few[place]),
            None => self.many.as_mut()?.get_mut(&op),
        }
    }

    /// Removes and returns the request with this number.
    #[inline]
    pub fn take(&mut self, op: i64) -> Option<Pending> {
        match self.few.iter().position(|there| there.op == op) {
            Some(place) => Some(self.few.swap_remove(place)),
            None => self.take_of_many(op),
        }
    }

    #[cold]
    fn take_of_many(&mut self, op: i64) -> Option<Pending> {
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

    /// All requests, the oldest first.
    pub fn in_order(&self) -> Vec<&Pending> {
        let mut all: Vec<_> = self.few.iter().chain(self.many.iter().flat_map(|many| many.values())).collect();
        all.sort_by_key(|pending| pending.line);
        all
    }
}
