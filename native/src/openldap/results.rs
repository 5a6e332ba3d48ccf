//! The result of a request, and its duration.

use super::record::{CONN_DIGITS, Handled, Record};
use crate::fields::{self, number, signed};
use crate::operation_kinds;
use crate::result_fields::ResultFields;
use crate::stamps::{NANOSECONDS, duration};

/// `SEARCH RESULT tag=101 err=4 qtime=0.000011 etime=0.005531 nentries=100 text=`.
pub fn result(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = text.strip_prefix(b"SEARCH ").unwrap_or(text).strip_prefix(b"RESULT ")?;
    let (kind, text) = match text.strip_prefix(b"tag=") {
        Some(text) => number(text, 9).map(|(tag, rest)| (operation_kinds::of_tag(tag), rest))?,
        None => (operation_kinds::EXTENDED, word(text.strip_prefix(b"oid=")?)),
    };
    let (err, text) = signed(text.strip_prefix(b" err=")?, 9)?;
    let ((wait, etime), text) = times(text).unwrap_or(((None, None), text));
    let entries = text.strip_prefix(b" nentries=").and_then(|text| number(text, CONN_DIGITS));
    let (entries, text) = entries.unwrap_or((0, text));
    text.strip_prefix(b" text=")?;
    let optime = etime.zip(wait).map(|(etime, wait)| (etime - wait).max(0));
    let outcome = ResultFields { kind, err, etime, wait, optime, entries, ..ResultFields::default() };
    record.count(|log, time| log.result(conn, op, time, &outcome))
}

type Times = (Option<i64>, Option<i64>);

/// ` qtime=0.000011 etime=0.005531`.
fn times(text: &[u8]) -> Option<(Times, &[u8])> {
    let (qtime, text) = elapsed(text.strip_prefix(b" qtime=")?)?;
    let (etime, text) = elapsed(text.strip_prefix(b" etime=")?)?;
    Some(((qtime, etime), text))
}

/// Nanoseconds of `0.005531`, with up to nine decimals; `None` for a negative one, after the clock was set back.
fn elapsed(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let positive = text.strip_prefix(b"-");
    let text = positive.unwrap_or(text);
    let (_, behind) = number(text, 9)?;
    let (_, rest) = number(behind.strip_prefix(b".")?, NANOSECONDS)?;
    let nanoseconds = duration(&text[..text.len() - rest.len()]);
    Some((positive.is_none().then_some(nanoseconds), rest))
}

/// The rest after a word, which may be empty.
fn word(text: &[u8]) -> &[u8] {
    fields::word(text, usize::MAX).map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_gives_no_duration() {
        assert_eq!(elapsed(b"12.005531 x"), Some((Some(12_005_531_000), &b" x"[..])));
        assert_eq!(elapsed(b"-1.999990"), Some((None, &b""[..])));
        assert_eq!(elapsed(b"0.5 x"), Some((Some(500_000_000), &b" x"[..])));
        assert_eq!(elapsed(b"0."), None);
    }
}
