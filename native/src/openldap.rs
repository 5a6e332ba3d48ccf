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
//! conn=1001 op=2 EXT oid=1.3.6.1.4.1.4203.1.11.3        and a second line that says what it means: WHOAMI
//! conn=1001 op=2 RESULT oid= err=0 qtime=0.000004 etime=0.000031 text=
//! conn=1001 op=3 MOD dn="uid=joe,dc=example,dc=com"
//! conn=1001 op=3 MOD attr=description cn;lang-fr         and more such lines, of 4096 bytes each
//! conn=1001 op=4 UNBIND
//! conn=1001 fd=16 closed                                 or: closed (idletimeout)
//! ```
//!
//! qtime and etime came with 2.5; etime counts qtime in. A DN is written in its normal form, with `\` before a quote; a
//! filter's own quotes stand as they are, so it ends at the last quote of the line. conn=-1 is the server's own.
//! What stands before the message is told in syslog.rs. Sources: servers/slapd/{connection,bind,search,result,extended}.c
//! (Debug(LDAP_DEBUG_STATS)), servers/slapd/back-mdb/filterindex.c.

mod connections;
mod remarks;
mod results;

use memchr::{memchr, memchr2};

use crate::fields::{self, number};
use crate::kinds::{self, Kind};
use crate::scan::Scan;
use crate::syslog::{self, Split, Tag};
use crate::syslog_clocks::{Clock, HexadecimalClock, IsoClock, Stamp, TraditionalClock};
use connections::{accept, close};
use remarks::{banner, lost, not_indexed};
use results::result;

const CONN_DIGITS: usize = 18;

/// slapd's messages behind `seconds.nanoseconds thread`.
pub fn scan_stderr(data: &[u8], log: &mut Scan) {
    scan::<HexadecimalClock>(data, log, syslog::stderr);
}

/// The same behind what a container's log adds.
pub fn scan_container(data: &[u8], log: &mut Scan) {
    scan::<HexadecimalClock>(data, log, syslog::container);
}

/// Behind RFC 3164's prefix.
pub fn scan_syslog(data: &[u8], log: &mut Scan) {
    let mut tag = Tag::default();
    scan::<TraditionalClock>(data, log, |line| syslog::traditional(line, &mut tag));
}

/// Behind rsyslog's own prefix.
pub fn scan_syslog_iso(data: &[u8], log: &mut Scan) {
    let mut tag = Tag::default();
    scan::<IsoClock>(data, log, |line| syslog::iso_syslog(line, &mut tag));
}

/// Behind RFC 5424's prefix.
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
        let told = match split(line) {
            Some((stamp, text)) => message(text, &mut Record { stamp: &stamp, clock: &mut clock, log }),
            None => None,
        };
        match told {
            Some(Told::Taken) => {}
            Some(Told::PassedOver) => log.passed_over(1),
            None if is_unstamped(line) => log.passed_over(1),
            Some(Told::Timeless) | None => log.misread(trimmed(line, b"\r")),
        }
        if log.is_over() {
            return;
        }
        log.lines(1);
    }
}

/// The version's second line, and what a container prints of its own, begin with a blank.
fn is_unstamped(line: &[u8]) -> bool {
    matches!(line, [] | b"\r" | [b'\t' | b' ', ..])
}

/// What became of a line that is understood.
enum Told {
    /// The log heard of it.
    Taken,
    /// Details of a request, other programs, the server's trace.
    PassedOver,
    /// A stamp like Feb 31.
    Timeless,
}

/// One line, when its message is read.
struct Record<'a> {
    stamp: &'a Stamp<'a>,
    clock: &'a mut dyn Clock,
    log: &'a mut Scan,
}

impl Record<'_> {
    /// Tell the log what happened, and when.
    fn tell(&mut self, what: impl FnOnce(&mut Scan, i64)) -> Option<Told> {
        let Some(time) = self.clock.time(self.stamp, self.log) else { return Some(Told::Timeless) };
        what(self.log, time);
        Some(Told::Taken)
    }
}

/// What a message says; None if it begins like slapd's and does not go on so.
fn message(text: &[u8], record: &mut Record) -> Option<Told> {
    if let Some(text) = text.strip_prefix(b"conn=") {
        return of_connection(text, record).or_else(|| of_the_server(text, record));
    }
    let told = match text.first() {
        Some(b'<') => not_indexed(text, record),
        Some(b'@') => banner(text, record),
        Some(b'i' | b'S') => lost(text, record),
        _ => None,
    };
    told.or(Some(Told::PassedOver))
}

fn of_connection(text: &[u8], record: &mut Record) -> Option<Told> {
    let (conn, text) = number(text, CONN_DIGITS)?;
    if let Some(text) = text.strip_prefix(b" op=") {
        let (op, text) = number(text, CONN_DIGITS)?;
        return operation(conn, op, text.strip_prefix(b" ")?, record);
    }
    let text = digits(text.strip_prefix(b" fd=")?)?.strip_prefix(b" ")?;
    match text.first()? {
        b'A' => accept(conn, text, record),
        b'c' => close(conn, text, record),
        b'T' => text.starts_with(b"TLS established").then_some(Told::PassedOver),
        _ => None,
    }
}

