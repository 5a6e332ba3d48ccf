//! Searches: what is asked for, and the result at the end of the line.

use memchr::memmem::rfind_iter;
use memchr::{memchr, memchr_iter};

use super::items::{after_controls, after_item};
use crate::fields::{is_word, number, run, signed};
use crate::opends::is_end;
use crate::operation_kinds::SEARCH;
use crate::result_fields::ResultFields;

/// What a search asks for.
pub struct Asked<'a> {
    pub base: &'a [u8],
    pub scope: &'a [u8],
    pub filter: &'a [u8],
}

/// The result of a search.
pub struct Answer {
    pub err: i64,
    pub entries: i64,
    pub is_unindexed: bool,
    /// Milliseconds.
    pub etime: i64,
}

impl Answer {
    /// The fields of the result of a search that took so many nanoseconds.
    pub fn fields(&self, etime: i64) -> ResultFields<'static> {
        let notes: &[u8] = if self.is_unindexed { b"unindexed" } else { b"" };
        let (err, entries, etime) = (self.err, self.entries, Some(etime));
        ResultFields { kind: SEARCH, err, etime, entries, notes, ..ResultFields::default() }
    }
}

/// Reads the request and the result of a search, as far as the line has them; `None`: something else follows.
pub fn read(text: &[u8]) -> Option<(Option<Asked<'_>>, Option<Answer>)> {
    let (asked, rest) = asked(text).map_or((None, text), |(asked, rest)| (Some(asked), rest));
    let answer = answer(rest);
    (answer.is_some() || is_end(rest)).then_some((asked, answer))
}

/// A base ends before the first `" scope=`, a filter before the first `" attrs=` with a result or the end behind it.
fn asked(text: &[u8]) -> Option<(Asked<'_>, &[u8])> {
    let text = text.strip_prefix(b" base=\"")?;
    let (base, (scope, text)) =
        memchr_iter(b'"', text).find_map(|end| Some((&text[..end], scope(&text[end + 1..])?)))?;
    let behind = |end: usize| attributes(&text[end + 1..]);
    let (filter, rest) = memchr_iter(b'"', text).find_map(|end| Some((&text[..end], behind(end)?)))?;
    Some((Asked { base, scope, filter }, rest))
}

/// ` scope=\w{1,20} filter="`.
fn scope(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (scope, rest) = run(text.strip_prefix(b" scope=")?, 20, is_word)?;
    Some((scope, rest.strip_prefix(b" filter=\"")?))
}

/// ` attrs="[^"]*"` and controls, if a result or the end of the line follows.
fn attributes(text: &[u8]) -> Option<&[u8]> {
    let attributes = text.strip_prefix(b" attrs=\"")?;
    let rest = after_controls(&attributes[memchr(b'"', attributes)? + 1..]);
    let is_answered = rest.strip_prefix(b" result=").and_then(|text| signed(text, 1)).is_some();
    (is_answered || is_end(rest)).then_some(rest)
}

/// ` result=-?\d{1,9}( (message|masked\w{1,9})=.*)? nentries=\d{1,18}( ITEM)* etime=\d{1,18}` and the end of the line.
fn answer(text: &[u8]) -> Option<Answer> {
    let (err, text) = signed(text.strip_prefix(b" result=")?, 9)?;
    let in_message = || {
        let message = after_message(text)?;
        rfind_iter(message, ENTRIES).find_map(|at| end_of_answer(err, &message[at..]))
    };
    in_message().or_else(|| end_of_answer(err, text))
}

const ENTRIES: &[u8] = b" nentries=";

fn after_message(text: &[u8]) -> Option<&[u8]> {
    if let Some(text) = text.strip_prefix(b" message=") {
        return Some(text);
    }
    run(text.strip_prefix(b" masked")?, 9, is_word)?.1.strip_prefix(b"=")
}

fn end_of_answer(err: i64, text: &[u8]) -> Option<Answer> {
    let (entries, mut text) = number(text.strip_prefix(ENTRIES)?, 18)?;
    let mut is_unindexed = false;
    while let Some(rest) = after_item(text) {
        is_unindexed |= text.starts_with(b" unindexed ");
        text = rest;
    }
    let (etime, rest) = number(text.strip_prefix(b" etime=")?, 18)?;
    is_end(rest).then_some(Answer { err, entries, is_unindexed, etime })
}
