//! Results: the head, the durations of any version, and text of the client.
//!
//! ```text
//! err=0 tag=101 nentries=1 wtime=0.000091024 optime=0.000464531 etime=0.000554371 notes=P,A details="..." pr_idx=0 pr_cookie=-1
//! err=0 tag=97 nentries=0 etime=0.000554371 sid="..." dn="uid=quickr,dc=x"
//! ```

use memchr::{memchr, memrchr_iter};

use crate::fields::{before, digits, is_space, is_word, number, signed, trimmed, word};
use crate::operation_kinds::{BIND, OperationKind, SEARCH, of_tag};
use crate::result_fields::ResultFields;
use crate::scan::Scan;
use crate::stamps;

/// The head of a result: `err=0 tag=101 nentries=1`.
#[derive(Clone, Copy)]
pub struct ResultHead {
    /// The result code.
    pub err: i64,
    /// The kind of the operation.
    pub kind: OperationKind,
    /// Entries returned.
    pub entries: i64,
}

/// Reads `err=0 tag=101 nentries=1`, and returns the rest; tag 48 is internal to the server.
#[inline(always)]
pub fn result_head(text: &[u8]) -> Option<(ResultHead, &[u8])> {
    const USUAL: &[u8; 23] = b"err=0 tag=101 nentries=";
    if let Some((entries, rest)) = text.strip_prefix(USUAL).and_then(|text| number(text, 10)) {
        return Some((ResultHead { err: 0, kind: SEARCH, entries }, rest));
    }
    let (err, text) = signed(text.strip_prefix(b"err=")?, 10)?;
    let text = text.strip_prefix(b" tag=")?;
    if text.starts_with(b"48 ") {
        return None;
    }
    let (tag, text) = number(text, 10)?;
    let (entries, rest) = signed(text.strip_prefix(b" nentries=")?, 10)?;
    Some((ResultHead { err, kind: of_tag(tag), entries: entries.max(0) }, rest))
}

/// Reads the tail of a result; returns whether it is understood.
pub fn read_result(log: &mut Scan, conn: i64, op: i64, time: i64, result_head: ResultHead, tail: &[u8]) -> bool {
    let (timings, rest) = ResultTail::read(tail);
    let rest = trimmed(rest);
    if is_faulty(rest) {
        return false;
    }
    if let Some((busy, threads, queued)) = timings.workers {
        log.workers_busy(time, busy, threads, queued);
    }
    let ResultHead { err, kind, entries } = result_head;
    let [etime, wait, optime] =
        [timings.etime, timings.wait.or(timings.queued), timings.optime].map(|seconds| seconds.map(duration_of));
    let notes = timings.notes;
    let mut outcome = ResultFields { kind, err, etime, wait, optime, entries, notes, ..ResultFields::default() };
    if kind == BIND && err == 0 {
        outcome.account = account(rest);
    } else if let Some(pages) = ResultPage::read(rest) {
        outcome.notes = if timings.notes.is_empty() { pages.notes } else { timings.notes };
        (outcome.page, outcome.pages_end) = (Some(pages.index), pages.end);
    }
    log.result(conn, op, time, &outcome);
    true
}

/// What may follow nentries=: the durations of any version, and the notes. Text of the client comes after it.
///
/// ```text
/// ( (wqtime|wtime|optime|writetime|etime)=S){0,5}[ wbusy=N/N wqdepth=N][ notes=N[ details="D"]][ csn=W]
/// ```
#[derive(Default)]
struct ResultTail<'a> {
    queued: Option<&'a [u8]>,
    wait: Option<&'a [u8]>,
    optime: Option<&'a [u8]>,
    etime: Option<&'a [u8]>,
    /// Busy threads, all threads, operations in the queue.
    workers: Option<Workers>,
    notes: &'a [u8],
}

