//! The prefixes of slapd's messages, and their times.
//!
//! slapd writes to stderr (-d, or a logfile), to syslog, or to a logfile in the format of syslog:
//!
//! ```text
//! 6b000aac.1b749727 0x7f6ced7fe6c0 conn=1000 ...            2.5+: seconds, nanoseconds and thread, in hex
//! 6807a029 conn=1981 ...                                    2.4: seconds in hex
//! openldap-0  | 6b000aac.1b749727 0x7f6ced7fe6c0 conn=...   the same in a container's log
//! Nov 20 08:54:04 vm slapd[3989]: conn=1000 ...             syslog (RFC 3164), logfile-format syslog-*: no year
//! <167>Sep 7 07:40:20 vm slapd[1722022]: conn=1000 ...      with its priority; some do not pad the day
//! 2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: conn=    rsyslog's default format; logfile-format rfc3339-utc
//! <167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  conn=1000 ...      RFC 5424
//! ```
//!
//! A syslog contains the lines of other programs too, and reports of dropped lines. Sources: servers/slapd/logging.c
//! (slap_debug_print), RFC 3164 and 5424, rsyslog's runtime/ratelimit.c and plugins/imuxsock, systemd's journald.
//!
//! Repetitions are greedy and never backtrack, like the possessive quantifiers of the reference.

mod lost;

pub use lost::lost;

use crate::fields::{blanks, is_space, is_word, like, number, run};
use crate::stamps::MONTHS;
use crate::syslog_clocks::{Stamp, hexadecimal};

/// A stamp, and slapd's message.
pub type Split<'a> = Option<(Stamp<'a>, &'a [u8])>;

/// `6b000aac.1b749727 0x7f6ced7fe6c0 `: seconds and nanoseconds (or microseconds) since 1970, and the thread.
#[inline] // as below: passing a stamp in memory costs more than reading it
pub fn stderr(line: &[u8]) -> Split<'_> {
    let (second, rest) = line.split_at_checked(8)?;
    hexadecimal(second)?;
    let (fraction, rest) = fraction_and_thread(rest).unwrap_or((b"", rest));
    Some((Stamp { second, fraction, zone: b"" }, blanks(rest.strip_prefix(b" ")?)))
}

fn fraction_and_thread(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b".")?;
    let (fraction, thread) = hexadecimal_word(text, 8).or_else(|| hexadecimal_word(text, 5))?;
    let thread = thread.strip_prefix(b"0x").unwrap_or(thread);
    let (_, rest) = run(thread, 16, |byte| byte.is_ascii_hexdigit())?;
    Some((fraction, rest))
}

fn hexadecimal_word(text: &[u8], digits: usize) -> Option<(&[u8], &[u8])> {
    let (word, rest) = text.split_at_checked(digits)?;
    hexadecimal(word)?;
    Some((word, rest.strip_prefix(b" ")?))
}

/// The same after the prefix of a container's log, or of `grep -n`.
pub fn container(line: &[u8]) -> Split<'_> {
    let line = colour(line).unwrap_or(line);
    numbered(line).and_then(stderr).or_else(|| stderr(written_by(line)?))
}

fn numbered(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = number(line, 9)?;
    rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"-"))
}

/// A pod, a container, or a time; then the separator of docker compose, or that of a kubelet.
fn written_by(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = run(line, 200, |byte| !is_space(byte) && byte != b'|')?;
    let (_, rest) = run(rest, 60, |byte| byte == b' ')?;
    let composed = || {
        let rest = rest.strip_prefix(b"|")?;
        Some(blanks(colour(rest).unwrap_or(rest).strip_prefix(b" ")?))
    };
    let kubelet = || {
        let rest = rest.strip_prefix(b"std")?;
        let rest = rest.strip_prefix(b"out ").or_else(|| rest.strip_prefix(b"err "))?;
        rest.strip_prefix(b"F ").or_else(|| rest.strip_prefix(b"P "))
    };
    Some(composed().or_else(kubelet).unwrap_or(rest))
}

