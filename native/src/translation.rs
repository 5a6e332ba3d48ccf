//! Translation: the texts and rows of one Segment as those of another, into which it is merged.

use crate::connection::{Account, Connection, OperationResult, RareState};
use crate::interner::{Interner, Symbol};
use crate::operation_kinds::SEARCH;
use crate::pending_requests::{NO_ROW, Pending, REMOVED};
use crate::segment::{RowKey, Segment};
use crate::sorting::Sorting;

/// A text that has no symbol in the other Segment yet.
const NOT_YET: Option<Symbol> = None;

/// What the numbers of one Segment are in the other one.
pub struct Translation {
    from: Interner,
    texts: Vec<Option<Symbol>>,
    /// By row: that of the same key.
    pub shapes: Vec<u32>,
    /// By row: that of the same key.
    pub targets: Vec<u32>,
    removed_rows: Vec<RowKey>,
    /// Added to the line of each record.
    line_base: u64,
}

impl Translation {
    /// A translation of what these texts are numbered by.
    pub fn new(from: Interner, removed_rows: Vec<RowKey>, line_base: u64) -> Self {
        let texts = vec![NOT_YET; from.iter().len()];
        Translation { from, texts, shapes: Vec::new(), targets: Vec::new(), removed_rows, line_base }
    }

    /// The symbol of a text among `texts`, to which it is added where it is new.
    pub fn text(&mut self, texts: &mut Interner, symbol: Symbol) -> Symbol {
        *self.texts[symbol.index()].get_or_insert_with(|| texts.intern(self.from.resolve(symbol)))
    }

    fn account(&mut self, texts: &mut Interner, account: Account) -> Account {
        match account {
            Account::Dn(dn) => Account::Dn(self.text(texts, dn)),
            Account::Inherited | Account::OfBind(_) => account,
        }
    }

    fn sorting(&mut self, texts: &mut Interner, sorting: Sorting) -> Sorting {
        Sorting { keys: self.text(texts, sorting.keys), ..sorting }
    }

    /// Translates a connection into one of `segment`.
    pub fn connection(&mut self, segment: &mut Segment, connection: &mut Connection) {
        connection.line += self.line_base;
        connection.last_attribution = None;
        connection.pending.each(|pending| self.pending(segment, pending));
        let texts = &mut segment.texts;
        connection.client = connection.client.map(|client| self.text(texts, client));
        connection.account = self.account(texts, connection.account);
        connection.confirmed_dn = connection.confirmed_dn.map(|dn| self.text(texts, dn));
        connection.bind_dn = connection.bind_dn.map(|dn| self.text(texts, dn));
        connection.code = self.text(texts, connection.code);
        for ((_, dn), _) in &mut connection.clear_binds {
            *dn = self.text(texts, *dn);
        }
        if let Some(first) = &mut connection.first_request {
            first.account = self.account(texts, first.account);
        }
        if let Some(rare) = &mut connection.rare {
            self.rare(texts, rare);
        }
        connection.row = match (connection.row, connection.client) {
            (Some(_), Some(client)) => Some(segment.client(client)),
            _ => None,
        };
    }

    fn pending(&mut self, segment: &mut Segment, pending: &mut Pending) {
        pending.line += self.line_base;
        pending.dn = self.text(&mut segment.texts, pending.dn);
        if let Some(sorting) = &mut pending.sorting {
            **sorting = self.sorting(&mut segment.texts, **sorting);
        }
        let rows = if pending.kind == SEARCH { &self.shapes } else { &self.targets };
        pending.row = match pending.row {
            NO_ROW => NO_ROW,
            removed @ REMOVED.. => self.removed(segment, removed),
            row => rows[row as usize],
        };
    }

    fn removed(&mut self, segment: &mut Segment, row: u32) -> u32 {
        let texts = &mut segment.texts;
        let key = match self.removed_rows[(row - REMOVED) as usize] {
            RowKey::Shape((shape, base, scope)) => {
                RowKey::Shape((self.text(texts, shape), self.text(texts, base), scope))
            }
            RowKey::Target((kind, text)) => RowKey::Target((kind, self.text(texts, text))),
        };
        segment.removed_rows.push(key);
        REMOVED + segment.removed_rows.len() as u32 - 1
    }

    fn rare(&mut self, texts: &mut Interner, rare: &mut RareState) {
        rare.named_client = rare.named_client.map(|client| self.text(texts, client));
        rare.named_account = rare.named_account.map(|account| self.text(texts, account));
        for result in rare.unmatched.iter_mut().chain(rare.early.iter_mut().map(|(result, _)| result)) {
            self.result(texts, result);
        }
        for idle_time in &mut rare.uncertain_idle_times {
            idle_time.account = self.account(texts, idle_time.account);
        }
        for (((kind, text), account, err), counts) in std::mem::take(&mut rare.unattributed) {
            let key = ((kind, self.text(texts, text)), self.account(texts, account), err);
            rare.unattributed.entry(key).or_default().add(counts);
        }
        for (account, idle_times) in std::mem::take(&mut rare.idle_times) {
            rare.idle_times.insert(self.account(texts, account), idle_times);
        }
    }

    fn result(&mut self, texts: &mut Interner, result: &mut OperationResult) {
        result.notes = self.text(texts, result.notes);
        result.account = result.account.map(|account| self.text(texts, account));
        result.bound_as = self.account(texts, result.bound_as);
        result.sorting = result.sorting.map(|sorting| self.sorting(texts, sorting));
    }
}
