//! Texts of a log by small numbers: millions of records name the same few clients, accounts, shapes and bases.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

/// A text of a piece of a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Text(u32);

/// Nobody has bound; also any other text that is empty.
pub const ANONYMOUS: Text = Text(0);
/// A client or an account that the log does not tell.
pub const UNKNOWN: Text = Text(1);
/// Where everything beyond a cap is counted.
pub const OTHER: Text = Text(2);

impl Text {
    /// Its place among all.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// What a text costs besides its bytes.
const EACH: usize = 64;

/// The texts of one piece.
pub struct Texts {
    /// Hashed by a secret of this process, for clients choose these texts.
    all: IndexSet<Box<[u8]>, RandomState>,
    bytes: usize,
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Texts { all: IndexSet::default(), bytes: 0 };
        for known in [&b""[..], b"?", b"other"] {
            texts.number(known);
        }
        texts
    }
}

impl Texts {
    /// The number of a text.
    pub fn number(&mut self, text: &[u8]) -> Text {
        if let Some(number) = self.all.get_index_of(text) {
            return Text(number as u32);
        }
        self.bytes += text.len() + EACH;
        Text(self.all.insert_full(text.into()).0 as u32)
    }

    /// The text of a number.
    pub fn at(&self, text: Text) -> &[u8] {
        self.all.get_index(text.place()).map_or(b"", |text| text)
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.all.iter().map(|text| &text[..])
    }

    /// Bytes they take.
    pub fn weight(&self) -> usize {
        self.bytes
    }
}
