//! slapd's log at level stats (256), alone or with others (filter, sync), of OpenLDAP 2.3 to 2.7.
//!
//! ```text
//! conn=1001 fd=16 ACCEPT from IP=127.0.0.11:32917 (IP=0.0.0.0:13390)
//! conn=1001 op=0 BIND dn="uid=quickr,ou=services,dc=example,dc=com" method=128
//! conn=1001 op=0 BIND dn="uid=quickr,ou=services,dc=example,dc=com" mech=SIMPLE bind_ssf=0 ssf=0    if it succeeded
//! conn=1001 op=0 RESULT tag=97 err=0 qtime=0.000022 etime=0.000166 text=
//! conn=1001 op=1 SRCH base="dc=example,dc=com" scope=2 deref=3 filter="(cn=*jos*)"
//! conn=1001 op=1 SRCH attr=cn mail
//! <= mdb_substring_candidates: (displayName) not indexed                     2.4: always; 2.5+: level filter (32)
//! conn=1001 op=1 SEARCH RESULT tag=101 err=4 qtime=0.000011 etime=0.005531 nentries=100 text=
//! conn=1001 op=2 EXT oid=1.3.6.1.4.1.4203.1.11.3        and a second line with its name: WHOAMI
//! conn=1001 op=2 RESULT oid= err=0 qtime=0.000004 etime=0.000031 text=
//! conn=1001 op=3 MOD dn="uid=joe,dc=example,dc=com"
//! conn=1001 op=3 MOD attr=description cn;lang-fr         and more such lines, of 4096 bytes each
//! conn=1001 fd=16 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384
//! conn=1001 op=4 UNBIND
//! conn=1001 fd=16 closed                                 or: closed (idletimeout)
//! ```
//!
//! qtime and etime are new in 2.5; etime includes qtime, so their difference is the time without the wait (optime). A DN is
//! written in normal form, with `\` before a quote; quotes in a filter are not escaped, so a filter ends at the last quote
//! of the line. conn=-1 is internal.
//! The prefixes of a message are in syslog.rs. Sources: servers/slapd/{connection,bind,search,result,extended}.c
//! (Debug(LDAP_DEBUG_STATS)), servers/slapd/back-mdb/filterindex.c.

mod connections;
mod record;
mod remarks;
mod results;

use memchr::{memchr, memchr2};

use crate::fields::{self, number, word};
use crate::operation_kinds::{self, OperationKind};
use crate::scan::{SASL, SIMPLE, Scan};
use crate::syslog::{self, Split, Tag};
use crate::syslog_clocks::{Clock, HexadecimalClock, IsoClock, TraditionalClock};
use connections::{accept, close, tls};
use record::{CONN_DIGITS, Handled, Record, digits, ends};
use remarks::{banner, denied, exhausted, lost, not_indexed};
use results::result;

/// Scans slapd's messages with the prefix `seconds.nanoseconds thread`.
pub fn scan_stderr(data: &[u8], log: &mut Scan) {
    scan::<HexadecimalClock>(data, log, syslog::stderr);
}

/// The same with the prefix of a container's log.
pub fn scan_container(data: &[u8], log: &mut Scan) {
    scan::<HexadecimalClock>(data, log, syslog::container);
}

/// The same with the prefix of RFC 3164.
pub fn scan_syslog(data: &[u8], log: &mut Scan) {
    let mut tag = Tag::default();
    scan::<TraditionalClock>(data, log, |line| syslog::traditional(line, &mut tag));
}

/// The same with rsyslog's default prefix.
pub fn scan_syslog_iso(data: &[u8], log: &mut Scan) {
    let mut tag = Tag::default();
    scan::<IsoClock>(data, log, |line| syslog::iso_syslog(line, &mut tag));
}

/// The same with the prefix of RFC 5424.
pub fn scan_syslog_rfc5424(data: &[u8], log: &mut Scan) {
    scan::<IsoClock>(data, log, syslog::rfc5424);
}

