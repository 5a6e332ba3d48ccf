//! What the text logs of OpenDJ and PingDirectory have in common, which both got from OpenDS: lines, stamps, quotes.

use memchr::memchr2;

use crate::fields::{before, digits, first_line, is_space, like, run};
use crate::scan::Scan;
use crate::stamps::{NANOSECONDS, nanoseconds, netscape_in};

/// What a line is.
pub enum Kind {
    /// It is understood, and counted.
    Counted,
    /// It is understood, and not needed.
    PassedOver,
    /// No rule matches it.
    Misread,
}

/// Reads whole lines with the function that reads one, without its end.
pub fn each_line<'a>(data: &'a [u8], log: &mut Scan, mut read: impl FnMut(&mut Scan, &'a [u8]) -> Kind) {
    let mut rest = data;
    while !rest.is_empty() {
        let (text, behind) = first_line(rest);
        match if is_comment(text) { Kind::PassedOver } else { read(log, text) } {
            Kind::Counted => {}
            Kind::PassedOver => log.passed_over(1),
            Kind::Misread => log.misread(without_returns(text)),
        }
        log.lines(1);
        rest = behind;
    }
}

/// `#.*|[ \t\r]*`.
fn is_comment(text: &[u8]) -> bool {
    match text.first() {
        None | Some(b'#') => true,
        Some(b' ' | b'\t' | b'\r') => text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')),
        Some(_) => false,
    }
}

fn without_returns(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = text {
        text = rest;
    }
    text
}

/// Returns whether nothing but blanks follows: `[ \r]*$`.
pub fn is_end(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\r'))
}

/// The time up to the second, its fraction, and the zone with the blank before it.
///
/// ```text
/// \[\d\d/[^/\]\s]{3,12}/\d{4}:\d\d:\d\d:\d\d([.,]\d{1,9})?( [+-]\d{4}| ?Z)?\]
/// ```
pub struct Stamp<'a> {
    second: &'a [u8],
    fraction: &'a [u8],
    zone: &'a [u8],
}

impl<'a> Stamp<'a> {
    /// Reads a stamp and the blank after it.
    pub fn read(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let text = text.strip_prefix(b"[")?;
        let (month, rest) = run(like(b"00/", text)?, 12, |byte| byte != b'/' && byte != b']' && !is_space(byte))?;
        let rest = like(b"/0000:00:00:00", rest).filter(|_| month.len() >= 3)?;
        let second = before(text, rest);
        let dot = rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b","));
        let (fraction, zoned) = dot.and_then(|rest| digits(rest, NANOSECONDS)).unwrap_or((b"", rest));
        let utc = || zoned.strip_prefix(b" Z").or_else(|| zoned.strip_prefix(b"Z"));
        let rest = like(b" +0000", zoned).or_else(|| like(b" -0000", zoned)).or_else(utc).unwrap_or(zoned);
        Some((Stamp { second, fraction, zone: before(zoned, rest) }, rest.strip_prefix(b"] ")?))
    }
}

/// The current second, and the zone and the digits of a fraction that were reported last.
#[derive(Default)]
pub struct Clock<'a> {
    second: &'a [u8],
    zone: &'a [u8],
    began: i64,
    reported: Option<(&'a [u8], usize)>,
}

impl<'a> Clock<'a> {
    /// Returns the time of a stamp, and keeps the clock's zone and resolution; `None` for an invalid time.
    pub fn time(&mut self, log: &mut Scan, stamp: &Stamp<'a>) -> Option<i64> {
        let notation = Some((stamp.zone, stamp.fraction.len()));
        if self.reported != notation {
            log.clock(Some(stamp.zone.strip_prefix(b" ").unwrap_or(stamp.zone)));
            log.resolution(10_i64.pow((NANOSECONDS - stamp.fraction.len()) as u32));
            self.reported = notation;
        }
        if stamp.second != self.second || stamp.zone != self.zone {
            self.began = netscape_in(stamp.second, stamp.zone)?;
            (self.second, self.zone) = (stamp.second, stamp.zone);
        }
        Some(self.began + nanoseconds(stamp.fraction))
    }
}

/// The text up to the first quote that no backslash escapes, and the text after that quote.
pub fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<[&[u8]; 4]> {
        Stamp::read(text.as_bytes()).map(|(stamp, rest)| [stamp.second, stamp.fraction, stamp.zone, rest])
    }

    #[test]
    fn a_stamp_may_have_a_fraction_and_a_zone() {
        let second = &b"20/November/2026:08:45:20"[..];

        assert_eq!(read("[20/November/2026:08:45:20,75 +0000] x"), Some([second, b"75", b" +0000", b"x"]));
        assert_eq!(read("[20/November/2026:08:45:20Z] "), Some([second, b"", b"Z", b""]));
        assert_eq!(read("[20/November/2026:08:45:20] "), Some([second, b"", b"", b""]));
        for text in ["[20/No/2026:08:45:20 Z] ", "[20/Nov/2026:08:45:20.] ", "[20/Nov/2026:08:45:20+0000] ", "["] {
            assert_eq!(read(text), None);
        }
    }

    #[test]
    fn a_backslash_escapes_a_quote() {
        assert_eq!(quoted(br#"a\"b" c"#), Some((&br#"a\"b"#[..], &b" c"[..])));
        assert_eq!(quoted(br#"a\\" c"#), Some((&br"a\\"[..], &b" c"[..])));
        for text in [&br#"a\""#[..], b"a\\", b"a"] {
            assert_eq!(quoted(text), None);
        }
    }
}
