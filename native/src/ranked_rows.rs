//! The keys and rows of ranked tables: their texts, their order and their costs.

use std::cmp::Ordering;

use crate::client_row::{ClientRow, kept_code};
use crate::connection::ResultCounts;
use crate::idle_times::IdleRow;
use crate::interner::{Interner, Symbol};
use crate::operation_kinds::OperationKind;
use crate::operation_row::{OperationRow, ShapeKey, TargetKey};
use crate::ranked_table::{Key, Row};
use crate::segment::AttributionKey;
use crate::shape_row::ShapeRow;
use crate::tables::{CappedTable, LookupCounts};

impl Key for Symbol {
    fn with(self, mut text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self> {
        text(self)
    }

    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering {
        texts.resolve(*self).cmp(other_texts.resolve(*other))
    }

    fn beginning(&self, texts: &Interner) -> u64 {
        let text = texts.resolve(*self);
        let mut first = [0; 8];
        first[..text.len().min(8)].copy_from_slice(&text[..text.len().min(8)]);
        u64::from_be_bytes(first)
    }
}

impl Key for (Symbol, Symbol) {
    fn with(self, mut text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self> {
        Some((text(self.0)?, text(self.1)?))
    }

    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering {
        self.0.order(texts, &other.0, other_texts).then_with(|| self.1.order(texts, &other.1, other_texts))
    }

    fn beginning(&self, texts: &Interner) -> u64 {
        self.0.beginning(texts)
    }
}

impl Key for ShapeKey {
    fn with(self, mut text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self> {
        Some((text(self.0)?, text(self.1)?, self.2))
    }

    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering {
        let by_texts = (self.0, self.1).order(texts, &(other.0, other.1), other_texts);
        by_texts.then(self.2.cmp(&other.2))
    }

    fn beginning(&self, texts: &Interner) -> u64 {
        self.0.beginning(texts)
    }
}

impl Key for TargetKey {
    fn with(self, mut text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self> {
        Some((self.0, text(self.1)?))
    }

    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering {
        self.0.cmp(&other.0).then_with(|| self.1.order(texts, &other.1, other_texts))
    }

    fn beginning(&self, texts: &Interner) -> u64 {
        beginning(self.0, self.1, texts)
    }
}

impl Key for AttributionKey {
    fn with(self, mut text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self> {
        Some((self.0, text(self.1)?, text(self.2)?, text(self.3)?, self.4))
    }

    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering {
        let by_texts = || (self.1, self.2).order(texts, &(other.1, other.2), other_texts);
        let by_account = || self.3.order(texts, &other.3, other_texts);
        self.0.cmp(&other.0).then_with(by_texts).then_with(by_account).then(self.4.cmp(&other.4))
    }

    fn beginning(&self, texts: &Interner) -> u64 {
        beginning(self.0, self.1, texts)
    }
}

/// The kind of operation, and what still fits of the text.
fn beginning(kind: OperationKind, text: Symbol, texts: &Interner) -> u64 {
    u64::from(kind as u8 ^ 0x80) << 56 | text.beginning(texts) >> 8 // kinds may be negative
}

type Kept = CappedTable<Symbol, u64>;
type Text<'a> = &'a mut dyn FnMut(Symbol) -> Symbol;

impl Row for ShapeRow {
    fn cost(&self) -> (i128, i128) {
        self.operations.cost()
    }

    fn more_general(&self) -> Self {
        ShapeRow::new(false)
    }

    fn add(&mut self, other: Self, notes: &Kept, text: Text) {
        self.merge(other, notes, text);
    }

    fn moved(self, notes: &Kept, text: Text) -> Self {
        self.translated(notes, text)
    }
}

impl Row for OperationRow {
    fn cost(&self) -> (i128, i128) {
        (self.etime, i128::from(self.requests))
    }

    fn more_general(&self) -> Self {
        OperationRow::default()
    }

    fn add(&mut self, other: Self, _: &Kept, _: Text) {
        self.merge(other);
    }
}

impl Row for ResultCounts {
    fn cost(&self) -> (i128, i128) {
        (self.etime, i128::from(self.answered))
    }

    fn more_general(&self) -> Self {
        ResultCounts::default()
    }

    fn add(&mut self, other: Self, _: &Kept, _: Text) {
        ResultCounts::add(self, other);
    }
}

impl Row for ClientRow {
    fn cost(&self) -> (i128, i128) {
        (i128::from(self.opened) + i128::from(self.operations), 0)
    }

    fn more_general(&self) -> Self {
        ClientRow::default()
    }

    fn add(&mut self, other: Self, closed: &Kept, text: Text) {
        self.merge(other, |code| kept_code(closed, text(code)));
    }

    fn moved(self, closed: &Kept, text: Text) -> Self {
        self.translated(|code| kept_code(closed, text(code)))
    }
}

impl Row for IdleRow {
    fn cost(&self) -> (i128, i128) {
        let (count, longest) = self.count_and_longest();
        (i128::from(longest), i128::from(count))
    }

    fn more_general(&self) -> Self {
        IdleRow::default()
    }

    fn add(&mut self, other: Self, closed: &Kept, text: Text) {
        self.merge(&other, |code| kept_code(closed, text(code)));
    }

    fn moved(self, closed: &Kept, text: Text) -> Self {
        self.translated(|code| kept_code(closed, text(code)))
    }
}

impl Row for LookupCounts {
    fn cost(&self) -> (i128, i128) {
        (i128::from(self.count), i128::from(self.most))
    }

    fn more_general(&self) -> Self {
        LookupCounts { count: 0, ..*self }
    }

    fn add(&mut self, other: Self, _: &Kept, _: Text) {
        LookupCounts::add(self, other);
    }
}
