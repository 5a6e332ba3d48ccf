//! The reduced form of a filter: without its values. One pass, eight bytes at a time, since it runs for every search.

use std::ops::Range;

use super::assertions::OBJECT_CLASS;
use crate::words::{EACH, below, find, is};

/// Appends the text with `?` for each value up to its first asterisk, and for each substring after one.
///
/// No value contains a parenthesis or an asterisk (RFC 4515, 3). The values of objectClass are kept for the shape.
pub fn reduce(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len());
    let mut kept = 0;
    each_value(text, |value| {
        out.extend_from_slice(&text[kept..value.start]);
        out.push(b'?');
        kept = value.end;
    });
    out.extend_from_slice(&text[kept..]);
}

/// The places of what [`reduce`] replaces by `?`. None is empty, and none contains a parenthesis or an asterisk.
pub fn values(text: &[u8]) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    each_value(text, |value| values.push(value));
    values
}

/// The end of a value that begins at a place of a text.
#[inline(always)]
pub fn end_of_value(text: &[u8], at: usize) -> usize {
    find(text, at, ends_value)
}

#[inline(always)]
fn each_value(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = find(text, 0, begins_value);
    while let Some(next) = text.get(at + 1) {
        match next {
            b'*' => at += 1,
            b'(' | b')' => at = find(text, at + 1, begins_value),
            _ if text[at] == b'=' && is_behind_object_class(&text[..at]) => at = find(text, at + 1, begins_value),
            _ => {
                let end = end_of_value(text, at + 1);
                found(at + 1..end);
                at = if text.get(end) == Some(&b'*') { end } else { find(text, end, begins_value) };
            }
        }
    }
}

/// Returns whether an equals sign after this text is that of `(objectClass=`.
#[inline(always)]
fn is_behind_object_class(text: &[u8]) -> bool {
    let Some([b'(', name @ ..]) = text.last_chunk::<12>() else { return false };
    // Two overlapping words; bit 0x20 makes a letter lower case, and nothing else a letter.
    let is_like = |at: usize| word(&name[at..]) | (0x20 * EACH) == word(&OBJECT_CLASS[at..]);
    is_like(0) && is_like(3)
}

#[inline(always)]
fn word(text: &[u8]) -> u64 {
    text.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline(always)]
fn begins_value(word: u64) -> u64 {
    is(b'=')(word) | is(b'*')(word)
}

/// `()*` are 28 29 2a, hence 0 1 2 after the XOR, and no other byte is.
#[inline(always)]
fn ends_value(word: u64) -> u64 {
    below(word ^ (EACH * b'(' as u64), 3)
}
