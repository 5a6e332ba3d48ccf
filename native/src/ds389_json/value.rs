//! A value of JSON, as a reference into the text.

use std::borrow::Cow;

use super::texts::unescaped;

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
    /// `false`, `null`, any other number.
    Other,
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
}