/// `\x1b[36m`.
fn colour(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"\x1b[")?;
    let code = text.iter().take(9).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    text[code..].strip_prefix(b"m")
}

/// `<167>Nov 20 08:54:04.460651 vm slapd[3989]: `.
#[inline]
pub fn traditional<'a>(line: &'a [u8], tag: &mut Tag) -> Split<'a> {
    let line = priority(line).unwrap_or(line);
    let (name, rest) = line.split_first_chunk::<3>()?;
    let rest = rest.strip_prefix(b" ").filter(|_| MONTHS.contains(&name))?;
    let (_, rest) = number(rest.strip_prefix(b" ").unwrap_or(rest), 2)?;
    let rest = like(b" 00:00:00", rest)?;
    let second = &line[..line.len() - rest.len()];
    let (fraction, rest) = fraction(rest, b".");
    Some((Stamp { second, fraction, zone: b"" }, tag.skip(rest)?))
}

/// `<167>2026-11-20T08:54:04.460651+00:00 vm slapd[3989]: `.
#[inline]
pub fn iso_syslog<'a>(line: &'a [u8], tag: &mut Tag) -> Split<'a> {
    let (stamp, rest) = iso_stamp(priority(line).unwrap_or(line))?;
    Some((stamp, tag.skip(rest)?))
}

/// `<167>1 2026-11-20T08:54:04.460651+00:00 vm slapd 3989 - -  `.
#[inline]
pub fn rfc5424(line: &[u8]) -> Split<'_> {
    let (stamp, mut rest) = iso_stamp(priority(line)?.strip_prefix(b"1 ")?)?;
    // Host, program, process, message id.
    for most in [255, 48, 128, 32] {
        (_, rest) = run(rest.strip_prefix(b" ")?, most, |byte| !is_space(byte))?;
    }
    let rest = rest.strip_prefix(b" ")?;
    let rest = blanks(rest.strip_prefix(b"-").or_else(|| structured_data(rest))?);
    Some((stamp, blanks(rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest))))
}

/// `[meta sequenceId="12"][x]`, a `]` within escaped with `\`.
fn structured_data(text: &[u8]) -> Option<&[u8]> {
    let mut rest = structured_element(text)?;
    while let Some(following) = structured_element(rest) {
        rest = following;
    }
    Some(rest)
}

fn structured_element(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"[")?;
    loop {
        let at = memchr::memchr2(b']', b'\\', rest)?;
        if rest[at] == b']' {
            return Some(&rest[at + 1..]);
        }
        rest = rest.get(at + 2..)?;
    }
}

/// `2026-11-20T08:54:04.460651+00:00`.
fn iso_stamp(line: &[u8]) -> Split<'_> {
    let rest = like(b"0000-00-00T00:00:00", line)?;
    let second = &line[..line.len() - rest.len()];
    let (fraction, rest) = fraction(rest, b".,");
    let after = match rest.first()? {
        b'Z' => &rest[1..],
        b'+' | b'-' => like(b"00:00", &rest[1..]).or_else(|| like(b"0000", &rest[1..]))?,
        _ => return None,
    };
    let zone = &rest[..rest.len() - after.len()];
    Some((Stamp { second, fraction, zone }, after))
}

/// The digits after one of the marks; empty if there is none.
fn fraction<'a>(text: &'a [u8], marks: &[u8]) -> (&'a [u8], &'a [u8]) {
    let behind = text.split_first().filter(|(mark, _)| marks.contains(mark));
    behind.and_then(|(_, rest)| run(rest, 9, |byte| byte.is_ascii_digit())).unwrap_or((b"", text))
}

/// `<167>`.
fn priority(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = number(line.strip_prefix(b"<")?, 3)?;
    rest.strip_prefix(b">")
}

/// Host and program. The program may have any name; the message identifies slapd.
///
/// Most lines have the same host and program as the line before, so their text is cached.
#[derive(Default)]
pub struct Tag {
    before: Vec<u8>,
}