impl<'a> ResultTail<'a> {
    fn read(mut text: &'a [u8]) -> (Self, &'a [u8]) {
        let mut timings = ResultTail::default();
        for _ in 0..5 {
            let Some(rest) = timings.read_timing(text) else { break };
            text = rest;
        }
        if let Some((busy, rest)) = workers(text) {
            (timings.workers, text) = (Some(busy), rest);
        }
        if let Some((notes, rest)) = noted(text) {
            (timings.notes, text) = (notes, rest);
        }
        if let Some((_, rest)) = text.strip_prefix(b" csn=").and_then(|csn| word(csn, 80)) {
            text = rest;
        }
        (timings, text)
    }

    /// ` name=` and `-?\d{1,9}(\.\d{1,12})?`, of any duration: returns the rest.
    fn read_timing(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        let mut unused = None;
        let (duration, value) = match text.strip_prefix(b" ")? {
            [b'w', b't', b'i', b'm', b'e', b'=', value @ ..] => (&mut self.wait, value),
            [b'o', b'p', b't', b'i', b'm', b'e', b'=', value @ ..] => (&mut self.optime, value),
            [b'e', b't', b'i', b'm', b'e', b'=', value @ ..] => (&mut self.etime, value),
            [b'w', b'q', b't', b'i', b'm', b'e', b'=', value @ ..] => (&mut self.queued, value),
            text => (&mut unused, text.strip_prefix(b"writetime=")?),
        };
        let (_, mut rest) = digits(value.strip_prefix(b"-").unwrap_or(value), 9)?;
        if let Some((_, behind)) = rest.strip_prefix(b".").and_then(|fraction| digits(fraction, 12)) {
            rest = behind;
        }
        if rest.first().is_some_and(|&byte| !is_space(byte) && byte != b',') {
            return None;
        }
        *duration = Some(before(value, rest));
        Some(rest)
    }
}

/// Busy worker threads, worker threads, and operations that wait for one.
type Workers = (i64, i64, i64);

/// ` wbusy=8/16 wqdepth=3`.
fn workers(text: &[u8]) -> Option<(Workers, &[u8])> {
    let (busy, text) = number(text.strip_prefix(b" wbusy=")?, 9)?;
    let (threads, text) = number(text.strip_prefix(b"/")?, 9)?;
    let (queued, text) = number(text.strip_prefix(b" wqdepth=")?, 9)?;
    text.first().is_none_or(|&byte| is_space(byte)).then_some(((busy, threads, queued), text))
}

/// Returns whether something is not in its place, or no number of such a size.
fn is_faulty(rest: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [b"wqtime=", b"wtime=", b"optime=", b"writetime=", b"etime=", b"wbusy="];
    let Some((&first, text)) = rest.split_first() else { return false };
    (!is_space(first) && first != b',') || (first == b' ' && NAMES.iter().any(|name| text.starts_with(name)))
}

/// ` notes=P,A`, perhaps with details; letters are separate words.
fn noted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" notes=")?;
    let mut end = 1;
    if !text.first()?.is_ascii_uppercase() {
        return None;
    }
    while end < 41 && matches!(text.get(end..end + 2), Some([b',', b'A'..=b'Z'])) {
        end += 2;
    }
    if text.get(end).is_some_and(|&byte| is_word(byte)) {
        end = end.checked_sub(2).filter(|&end| end > 0)?;
    }
    let (notes, rest) = text.split_at(end);
    let details = rest.strip_prefix(b" details=\"").and_then(|details| details.get(memchr(b'"', details)? + 1..));
    Some((notes, details.unwrap_or(rest)))
}

/// A page of a paged search (RFC 2696); cookie -1 is the last. The session id comes from the client.
///
/// ```text
/// [ sid="..."[ notes=N[ details="D"]]] pr_idx=0 pr_cookie=-1[ sid="..."]
/// ```
struct ResultPage<'a> {
    notes: &'a [u8],
    index: i64,
    end: bool,
}