/// Reads whole lines.
fn scan<C: Clock>(data: &[u8], log: &mut Scan, mut split: impl FnMut(&[u8]) -> Split<'_>) {
    let mut clock = C::start(log);
    let mut rest = data;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(b"", |end| &rest[end + 1..]);
        let handled = match split(line) {
            Some((stamp, text)) => message(text, &mut Record { stamp: &stamp, clock: &mut clock, log }),
            None => None,
        };
        match handled {
            Some(Handled::Counted) => {}
            Some(Handled::PassedOver) => log.passed_over(1),
            None if is_unstamped(line) => log.passed_over(1),
            Some(Handled::InvalidTime) | None => log.misread(trimmed(line, b"\r")),
        }
        log.lines(1);
    }
}

/// The second line of the version, and a container's own messages, begin with a blank.
fn is_unstamped(line: &[u8]) -> bool {
    matches!(line, [] | b"\r" | [b'\t' | b' ', ..])
}

/// Reads a message; `None` if it begins like one of slapd's, and no rule matches it.
fn message(text: &[u8], record: &mut Record) -> Option<Handled> {
    if let Some(text) = text.strip_prefix(b"conn=") {
        return of_connection(text, record).or_else(|| of_the_server(text, record));
    }
    let handled = match text.first() {
        Some(b'<') => not_indexed(text, record),
        Some(b'@') => banner(text, record),
        Some(b'f') => denied(text, record),
        Some(b'd') => exhausted(text, record),
        Some(b'i' | b'S') => lost(text, record),
        _ => None,
    };
    handled.or(Some(Handled::PassedOver))
}

fn of_connection(text: &[u8], record: &mut Record) -> Option<Handled> {
    let (conn, text) = number(text, CONN_DIGITS)?;
    if let Some(text) = text.strip_prefix(b" op=") {
        let (op, text) = number(text, CONN_DIGITS)?;
        return operation(conn, op, text.strip_prefix(b" ")?, record);
    }
    let text = digits(text.strip_prefix(b" fd=")?)?.strip_prefix(b" ")?;
    match text.first()? {
        b'A' => accept(conn, text, record),
        b'c' => close(conn, text, record),
        b'T' => tls(conn, text, record),
        _ => None,
    }
}

fn operation(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    match text.first()? {
        b'S' | b'R' => search(conn, op, text, record).or_else(|| result(conn, op, text, record)),
        b'B' => bind(conn, op, text, record),
        b'A' | b'M' | b'D' | b'C' | b'E' => request(conn, op, text, record).or_else(|| modified(text, record)),
        b'U' => unbind(conn, op, text, record),
        _ => None,
    }
    .or_else(|| is_detail(text).then_some(Handled::PassedOver))
}

/// `SRCH base="dc=example,dc=com" scope=2 deref=3 filter="(cn=*jos*)"`.
fn search(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let (base, text) = escaped(text.strip_prefix(b"SRCH base=\"")?)?;
    let (scope, text) = text.strip_prefix(b"\" scope=")?.split_first()?;
    let (deref, text) = text.strip_prefix(b" deref=")?.split_first()?;
    let filter = trimmed(text.strip_prefix(b" filter=\"")?, b" \r").strip_suffix(b"\"")?;
    if !matches!(scope, b'0'..=b'3') || !deref.is_ascii_digit() {
        return None;
    }
    record.count(|log, time| log.search(conn, op, time, base, i64::from(scope - b'0'), filter))
}

/// `BIND dn="uid=quickr,ou=services,dc=example,dc=com" method=128`, or `mech=SIMPLE bind_ssf=0 ssf=0`. The methods are the
/// tags of RFC 4511, 4.2.
fn bind(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let (dn, text) = escaped(text.strip_prefix(b"BIND dn=\"")?)?;
    let text = text.strip_prefix(b"\" ")?;
    if let Some(text) = text.strip_prefix(b"mech=") {
        let mechanism = match word(text, usize::MAX) {
            Some((b"SIMPLE", _)) => SIMPLE,
            Some((mechanism, _)) => mechanism,
            None => SASL,
        };
        return record.count(|log, time| log.bind_confirmed(conn, op, time, dn, mechanism));
    }
    let (method, rest) = fields::digits(text.strip_prefix(b"method=")?, 9)?;
    ends(rest)?;
    let mechanism = match method {
        b"128" => SIMPLE,
        b"163" => SASL,
        _ => method,
    };
    record.count(|log, time| log.bind(conn, op, time, dn, mechanism))
}

