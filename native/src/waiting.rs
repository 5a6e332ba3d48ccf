//! The requests of one connection that wait for their result: one or two most often, hundreds of thousands at worst.

use rustc_hash::FxHashMap;

use crate::connection::Pending;

/// So many are looked through one by one.
const FEW: usize = 8;

/// Requests by operation number.
#[derive(Default)]
pub struct Waiting {
    few: Vec<Pending>,
    many: Option<Box<FxHashMap<i64, Pending>>>,
}

impl Waiting {
    /// Lets a request wait; returns the one of the same number that waited before.
    pub fn insert(&mut self, mut pending: Pending) -> Option<Pending> {
        if let Some(there) = self.few.iter_mut().find(|there| there.op == pending.op) {
            pending.line = there.line;
            return Some(std::mem::replace(there, pending));
        }
        if self.few.len() < FEW && self.many.is_none() {
            self.few.push(pending);
            return None;
        }
        let many = self.many.get_or_insert_default();
        if let Some(there) = many.get(&pending.op) {
            pending.line = there.line;
        }
        many.insert(pending.op, pending)
    }

    /// Returns the request of a number, which waits no longer.
    pub fn take(&mut self, op: i64) -> Option<Pending> {
        if let Some(place) = self.few.iter().position(|there| there.op == op) {
            return Some(self.few.swap_remove(place));
        }
        let many = self.many.as_mut()?;
        let taken = many.remove(&op);
        if many.is_empty() {
            self.many = None;
        }
        taken
    }

    /// Tells whether none waits.
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    /// All of them, the oldest first.
    pub fn in_order(&self) -> Vec<&Pending> {
        let mut all: Vec<_> = self.few.iter().chain(self.many.iter().flat_map(|many| many.values())).collect();
        all.sort_by_key(|pending| pending.line);
        all
    }
}
