//! The times of the JSON log: `2025-02-10T13:49:28.425317898 -0500`.

use crate::fields::{digits, is_space, nine};
use crate::scan::Scan;
use crate::stamps::{NANOSECONDS, iso, nanoseconds, netscape};

/// A cache of the last second: a log repeats each one thousands of times.
pub struct JsonClock {
    /// As in the log, with a space before the zone.
    stamp: Vec<u8>,
    second: i64,
    /// Digits of the shortest fraction so far.
    digits: usize,
}

impl JsonClock {
    /// A clock without a second.
    pub fn new() -> Self {
        JsonClock { stamp: Vec::new(), second: 0, digits: NANOSECONDS }
    }

    /// Returns a time, and keeps the clock's zone and resolution; `None` for an invalid time.
    pub fn time(&mut self, log: &mut Scan, text: &[u8]) -> Option<i64> {
        let (stamp, fraction, zone) = parts(text)?;
        let seen = &self.stamp;
        if seen.len() != stamp.len() + 1 + zone.len() || !seen.starts_with(stamp) || !seen.ends_with(zone) {
            if stamp.contains(&b'\n') {
                return None;
            }
            let text = [stamp, b" ", zone].concat();
            self.second = if text.get(2) == Some(&b'/') { netscape(&text)? } else { iso(&text)? };
            self.stamp = text;
            log.clock(Some(zone));
        }
        if fraction.len() < self.digits {
            self.digits = fraction.len();
            log.resolution(10_i64.pow((NANOSECONDS - fraction.len()) as u32));
        }
        Some(self.second + nine(fraction).map_or_else(|| nanoseconds(fraction), |(fine, _)| fine))
    }
}

/// The time up to the second, its fraction, its zone.
///
/// The time is in nsslapd-accesslog-time-format: ISO 8601 by default; `10/Feb/2025:13:49:28` is read, too. Fraction and
/// zone are appended to it.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = if text.get(2)? == &b'/' {
        // The name of the month may be a long one.
        let year = text.iter().skip(3).take(13).position(|&byte| byte == b'/')? + 4;
        year + b"2025:13:49:28".len()
    } else {
        b"2025-02-10T13:49:28".len()
    };
    let (stamp, mut rest) = text.split_at_checked(length)?;
    let mut fraction: &[u8] = b"";
    if let Some(behind) = rest.strip_prefix(b".") {
        (fraction, rest) = digits(behind, NANOSECONDS)?;
    }
    let zone = match rest.split_first()? {
        (&blank, zone) if is_space(blank) => zone,
        _ => rest,
    };
    let is_zone = match zone {
        [b'+' | b'-', east @ ..] => east.len() == 4 && east.iter().all(u8::is_ascii_digit),
        _ => zone == b"Z",
    };
    is_zone.then_some((stamp, fraction, zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_parts_or_is_none() {
        let (stamp, zone) = (&b"2025-02-10T13:49:28"[..], &b"-0500"[..]);
        assert_eq!(parts(b"2025-02-10T13:49:28.425317898 -0500"), Some((stamp, &b"425317898"[..], zone)));
        assert_eq!(parts(b"2025-02-10T13:49:28-0500"), Some((stamp, &b""[..], zone)));
        let stamp = b"10/February/2025:13:49:28";
        assert_eq!(parts(b"10/February/2025:13:49:28.5\tZ"), Some((&stamp[..], &b"5"[..], &b"Z"[..])));
        let broken = "|yesterday|2025-02-10T13:49:28|2025-02-10T13:49:28. Z|2025-02-10T13:49:28.1234567890 Z\
            |2025-02-10T13:49:28  Z|2025-02-10T13:49:28 +05:00|10/Feb/2025|10/FebruaryFebruary/2025:13:49:28Z";
        for text in broken.split('|') {
            assert_eq!(parts(text.as_bytes()), None, "{text}");
        }
    }
}