fn unbind(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    ends(text.strip_prefix(b"UNBIND")?)?;
    record.count(|log, time| log.unbind(conn, op, time))
}

const REQUESTS: [(&[u8], OperationKind); 5] = [
    (b"ADD dn=", operation_kinds::ADD),
    (b"MOD dn=", operation_kinds::MODIFY),
    (b"MODRDN dn=", operation_kinds::MODRDN),
    (b"DEL dn=", operation_kinds::DELETE),
    (b"CMP dn=", operation_kinds::COMPARE),
];

/// The other requests; `ABANDON msg=2`.
fn request(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    if let Some(text) = text.strip_prefix(b"ABANDON msg=") {
        ends(digits(text)?)?;
        return record.count(|log, time| log.abandon(conn, op, time, None));
    }
    if let Some(text) = text.strip_prefix(b"EXT oid=") {
        let oid = word(text, usize::MAX).map_or(&b""[..], |(oid, _)| oid);
        return record.count(|log, time| log.request(conn, op, time, operation_kinds::EXTENDED, oid));
    }
    let (name, kind) = REQUESTS.into_iter().find(|(name, _)| text.starts_with(name))?;
    let (target, _) = escaped(text[name.len()..].strip_prefix(b"\"")?)?;
    record.count(|log, time| log.request(conn, op, time, kind, target))
}

/// `MOD attr=description cn;lang-fr`.
fn modified(text: &[u8], record: &mut Record) -> Option<Handled> {
    let attributes = trimmed(text.strip_prefix(b"MOD attr=")?, b" \r");
    record.count(|log, _| log.modified_attributes(attributes))
}

const DETAILS: [&[u8]; 12] = [
    b"SRCH attr=",
    b"BIND authcid=",
    b"BIND anonymous ",
    b"STARTTLS",
    b"PASSMOD",
    b"WHOAMI",
    b"CANCEL ",
    b"PROXYAUTHZ ",
    b"ENTRY ",
    b"REF ",
    b"INTERMEDIATE ",
    b"DISCONNECT ",
];

/// Lines with details of a request, or with an error in one.
fn is_detail(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase) || DETAILS.iter().any(|detail| text.starts_with(detail))
}

const INTERNAL: [&[u8]; 3] = [b"-1", b"18446744073709551615", b"4294967295"];

/// `conn=-1 op=0 SRCH base="" scope=0 deref=0 filter="(cn=x)"`: an internal operation.
fn of_the_server(text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = INTERNAL.iter().find_map(|conn| text.strip_prefix(*conn))?;
    let text = digits(text.strip_prefix(b" op=")?)?.strip_prefix(b" ")?;
    let others: [&[u8]; 3] = [b"SRCH base=", b"BIND dn=", b"EXT oid="];
    let is_request = others.iter().any(|name| text.starts_with(name));
    let is_request = is_request || REQUESTS.iter().any(|(name, _)| text.starts_with(name));
    if is_request { record.count(|log, _| log.internal()) } else { Some(Handled::PassedOver) }
}

/// A DN up to its closing quote, and the rest with the quote; a backslash escapes the next byte.
fn escaped(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(text.split_at(at));
        }
        at += 2;
    }
}

/// A text without any of `bytes` at its end.
fn trimmed<'a>(text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    let end = text.iter().rposition(|byte| !bytes.contains(byte)).map_or(0, |last| last + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_dn_is_escaped_and_one_in_a_filter_is_not() {
        assert_eq!(escaped(br#"ou=a\"b" scope"#), Some((&br#"ou=a\"b"#[..], &b"\" scope"[..])));
        assert_eq!(escaped(br"ou=a\"), None);
        assert_eq!(trimmed(b"x\" \r", b" \r"), b"x\"");
    }
}
