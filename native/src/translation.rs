//! Translation: the texts and rows of one Segment as those of another, into which it is merged.

use std::mem;

use crate::connection::{Account, Connection, OperationResult, RareState};
use crate::interner::Interner;
use crate::operation_kinds::SEARCH;
use crate::pending_requests::{NO_ROW, Pending, REMOVED};
use crate::prune::LaterRows;
use crate::segment::{RowKey, Segment};
use crate::sorting::Sorting;
use crate::text_translation::TextTranslation;

/// What the numbers of one Segment are in the other one.
pub struct Translation {
    /// Of its texts.
    pub texts: TextTranslation,
    removed_rows: Vec<RowKey>,
    /// Added to the line of each record.
    line_base: u64,
}

impl Translation {
    /// A translation from a chunk, which loses its texts.
    pub fn new(later: &mut Segment, line_base: u64) -> Self {
        Translation {
            texts: TextTranslation::new(mem::take(&mut later.texts)),
            removed_rows: mem::take(&mut later.removed_rows),
            line_base,
        }
    }

    fn account(&mut self, texts: &mut Interner, account: Account) -> Account {
        match account {
            Account::Dn(dn) => Account::Dn(self.texts.text(texts, dn)),
            Account::Inherited | Account::OfBind(_) => account,
        }
    }

    fn sorting(&mut self, texts: &mut Interner, sorting: Sorting) -> Sorting {
        Sorting { keys: self.texts.text(texts, sorting.keys), ..sorting }
    }

    /// Translates a connection of a chunk into one of `segment`.
    pub fn connection(&mut self, segment: &mut Segment, later: &mut LaterRows, connection: &mut Connection) {
        connection.line += self.line_base;
        connection.last_attribution = None;
        connection.pending.each(|pending| self.pending(segment, later, pending));
        let texts = &mut segment.texts;
        connection.client = connection.client.map(|client| self.texts.text(texts, client));
        connection.account = self.account(texts, connection.account);
        connection.confirmed_dn = connection.confirmed_dn.map(|dn| self.texts.text(texts, dn));
        connection.bind_dn = connection.bind_dn.map(|dn| self.texts.text(texts, dn));
        connection.code = self.texts.text(texts, connection.code);
        for ((_, dn), _) in &mut connection.clear_binds {
            *dn = self.texts.text(texts, *dn);
        }
        if let Some(first) = &mut connection.first_request {
            first.account = self.account(texts, first.account);
        }
        if let Some(rare) = &mut connection.rare {
            self.rare(texts, rare);
        }
    }

    fn pending(&mut self, segment: &mut Segment, later: &mut LaterRows, pending: &mut Pending) {
        pending.line += self.line_base;
        pending.dn = self.texts.text(&mut segment.texts, pending.dn);
        if let Some(sorting) = &mut pending.sorting {
            **sorting = self.sorting(&mut segment.texts, **sorting);
        }
        pending.row = match pending.row {
            NO_ROW => NO_ROW,
            removed @ REMOVED.. => self.removed(segment, removed),
            row if pending.kind == SEARCH => segment.add_shape(later, row, &mut self.texts),
            row => segment.add_target(later, row, &mut self.texts),
        };
    }

    fn removed(&mut self, segment: &mut Segment, row: u32) -> u32 {
        let texts = &mut segment.texts;
        let key = match self.removed_rows[(row - REMOVED) as usize] {
            RowKey::Shape((shape, base, scope)) => {
                RowKey::Shape((self.texts.text(texts, shape), self.texts.text(texts, base), scope))
            }
            RowKey::Target((kind, text)) => RowKey::Target((kind, self.texts.text(texts, text))),
        };
        segment.removed_rows.push(key);
        REMOVED + segment.removed_rows.len() as u32 - 1
    }

    fn rare(&mut self, texts: &mut Interner, rare: &mut RareState) {
        rare.named_client = rare.named_client.map(|client| self.texts.text(texts, client));
        rare.named_account = rare.named_account.map(|account| self.texts.text(texts, account));
        for result in rare.unmatched.iter_mut().chain(rare.early.iter_mut().map(|(result, _)| result)) {
            self.result(texts, result);
        }
        for idle_time in &mut rare.uncertain_idle_times {
            idle_time.account = self.account(texts, idle_time.account);
        }
        for (((kind, text), account, err), counts) in mem::take(&mut rare.unattributed) {
            let key = ((kind, self.texts.text(texts, text)), self.account(texts, account), err);
            rare.unattributed.entry(key).or_default().add(counts);
        }
        for (account, idle_times) in mem::take(&mut rare.idle_times) {
            rare.idle_times.insert(self.account(texts, account), idle_times);
        }
    }

    fn result(&mut self, texts: &mut Interner, result: &mut OperationResult) {
        result.notes = self.texts.text(texts, result.notes);
        result.account = result.account.map(|account| self.texts.text(texts, account));
        result.bound_as = self.account(texts, result.bound_as);
        result.sorting = result.sorting.map(|sorting| self.sorting(texts, sorting));
    }
}
