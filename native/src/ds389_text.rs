//! The text access log of 389-ds, RHDS, FreeIPA and Netscape Directory Server, of all versions.
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
//! A quote in a base, a filter or a DN is not escaped, and a client can put ` notes=A` into any of them. So each field is
//! read at its position, never searched for. Source: ldap/servers/slapd/result.c, opshared.c, connection.c.

mod fixed_forms;
mod outside;

use fixed_forms::{UsualStamp, plain_result, short_operation};
use outside::outside;
pub use outside::read_header;

use crate::ds389_lines::{base_and_scope, filter, read_event, read_request, read_result, result_head};
use crate::fields::{before, digits, first_line, number, signed, trimmed};
use crate::fields::{is_space, like, run};
use crate::scan::Scan;
use crate::stamps::{NANOSECONDS, nanoseconds, netscape_in};

/// Bytes kept of a line that no rule matches.
const SAMPLE: usize = 200;

/// Reads whole lines.
///
/// Most lines have the second of the line before, and most of these are plain results below a second, and searches.
/// [`usual`] reads them with the fewest checks, and leaves all others to [`line`].
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = TextClock::default();
    let mut rest = data;
    while !rest.is_empty() {
        rest = match usual(log, clock.usual.as_ref(), rest) {
            Some(rest) => rest,
            None => {
                let (text, rest) = first_line(rest);
                line(log, &mut clock, text);
                rest
            }
        };
        log.lines(1);
    }
}

/// Reads a line with the current second and returns the lines after it; `None`, with nothing counted, for any other.
#[inline(always)]
fn usual<'a>(log: &mut Scan, stamp: Option<&UsualStamp>, text: &'a [u8]) -> Option<&'a [u8]> {
    let (time, text) = stamp?.read(text)?;
    let (conn, event) = number(text, 18)?;
    let Some((op, request)) = short_operation(event).or_else(|| operation(event.strip_prefix(b" ")?)) else {
        let (event, rest) = first_line(event.strip_prefix(b" ")?);
        return read_event(log, conn, time, trimmed(event)).then_some(rest);
    };
    if request.first() == Some(&b'R') {
        return usual_result(log, conn, op, time, request);
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

#[inline(always)]
fn usual_result<'a>(log: &mut Scan, conn: i64, op: i64, time: i64, request: &'a [u8]) -> Option<&'a [u8]> {
    if let Some((outcome, rest)) = request.strip_prefix(b"RESULT ").and_then(plain_result) {
        log.result(conn, op, time, &outcome);
        return Some(rest);
    }
    let (request, rest) = first_line(request);
    read_operation(log, conn, op, time, request).then_some(rest)
}

/// The current second, and the zone and resolution reported for it.
#[derive(Default)]
pub struct TextClock<'a> {
    began: i64,
    stamp: &'a [u8],
    zone: &'a [u8],
    /// The stamps of usual lines with this second.
    usual: Option<UsualStamp>,
    missing_digits: usize,
}

impl<'a> TextClock<'a> {
    /// Returns the time of a stamp, and keeps the clock's zone and resolution; `None` for an invalid time.
    pub fn read(&mut self, log: &mut Scan, stamp: &TextStamp<'a>) -> Option<i64> {
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
        self.usual = UsualStamp::of(self.began, stamp.second, stamp.zone);
        Some(())
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

/// The time up to the second, its fraction, the zone; a container's name may come before it.
///
/// ```text
/// ([^\s="\[]{1,255} {1,80}\| )?\[(\d\d/[^/\s]{3,12}/\d{4}:\d\d:\d\d:\d\d)(\.(\d{1,9}))? ?([+-]\d{4}|Z)\]
/// ```
pub struct TextStamp<'a> {
    second: &'a [u8],
    fraction: &'a [u8],
    zone: &'a [u8],
}

impl<'a> TextStamp<'a> {
    /// Reads a stamp and the blank after it.
    pub fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
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

    /// The line of a record, approximately, up to the bytes kept.
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

/// `conn=\d{1,18} `, and the rest of the line.
fn connection(text: &[u8]) -> Option<(i64, &[u8])> {
    let (conn, rest) = number(text.strip_prefix(b"conn=")?, 18)?;
    Some((conn, rest.strip_prefix(b" ")?))
}

/// `op=-?\d{1,10} `, and the rest of the line.
#[inline(always)]
fn operation(event: &[u8]) -> Option<(i64, &[u8])> {
    let (op, rest) = signed(event.strip_prefix(b"op=")?, 10)?;
    Some((op, rest.strip_prefix(b" ")?))
}

/// Reads a line of an operation; returns whether it is understood.
fn read_operation(log: &mut Scan, conn: i64, op: i64, time: i64, request: &[u8]) -> bool {
    if let Some((result_head, tail)) = request.strip_prefix(b"RESULT ").and_then(result_head) {
        return read_result(log, conn, op, time, result_head, tail);
    }
    read_request(log, conn, op, time, trimmed(request))
}

/// Returns whether this is a result or a search: the reference keeps no text of these when their stamp is invalid.
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
    fn stamps_of_every_version_are_read() {
        let second = &b"20/Nov/2026:08:45:20"[..];

        assert_eq!(read("[20/Nov/2026:08:45:20.75 +0000] x"), Some([second, b"75", b"+0000", b"x"]));
        assert_eq!(read("ds-0  | [20/Nov/2026:08:45:20Z] "), Some([second, b"", b"Z", b""]));
        for text in
            ["[20/No/2026:08:45:20 Z] ", "[20/Nov/2026:08:45:20.1234567890 Z] ", "[20/Nov/2026:08:45:20 Z]", "| [", ""]
        {
            assert_eq!(read(text), None);
        }
    }
}
