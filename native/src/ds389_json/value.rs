//! A value of JSON, as it is in the text.

use std::borrow::Cow;

use super::texts::unescaped;

/// What stands behind a name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// The object has no such name.
    #[default]
    Missing,
    /// A text without escapes, between its quotes.
    Symbol(&'a [u8]),
    /// A text with escapes in it, which [`Value::bytes`] resolves.
    Escaped(&'a [u8]),
    /// A number without fraction and exponent, of at most 18 digits.
    Whole(i64),
    /// `true`
    True,
    /// From `{` to `}`.
    Object(&'a [u8]),
    /// From `[` to `]`.
    List(&'a [u8]),
    /// `false`, `null`, any other number.
    Other,
}

impl<'a> Value<'a> {
    /// What a text says; nothing for what is none.
    #[inline]
    pub fn bytes(self) -> Cow<'a, [u8]> {
        match self {
            Value::Symbol(raw) => Cow::Borrowed(raw),
            Value::Escaped(raw) => Cow::Owned(unescaped(raw)),
            _ => Cow::Borrowed(b""),
        }
    }
}
