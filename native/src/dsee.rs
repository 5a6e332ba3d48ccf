//! The access log of Sun Directory Server 5.2 and DSEE 6 to 11g: that of 389-ds, with message ids.
//!
//! ```text
//! [18/Aug/2006:15:41:17 +0200] conn=13 op=-1 msgId=-1 - fd=23 slot=23 LDAP connection from 10.1.1.1:42001 to 10.1.1.2
//! [18/Aug/2006:15:41:17 +0200] conn=13 op=1 msgId=2 - SRCH base="dc=x" scope=2 filter="(cn=a)" attrs=ALL
//! [18/Aug/2006:15:41:17 +0200] conn=13 op=1 msgId=2 - RESULT err=0 tag=101 nentries=1 etime=0 notes=U
//! [18/Aug/2006:15:41:18 +0200] conn=13 op=2 msgId=-1 - closing - U1
//! [18/Aug/2006:15:41:19 +0200] conn=13 op=-1 msgId=-1 - closed.
//! ```
//!
//! A close is two lines, of which the first has the close code.
//! Source: Sun Java System Directory Server Administration Reference, "Access Logs".

use crate::ds389_lines::{is_request, read_event, read_request, read_result, result_head};
use crate::ds389_text::{TextClock, TextStamp, read_header};
use crate::fields::{any, before, digits, first_line, is_space, is_word, number, signed, trimmed, word};
use crate::scan::Scan;

/// Reads whole lines.
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = TextClock::default();
    let mut rest = data;
    while !rest.is_empty() {
        let (text, behind) = first_line(rest);
        line(log, &mut clock, text);
        log.lines(1);
        rest = behind;
    }
}

fn line<'a>(log: &mut Scan, clock: &mut TextClock<'a>, text: &'a [u8]) {
    let parts = TextStamp::read(text).and_then(|(stamp, rest)| Some((stamp, Numbers::read(rest)?)));
    let Some((stamp, (numbers, message))) = parts else { return read_header(log, text) };
    let Some(time) = clock.read(log, &stamp) else { return log.misread(trimmed(text)) };
    let Some(conn) = numbers.conn else { return internal(log, message) };
    let is_understood = match message.strip_prefix(b"RESULT ").and_then(result_head) {
        Some((result_head, tail)) => read_result(log, conn, numbers.op, time, result_head, tail),
        None => read_line(log, conn, numbers.op, time, trimmed(message)),
    };
    if !is_understood {
        log.misread(trimmed(text));
    }
}

/// The numbers of a connection and of an operation.
struct Numbers {
    /// `None`: an internal operation.
    conn: Option<i64>,
    op: i64,
}

impl Numbers {
    /// Reads them, and returns the message.
    ///
    /// ```text
    /// conn=(\d{1,18}|Internal\S{0,25}) op=-?\d{1,10}(\(\S{0,40})? msgId=-?\d{1,10} - .*
    /// ```
    fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        let text = text.strip_prefix(b"conn=")?;
        let (conn, rest) = match text.strip_prefix(b"Internal") {
            Some(text) => (None, any(text, 25, |byte| !is_space(byte)).1),
            None => number(text, 18).map(|(conn, rest)| (Some(conn), rest))?,
        };
        let (op, rest) = signed(rest.strip_prefix(b" op=")?, 10)?;
        let rest = rest.strip_prefix(b"(").map_or(rest, |text| any(text, 40, |byte| !is_space(byte)).1);
        let (_, rest) = signed(rest.strip_prefix(b" msgId=")?, 10)?;
        Some((Numbers { conn, op }, rest.strip_prefix(b" - ")?))
    }
}

/// Reads a line that is no result; returns whether it is understood.
fn read_line(log: &mut Scan, conn: i64, op: i64, time: i64, text: &[u8]) -> bool {
    if matches!(text, b"closed" | b"closed.") {
        log.passed_over(1);
    } else if let Some(code) = closing(text) {
        log.closed(conn, time, code);
    } else {
        return read_request(log, conn, op, time, text) || read_event(log, conn, time, text);
    }
    true
}

/// `closing( from \S{1,255})?( - [A-Z]\d{1,2}\b.*)?`: the close code, if there is one.
fn closing(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"closing")?;
    let rest = text.strip_prefix(b" from ").and_then(|text| word(text, 255)).map_or(text, |(_, rest)| rest);
    if rest.is_empty() {
        return Some(b"");
    }
    let code = rest.strip_prefix(b" - ")?;
    let (_, behind) = digits(code.get(1..)?, 2)?;
    let is_code = code[0].is_ascii_uppercase() && !behind.first().is_some_and(|&byte| is_word(byte));
    is_code.then(|| before(code, behind))
}

fn internal(log: &mut Scan, message: &[u8]) {
    if is_request(message) {
        log.internal();
    } else {
        log.passed_over(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_may_have_a_client_and_a_code() {
        assert_eq!(closing(b"closing - U1"), Some(&b"U1"[..]));
        assert_eq!(closing(b"closing from 10.1.1.1:42001 - B12 - text"), Some(&b"B12"[..]));
        assert_eq!(closing(b"closing from 10.1.1.1:42001"), Some(&b""[..]));
        for text in [&b"closing - u1"[..], b"closing - U123", b"closing from ", b"closing - U1x", b"closed"] {
            assert_eq!(closing(text), None);
        }
    }
}