impl Tag {
    /// The text after the tag.
    fn skip<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        if let Some(rest) = text.strip_prefix(self.before.as_slice()) {
            // More blanks or a message id would belong to the tag.
            if !self.before.is_empty() && !matches!(rest.first(), Some(b' ' | b'[')) {
                return Some(rest);
            }
        }
        let (_, rest) = run(text.strip_prefix(b" ")?, 255, |byte| !is_space(byte))?;
        let rest = rest.strip_prefix(b" ")?;
        let Some(message) = program(rest) else { return Some(rest) };
        // Up to a blank it is read the same with any text after it.
        let tag = text[..text.len() - message.len()].strip_suffix(b" ").map_or(0, |tag| tag.len() + 1);
        self.before.clear();
        self.before.extend_from_slice(&text[..tag]);
        Some(message)
    }
}

/// `local4:debug slapd[3989]: [ID 848112 local4.debug] `: AIX adds the facility, Solaris a message id.
fn program(text: &[u8]) -> Option<&[u8]> {
    let facility = || {
        let (_, rest) = run(text, 20, is_word)?;
        let (_, rest) = run(rest.strip_prefix(b":")?, 20, is_word)?;
        rest.strip_prefix(b" ")
    };
    let rest = facility().unwrap_or(text);
    let (_, rest) = run(rest, 128, |byte| !is_space(byte) && byte != b':' && byte != b'[')?;
    let process = || {
        let rest = rest.strip_prefix(b"[")?;
        run(rest, 32, |byte| !is_space(byte) && byte != b']').map_or(rest, |(_, rest)| rest).strip_prefix(b"]")
    };
    let rest = blanks(process().unwrap_or(rest).strip_prefix(b":")?);
    let message_id = || {
        let (_, rest) = number(rest.strip_prefix(b"[ID ")?, 9)?;
        let (_, rest) = run(rest.strip_prefix(b" ")?, 40, |byte| is_word(byte) || byte == b'.')?;
        rest.strip_prefix(b"] ")
    };
    Some(message_id().unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(found: Split<'_>) -> Option<&[u8]> {
        found.map(|(_, message)| message)
    }

    #[test]
    fn every_prefix_ends_where_the_message_begins() {
        assert_eq!(message(stderr(b"6b000aac.1b749727 0x7f6ced7fe6c0 conn=1")), Some(&b"conn=1"[..]));
        assert_eq!(message(stderr(b"6807a029 conn=1")), Some(&b"conn=1"[..]));
        assert_eq!(message(stderr(b"6b000aac.1b749727 conn=1")), None);
        assert_eq!(message(container(b"\x1b[36mldap_1  |\x1b[0m 6807a029 conn=1")), Some(&b"conn=1"[..]));
        assert_eq!(message(container(b"41:6807a029 conn=1")), Some(&b"conn=1"[..]));
        let line = br#"<167>1 2026-11-20T08:54:04+00:00 vm slapd 3 - [a b="\]"][c]  conn=1"#;
        assert_eq!(message(rfc5424(line)), Some(&b"conn=1"[..]));
    }

    #[test]
    fn a_tag_is_cached_only_as_far_as_it_does_not_depend_on_the_rest() {
        let mut tag = Tag::default();
        for (text, message) in [
            (&b" vm slapd[1]: conn=1"[..], &b"conn=1"[..]),
            (b" vm slapd[1]:  conn=1", b"conn=1"),
            (b" vm slapd[1]: [ID 1 a.b] conn=1", b"conn=1"),
            (b" vm slapd[1]: [ID 1 a.b] [ID 1 a.b] x", b"[ID 1 a.b] x"),
            (b" vm slapd:conn=1", b"conn=1"),
            (b" vm slapd:conn x: conn=1", b"conn=1"),
        ] {
            assert_eq!(tag.skip(text), Some(message));
            assert_eq!(tag.skip(text), Some(message));
        }
    }
}
