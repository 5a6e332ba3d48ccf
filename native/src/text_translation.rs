//! The texts of one Segment as those of another, into which it is merged.

use crate::interner::{Interner, Symbol};

/// A text that has no symbol among the others yet.
const NOT_YET: Option<Symbol> = None;

/// What the symbols of some texts are among others.
pub struct TextTranslation {
    /// The texts that are translated.
    pub from: Interner,
    known: Vec<Option<Symbol>>,
}

impl TextTranslation {
    /// A translation of these texts.
    pub fn new(from: Interner) -> Self {
        let known = vec![NOT_YET; from.len()];
        TextTranslation { from, known }
    }

    /// The symbol of a text among `texts`; `None` where it is not there.
    pub fn find(&mut self, texts: &Interner, symbol: Symbol) -> Option<Symbol> {
        let known = &mut self.known[symbol.index()];
        if known.is_none() {
            *known = texts.find_of(&self.from, symbol);
        }
        *known
    }

    /// The symbol of a text among `texts`, to which it is added where it is new.
    pub fn text(&mut self, texts: &mut Interner, symbol: Symbol) -> Symbol {
        *self.known[symbol.index()].get_or_insert_with(|| texts.intern_of(&self.from, symbol))
    }
}
