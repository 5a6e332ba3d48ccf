//! The access log of 389-ds as text, of RHDS, FreeIPA and Netscape's: every era.
//!
//! ```text
//! \t389-Directory/2.3.1 B2025.016.1616
//! \tlocalhost:13389 (/etc/dirsrv/slapd-corp1)
//!
//! [20/Nov/2026:08:45:20.751921248 +0000] conn=1 fd=64 slot=64 connection from 127.0.0.11 to 127.0.0.1
//! [20/Nov/2026:08:45:20.752174123 +0000] conn=1 op=0 BIND dn="uid=quickr,dc=x" method=128 version=3
//! [20/Nov/2026:08:45:20.752605431 +0000] conn=1 op=0 RESULT err=0 tag=97 nentries=0 wtime=0.000091024 \
//! optime=0.000464531 etime=0.000554371 dn="uid=quickr,dc=x"
//! [20/Nov/2026:08:45:20.753093512 +0000] conn=1 op=1 SRCH base="dc=x" scope=2 filter="(sn=a"b)" attrs="cn mail"
//! [27/Apr/2015:13:16:35 -0400] conn=11 op=1 RESULT err=0 tag=101 nentries=1 etime=0 notes=U
//! [20/Nov/2026:08:45:20.812307811 +0000] conn=1 op=2 fd=64 Disconnect - Cleanly Closed Connection - U1
//! [20/Nov/2026:08:48:22.151829727 +0000] conn=2 (Internal) op=0(1)(1) SRCH base="dc=x" scope=0 filter="(cn=*)" ...
//! ```
//!
//! A quote in a base, a filter or a DN is not escaped, and a client can write ` notes=A` into any of them: each field is
//! read where the server puts it, never looked for. Source: ldap/servers/slapd/result.c, opshared.c, connection.c.

mod outside;

use memchr::memchr;
use outside::{outside, read_header};

use crate::ds389_lines::{base_and_scope, filter, read_event, read_request, read_result, result_head};
use crate::fields::{before, digits, nine, number, signed, trimmed};
use crate::fields::{is_space, like, run};
use crate::result_fields::ResultFields;
use crate::scan::Scan;
use crate::stamps::{NANOSECONDS, nanoseconds, netscape_in};

/// Of `[20/Nov/2026:08:45:20.751921248 +0000] conn=1 `, the usual stamp, what stands before and behind the fraction.
const BEFORE: usize = b"[20/Nov/2026:08:45:20.".len();
const BEHIND: usize = b" +0000] conn=".len();
/// How much of a line is kept that no rule fits.
const SAMPLE: usize = 200;

/// Reads whole lines.
///
/// Most lines of any log are stamped with a second that is known, and most of these are plain results below a second,
/// and searches: there nothing is asked that need not be. What is asked here and not answered is asked by [`line`].
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = TextClock::default();
    let mut rest = data;
    while !rest.is_empty() {
        rest = match usual(log, &clock, rest) {
            Some(rest) => rest,
            None => {
                let (text, rest) = first_line(rest);
                line(log, &mut clock, text);
                rest
            }
        };
        if log.is_over() {
            return;
        }
        log.lines(1);
    }
}

/// Reads a line of a known second and returns the lines behind it; None, and nothing is told, if it is no such line.
#[inline(always)]
fn usual<'a>(log: &mut Scan, clock: &TextClock, text: &'a [u8]) -> Option<&'a [u8]> {
    let (time, text) = clock.known(text)?;
    let (conn, event) = number(text, 18)?;
    let event = event.strip_prefix(b" ")?;
    let Some((op, request)) = operation(event) else {
        let (event, rest) = first_line(event);
        return read_event(log, conn, time, trimmed(event)).then_some(rest);
    };
    if let Some((outcome, rest)) = request.strip_prefix(b"RESULT ").and_then(plain_result) {
        log.result(conn, op, time, &outcome);
        return Some(rest);
    }
    let (request, rest) = first_line(request);
    if let Some((base, scope, text)) = request.strip_prefix(b"SRCH base=\"").and_then(base_and_scope)
        && let Some(filter) = filter(text)
    {
        log.search(conn, op, time, base, scope, filter);
        return Some(rest);
    }
    read_operation(log, conn, op, time, request).then_some(rest)
}

/// The second that stamps were last of, and what has been told of them.
#[derive(Default)]
struct TextClock<'a> {
    began: i64,
    stamp: &'a [u8],
    zone: &'a [u8],
    /// The usual line of this second begins so.
    before: Option<[u8; BEFORE]>,
    behind: [u8; BEHIND],
    missing_digits: usize,
}

