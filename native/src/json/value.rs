//! A value of JSON, as a reference into the text.

use std::borrow::Cow;

use super::texts::{unescaped, unescaped_by, with_halves};

/// The value of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// The object has no such name.
    #[default]
    Missing,
    /// A string without escapes, between its quotes.
    Symbol(&'a [u8]),
    /// A string with escapes, which [`Value::bytes`] resolves.
    Escaped(&'a [u8]),
    /// An integer of at most 18 digits.
    Whole(i64),
    /// `true`
    True,
    /// From `{` to `}`.
    Object(&'a [u8]),
    /// From `[` to `]`.
    List(&'a [u8]),
    /// Any other number.
    Number(&'a [u8]),
    /// `false`
    False,
    /// `null`
    Null,
}

impl<'a> Value<'a> {
    /// The bytes of a string; empty for any other value.
    #[inline]
    pub fn bytes(self) -> Cow<'a, [u8]> {
        match self {
            Value::Symbol(raw) => Cow::Borrowed(raw),
            Value::Escaped(raw) => Cow::Owned(unescaped(raw)),
            _ => Cow::Borrowed(b""),
        }
    }

    /// The text of a string, in which half of a surrogate pair is encoded as if it were a character.
    #[inline]
    pub fn text(self) -> Option<Cow<'a, [u8]>> {
        match self {
            Value::Symbol(raw) => Some(Cow::Borrowed(raw)),
            Value::Escaped(raw) => Some(Cow::Owned(unescaped_by(raw, with_halves))),
            _ => None,
        }
    }

    /// The value; `None` for what an object has not, or has as null.
    pub fn given(self) -> Option<Self> {
        Some(self).filter(|value| !matches!(value, Value::Missing | Value::Null))
    }
}
