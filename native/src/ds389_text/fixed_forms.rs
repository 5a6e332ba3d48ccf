//! The parts of the usual lines that have a fixed length, each taken as one array: with the fewest checks.

use crate::ds389_lines::result_head;
use crate::fields::nine;
use crate::result_fields::ResultFields;

/// The lengths before and after the fraction in `[20/Nov/2026:08:45:20.751921248 +0000] conn=1 `, the usual stamp.
const BEFORE: usize = b"[20/Nov/2026:08:45:20.".len();
const BEHIND: usize = b" +0000] conn=".len();
const STAMP: usize = BEFORE + 9 + BEHIND;
/// ` wtime=0.000091024 optime=0.000464531 etime=0.000554371` and the end of the line.
const DURATIONS: usize = 56;

/// A second, and the beginning and the end of its stamps.
pub struct UsualStamp {
    began: i64,
    before: [u8; BEFORE],
    behind: [u8; BEHIND],
}

impl UsualStamp {
    /// The usual stamps of a second, which begins at `began`; `None`: it is written otherwise.
    pub fn of(began: i64, second: &[u8], zone: &[u8]) -> Option<Self> {
        let before = [b"[", second, b"."].concat().try_into().ok()?;
        let behind = [b" ", zone, b"] conn="].concat().try_into().ok()?;
        Some(UsualStamp { began, before, behind })
    }

    /// The time, and the text after `conn=`.
    #[inline(always)]
    pub fn read<'a>(&self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        let (stamp, text) = text.split_first_chunk::<STAMP>()?;
        if stamp[..BEFORE] != self.before || stamp[BEFORE + 9..] != self.behind {
            return None;
        }
        let (fraction, _) = nine(&stamp[BEFORE..])?;
        Some((self.began + fraction, text))
    }
}

/// ` op=\d{1,2} `, and the rest of the line.
#[inline(always)]
pub fn short_operation(event: &[u8]) -> Option<(i64, &[u8])> {
    let value = |digit: u8| i64::from(digit & 15);
    match event.strip_prefix(b" op=")? {
        [ones @ b'0'..=b'9', b' ', rest @ ..] => Some((value(*ones), rest)),
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ', rest @ ..] => Some((value(*tens) * 10 + value(*ones), rest)),
        _ => None,
    }
}

/// `err=0 tag=101 nentries=1[ wtime=0.000091024 optime=0.000464531] etime=0.000554371` and the end of the line; also
/// returns the lines after it.
#[inline(always)]
pub fn plain_result(text: &[u8]) -> Option<(ResultFields<'static>, &[u8])> {
    let (result_head, text) = result_head(text)?;
    let outcome = ResultFields {
        kind: result_head.kind,
        err: result_head.err,
        entries: result_head.entries,
        ..ResultFields::default()
    };
    if let Some(([wait, optime, etime], rest)) = three_durations(text) {
        return Some((ResultFields { etime: Some(etime), wait: Some(wait), optime: Some(optime), ..outcome }, rest));
    }
    let (etime, rest) = last_duration(text)?;
    Some((ResultFields { etime: Some(etime), ..outcome }, rest))
}

/// ` wtime=0.000091024 optime=0.000464531 etime=0.000554371\n`.
#[inline(always)]
fn three_durations(text: &[u8]) -> Option<([i64; 3], &[u8])> {
    let (durations, rest) = text.split_first_chunk::<DURATIONS>()?;
    let (wait, durations) = nine(durations.strip_prefix(b" wtime=0.")?)?;
    let (optime, durations) = nine(durations.strip_prefix(b" optime=0.")?)?;
    let (etime, _) = nine(durations.strip_prefix(b" etime=0.")?)?;
    (durations.last() == Some(&b'\n')).then_some(([wait, optime, etime], rest))
}

/// ` etime=0.000554371` and the end of the line.
#[inline(always)]
fn last_duration(text: &[u8]) -> Option<(i64, &[u8])> {
    let (etime, text) = nine(text.strip_prefix(b" etime=0.")?)?;
    if text.is_empty() { Some((etime, text)) } else { text.strip_prefix(b"\n").map(|rest| (etime, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_result_is_whole() {
        let text = b"err=0 tag=101 nentries=1 wtime=0.000091024 optime=0.000464531 etime=0.000554371\nnext";

        let (outcome, rest) = plain_result(text).unwrap();

        let durations = (outcome.wait, outcome.optime, outcome.etime);
        assert_eq!((durations, rest), ((Some(91_024), Some(464_531), Some(554_371)), &b"next"[..]));
        let (outcome, rest) = plain_result(b"err=0 tag=101 nentries=1 etime=0.000554371").unwrap();
        assert_eq!((outcome.wait, outcome.optime, outcome.etime, rest), (None, None, Some(554_371), &b""[..]));
        assert!(plain_result(b"err=0 tag=101 nentries=1 etime=0.000554371 notes=A\n").is_none());
        assert!(plain_result(b"err=0 tag=48 nentries=1 etime=0.000554371\n").is_none());
    }

    #[test]
    fn a_short_number_of_an_operation_ends_at_its_blank() {
        assert_eq!(short_operation(b" op=7 SRCH"), Some((7, &b"SRCH"[..])));
        assert_eq!(short_operation(b" op=42 "), Some((42, &b""[..])));
        for text in [&b" op=123 x"[..], b" op=-1 x", b" op= x", b" op=1", b" op=1x ", b"op=1 x"] {
            assert_eq!(short_operation(text), None);
        }
    }
}