impl<'a> TextClock<'a> {
    /// The time of a usual stamp of this second, and what stands behind `conn=`.
    #[inline(always)]
    fn known<'t>(&self, text: &'t [u8]) -> Option<(i64, &'t [u8])> {
        let (before, text) = text.split_first_chunk()?;
        if self.before.as_ref() != Some(before) {
            return None;
        }
        let (fraction, text) = nine(text)?;
        let (behind, text) = text.split_first_chunk()?;
        (*behind == self.behind).then_some((self.began + fraction, text))
    }

    /// When a line was written, and tells of the clock; None if it is no time.
    fn read(&mut self, log: &mut Scan, stamp: &TextStamp<'a>) -> Option<i64> {
        if stamp.second != self.stamp || stamp.zone != self.zone {
            self.second_of(log, stamp)?;
        }
        let missing = NANOSECONDS.saturating_sub(stamp.fraction.len());
        if missing > self.missing_digits {
            self.missing_digits = missing;
            log.resolution(10_i64.pow(missing as u32));
        }
        Some(self.began + nanoseconds(stamp.fraction))
    }

    fn second_of(&mut self, log: &mut Scan, stamp: &TextStamp<'a>) -> Option<()> {
        self.began = netscape_in(stamp.second, stamp.zone)?;
        if stamp.zone != self.zone {
            log.clock(Some(stamp.zone));
        }
        (self.stamp, self.zone) = (stamp.second, stamp.zone);
        self.before = None;
        if self.stamp.len() == BEFORE - 2 && self.zone.len() == 5 {
            self.before = [b"[", self.stamp, b"."].concat().try_into().ok();
            self.behind = [b" ", self.zone, b"] conn="].concat().try_into().unwrap_or_default();
        }
        Some(())
    }
}

/// `err=0 tag=101 nentries=1[ wtime=0.000091024 optime=0.000464531] etime=0.000554371` and the end of the line; returns
/// the lines behind it.
#[inline(always)]
fn plain_result(text: &[u8]) -> Option<(ResultFields<'static>, &[u8])> {
    let (result_head, mut text) = result_head(text)?;
    let mut wait = None;
    if let Some(waited) = text.strip_prefix(b" wtime=0.") {
        let (nanoseconds, behind) = nine(waited)?;
        (_, text) = nine(behind.strip_prefix(b" optime=0.")?)?;
        wait = Some(nanoseconds);
    }
    let (etime, text) = nine(text.strip_prefix(b" etime=0.")?)?;
    let rest = if text.is_empty() { text } else { text.strip_prefix(b"\n")? };
    let outcome = ResultFields {
        kind: result_head.kind,
        err: result_head.err,
        entries: result_head.entries,
        ..ResultFields::default()
    };
    Some((ResultFields { etime: Some(etime), wait, ..outcome }, rest))
}

/// A line, and the lines behind it.
#[inline(always)]
fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, b""),
    }
}

/// Reads any line.
fn line<'a>(log: &mut Scan, clock: &mut TextClock<'a>, text: &'a [u8]) {
    let Some((stamp, rest)) = TextStamp::read(text) else { return read_header(log, text) };
    let Some((conn, event)) = connection(rest) else { return outside(log, text, rest) };
    let operation = operation(event);
    let Some(time) = clock.read(log, &stamp) else {
        let unkept = operation.filter(|(_, request)| is_usual(request)).map_or(0, |(_, request)| request.len());
        return log.misread(&stamp.sample(&rest[..rest.len() - unkept]));
    };
    let is_understood = match operation {
        Some((op, request)) => read_operation(log, conn, op, time, request),
        None => read_event(log, conn, time, trimmed(event)),
    };
    if !is_understood {
        log.misread(&stamp.sample(rest));
    }
}

/// The time up to the second, its fraction, the zone; perhaps after the name of a container.
///
/// ```text
/// ([^\s="\[]{1,255} {1,80}\| )?\[(\d\d/[^/\s]{3,12}/\d{4}:\d\d:\d\d:\d\d)(\.(\d{1,9}))? ?([+-]\d{4}|Z)\]
/// ```
struct TextStamp<'a> {
    second: &'a [u8],
    fraction: &'a [u8],
    zone: &'a [u8],
}