impl<'a> ResultPage<'a> {
    /// A session id ends at its last possible end, preferably one with notes after it.
    fn read(text: &'a [u8]) -> Option<Self> {
        let Some(session) = text.strip_prefix(b" sid=\"") else { return Self::page(text, b"") };
        let behind = || memrchr_iter(b'"', session).map(|end| &session[end + 1..]);
        let with_notes = |text| noted(text).and_then(|(notes, rest)| Self::page(rest, notes));
        behind().find_map(with_notes).or_else(|| behind().find_map(|text| Self::page(text, b"")))
    }

    fn page(text: &[u8], notes: &'a [u8]) -> Option<Self> {
        let (index, text) = number(text.strip_prefix(b" pr_idx=")?, 9)?;
        let cookie = text.strip_prefix(b" pr_cookie=")?;
        let (_, rest) = digits(cookie.strip_prefix(b"-").unwrap_or(cookie), 9)?;
        (rest.is_empty() || rest.starts_with(b" sid=\"")).then(|| ResultPage {
            notes,
            index,
            end: before(cookie, rest) == b"-1",
        })
    }
}

/// The DN at the end of a bind's result; the client's session id may come before it.
fn account(rest: &[u8]) -> Option<&[u8]> {
    let quote = memrchr_iter(b'"', rest).find(|&quote| rest[..quote].ends_with(b" dn="))?;
    let (session, dn) = (&rest[..quote - b" dn=".len()], rest[quote + 1..].strip_suffix(b"\"")?);
    (session.is_empty() || session.starts_with(b" sid=\"")).then_some(dn)
}

/// The nanoseconds of a duration; 0 for a negative one, which some servers log when the clock is set back.
pub fn duration_of(seconds: &[u8]) -> i64 {
    if seconds.starts_with(b"-") { 0 } else { stamps::duration(seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_where_the_server_puts_them() {
        let (timings, rest) = ResultTail::read(b" wqtime=1 etime=0.5 notes=U,AB sid=\"\" etime=9");

        assert_eq!((timings.queued, timings.wait, timings.etime), (Some(&b"1"[..]), None, Some(&b"0.5"[..])));
        assert_eq!((timings.notes, rest), (&b"U"[..], &b",AB sid=\"\" etime=9"[..]));
        let (timings, rest) = ResultTail::read(b" wtime=1 optime=-2.5, wbusy=1/2 wqdepth=3");
        assert_eq!((timings.optime, timings.workers, rest), (Some(&b"-2.5"[..]), None, &b", wbusy=1/2 wqdepth=3"[..]));
        assert_eq!(ResultTail::read(b" wbusy=1/2 wqdepth=3").0.workers, Some((1, 2, 3)));
    }

    #[test]
    fn what_is_no_number_is_not_passed_over() {
        for tail in [&b"e9"[..], b" etime=1e999", b" etime=0.1.2", b" optime=1234567890", b" wbusy=1/2 wqdepth=x"] {
            assert!(is_faulty(ResultTail::read(tail).1));
        }
        for tail in [&b""[..], b" etime=1", b", SASL bind in progress", b" etime=0.5 - text etime=x"] {
            assert!(!is_faulty(ResultTail::read(tail).1));
        }
    }

    #[test]
    fn a_session_id_may_hold_what_a_server_writes() {
        let pages =
            ResultPage::read(b" sid=\"a\" pr_idx=1 pr_cookie=7\" notes=P details=\"x\" pr_idx=2 pr_cookie=-1 sid=\"a")
                .unwrap();

        assert_eq!((pages.notes, pages.index, pages.end), (&b"P"[..], 2, true));
        assert_eq!(
            ResultPage::read(b" sid=\"\" pr_idx=1 pr_cookie=7").map(|pages| (pages.index, pages.end)),
            Some((1, false))
        );
        assert!(ResultPage::read(b" pr_idx=1 pr_cookie=7 x").is_none());
    }

    #[test]
    fn the_dn_of_a_bind_stands_last() {
        assert_eq!(account(b" sid=\"x dn=\"\" dn=\"cn=a\""), Some(&b"cn=a"[..]));
        assert_eq!(account(b" dn=\""), None);
        assert_eq!(account(b" x dn=\"cn=a\""), None);
    }
}