fn operation(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Told> {
    match text.first()? {
        b'S' | b'R' => search(conn, op, text, record).or_else(|| result(conn, op, text, record)),
        b'B' => bind(conn, op, text, record),
        b'A' | b'M' | b'D' | b'C' | b'E' => request(conn, op, text, record).or_else(|| modified(text, record)),
        b'U' => unbind(conn, op, text, record),
        _ => None,
    }
    .or_else(|| is_detail(text).then_some(Told::PassedOver))
}

/// `SRCH base="dc=example,dc=com" scope=2 deref=3 filter="(cn=*jos*)"`.
fn search(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Told> {
    let (base, text) = escaped(text.strip_prefix(b"SRCH base=\"")?)?;
    let (scope, text) = text.strip_prefix(b"\" scope=")?.split_first()?;
    let (deref, text) = text.strip_prefix(b" deref=")?.split_first()?;
    let filter = trimmed(text.strip_prefix(b" filter=\"")?, b" \r").strip_suffix(b"\"")?;
    if !matches!(scope, b'0'..=b'3') || !deref.is_ascii_digit() {
        return None;
    }
    record.tell(|log, time| log.search(conn, op, time, base, i64::from(scope - b'0'), filter))
}

/// `BIND dn="uid=quickr,ou=services,dc=example,dc=com" method=128`, or `mech=SIMPLE bind_ssf=0 ssf=0`.
fn bind(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Told> {
    let (dn, text) = escaped(text.strip_prefix(b"BIND dn=\"")?)?;
    let text = text.strip_prefix(b"\" ")?;
    if text.starts_with(b"mech=") {
        return record.tell(|log, time| log.binds(conn, time, dn));
    }
    ends(digits(text.strip_prefix(b"method=")?)?)?;
    record.tell(|log, time| log.bind(conn, op, time, dn))
}

fn unbind(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Told> {
    ends(text.strip_prefix(b"UNBIND")?)?;
    record.tell(|log, time| log.unbound(conn, op, time))
}

const REQUESTS: [(&[u8], Kind); 6] = [
    (b"ADD dn=", kinds::ADD),
    (b"MOD dn=", kinds::MODIFY),
    (b"MODRDN dn=", kinds::MODRDN),
    (b"DEL dn=", kinds::DELETE),
    (b"CMP dn=", kinds::COMPARE),
    (b"EXT oid=", kinds::EXTENDED),
];

/// The other requests; `ABANDON msg=2`.
fn request(conn: i64, op: i64, text: &[u8], record: &mut Record) -> Option<Told> {
    if let Some(text) = text.strip_prefix(b"ABANDON msg=") {
        ends(digits(text)?)?;
        return record.tell(|log, time| log.abandoned(conn, op, time, None));
    }
    let (_, kind) = REQUESTS.into_iter().find(|(name, _)| text.starts_with(name))?;
    record.tell(|log, time| log.request(conn, op, time, kind))
}

/// `MOD attr=description cn;lang-fr`.
fn modified(text: &[u8], record: &mut Record) -> Option<Told> {
    let attributes = trimmed(text.strip_prefix(b"MOD attr=")?, b" \r");
    record.tell(|log, _| log.modified(attributes))
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

/// The lines that slapd adds to a request, and its word on what is wrong with one.
fn is_detail(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase) || DETAILS.iter().any(|detail| text.starts_with(detail))
}

const SERVERS_OWN: [&[u8]; 3] = [b"-1", b"18446744073709551615", b"4294967295"];

/// `conn=-1 op=0 SRCH base="" scope=0 deref=0 filter="(cn=x)"`: what the server asks itself.
fn of_the_server(text: &[u8], record: &mut Record) -> Option<Told> {
    let text = SERVERS_OWN.iter().find_map(|conn| text.strip_prefix(*conn))?;
    let text = digits(text.strip_prefix(b" op=")?)?.strip_prefix(b" ")?;
    let asks = text.starts_with(b"SRCH base=") || text.starts_with(b"BIND dn=");
    let asks = asks || REQUESTS.iter().any(|(name, _)| text.starts_with(name));
    if asks { record.tell(|log, _| log.internal()) } else { Some(Told::PassedOver) }
}

/// The inside of a quoted DN, and the quote and what follows it; a backslash takes the next byte along.
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

/// What follows a number of any length.
fn digits(text: &[u8]) -> Option<&[u8]> {
    fields::digits(text, usize::MAX).map(|(_, rest)| rest)
}

/// Nothing, if the line ends here; some have a blank or a carriage return there.
fn ends(text: &[u8]) -> Option<()> {
    text.iter().all(|byte| matches!(byte, b' ' | b'\r')).then_some(())
}

/// A text without such bytes at its end.
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