impl<'a> TextStamp<'a> {
    /// Reads a stamp and the blank behind it.
    fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let text = container(text).unwrap_or(text).strip_prefix(b"[")?;
        let (month, rest) = run(like(b"00/", text)?, 12, |byte| byte != b'/' && !is_space(byte))?;
        let rest = like(b"/0000:00:00:00", rest).filter(|_| month.len() >= 3)?;
        let second = before(text, rest);
        let (fraction, rest) = rest.strip_prefix(b".").and_then(|rest| digits(rest, 9)).unwrap_or((b"", rest));
        let zoned = rest.strip_prefix(b" ").unwrap_or(rest);
        let rest = zoned.strip_prefix(b"Z").or_else(|| like(b"+0000", zoned)).or_else(|| like(b"-0000", zoned))?;
        let zone = before(zoned, rest);
        Some((TextStamp { second, fraction, zone }, rest.strip_prefix(b"] ")?))
    }

    /// About the line that a record was, as far as it is kept.
    fn sample(&self, rest: &[u8]) -> Vec<u8> {
        let rest = &rest[..rest.len().min(SAMPLE)];
        [b"[", self.second, b".", self.fraction, b" ", self.zone, b"] ", rest].concat()
    }
}

/// `[^\s="\[]{1,255} {1,80}\| `, which docker compose writes before a line.
fn container(text: &[u8]) -> Option<&[u8]> {
    let (_, rest) = run(text, 255, |byte| !is_space(byte) && !b"=\"[".contains(&byte))?;
    let (_, rest) = run(rest, 80, |byte| byte == b' ')?;
    rest.strip_prefix(b"| ")
}

/// `conn=\d{1,18} `, and what a connection or an operation says.
fn connection(text: &[u8]) -> Option<(i64, &[u8])> {
    let (conn, rest) = number(text.strip_prefix(b"conn=")?, 18)?;
    Some((conn, rest.strip_prefix(b" ")?))
}

/// `op=-?\d{1,10} `, and what an operation says.
#[inline(always)]
fn operation(event: &[u8]) -> Option<(i64, &[u8])> {
    let (op, rest) = signed(event.strip_prefix(b"op=")?, 10)?;
    Some((op, rest.strip_prefix(b" ")?))
}

/// Reads what an operation says; tells whether it is understood.
fn read_operation(log: &mut Scan, conn: i64, op: i64, time: i64, request: &[u8]) -> bool {
    if let Some((result_head, tail)) = request.strip_prefix(b"RESULT ").and_then(result_head) {
        read_result(log, conn, op, time, result_head, tail);
        return true;
    }
    read_request(log, conn, op, time, trimmed(request))
}

/// Whether it is a result or a search: the Python reference does not keep the text of these when their stamp is no time.
fn is_usual(request: &[u8]) -> bool {
    let filter_of = |text| base_and_scope(text).and_then(|(_, _, text)| filter(text));
    request.strip_prefix(b"RESULT ").and_then(result_head).is_some()
        || request.strip_prefix(b"SRCH base=\"").and_then(filter_of).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<[&[u8]; 4]> {
        TextStamp::read(text.as_bytes()).map(|(stamp, rest)| [stamp.second, stamp.fraction, stamp.zone, rest])
    }

    #[test]
    fn stamps_of_every_era_are_read() {
        let second = &b"20/Nov/2026:08:45:20"[..];

        assert_eq!(read("[20/Nov/2026:08:45:20.75 +0000] x"), Some([second, b"75", b"+0000", b"x"]));
        assert_eq!(read("ds-0  | [20/Nov/2026:08:45:20Z] "), Some([second, b"", b"Z", b""]));
        for text in
            ["[20/No/2026:08:45:20 Z] ", "[20/Nov/2026:08:45:20.1234567890 Z] ", "[20/Nov/2026:08:45:20 Z]", "| [", ""]
        {
            assert_eq!(read(text), None);
        }
    }

    #[test]
    fn a_plain_result_is_whole() {
        let text = b"err=0 tag=101 nentries=1 wtime=0.000091024 optime=0.000464531 etime=0.000554371\nnext";

        let (outcome, rest) = plain_result(text).unwrap();

        assert_eq!((outcome.wait, outcome.etime, rest), (Some(91_024), Some(554_371), &b"next"[..]));
        assert!(plain_result(b"err=0 tag=101 nentries=1 etime=0.000554371 notes=A\n").is_none());
        assert!(plain_result(b"err=0 tag=48 nentries=1 etime=0.000554371\n").is_none());
    }
}
