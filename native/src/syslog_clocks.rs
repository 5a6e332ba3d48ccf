//! The times of the stamps before slapd's messages.
//!
//! ```text
//! 6b000aac.1b749727                     HexadecimalClock
//! 2026-11-20T08:54:04.460651+00:00      IsoClock
//! Nov 20 08:54:04                       TraditionalClock: no year, no zone
//! ```
//!
//! In the reference these are functions of syslog.py.

use crate::fields::{blanks, number};
use crate::scan::{Hints, Offset, Scan};
use crate::stamps::{self, SECOND, instant, month_of, nanoseconds};

const DAY: i64 = 86_400 * SECOND;

/// The stamp of a prefix; a part that the prefix does not have is empty.
pub struct Stamp<'a> {
    /// Up to the second.
    pub second: &'a [u8],
    /// The digits of its fraction.
    pub fraction: &'a [u8],
    /// The zone as written.
    pub zone: &'a [u8],
}

/// Converts stamps to nanoseconds since 1970.
pub trait Clock {
    /// A clock at the beginning of a chunk, which reports zone and resolution to `log`.
    fn start(log: &mut Scan) -> Self
    where
        Self: Sized;
    /// The time of a stamp; `None` for an invalid one.
    fn time(&mut self, stamp: &Stamp, log: &mut Scan) -> Option<i64>;
}

/// Seconds, and nanoseconds or microseconds, in hex.
pub struct HexadecimalClock {
    coarse: bool,
}

impl Clock for HexadecimalClock {
    fn start(log: &mut Scan) -> Self {
        log.clock(Some(b"+0000"));
        HexadecimalClock { coarse: false }
    }

    fn time(&mut self, stamp: &Stamp, log: &mut Scan) -> Option<i64> {
        let seconds = hexadecimal(stamp.second)? * SECOND;
        if stamp.fraction.is_empty() {
            if !self.coarse {
                log.resolution(SECOND);
                self.coarse = true;
            }
            return Some(seconds);
        }
        // Without clock_gettime the fraction is microseconds, in five digits.
        let unit = if stamp.fraction.len() == 8 { 1 } else { 1000 };
        Some(seconds + hexadecimal(stamp.fraction)? * unit)
    }
}

/// ISO 8601 with a zone.
pub struct IsoClock {
    zone: Vec<u8>,
    digits: usize,
    second_and_zone: Vec<u8>,
    time: Option<i64>,
}

impl Clock for IsoClock {
    fn start(_: &mut Scan) -> Self {
        IsoClock { zone: Vec::new(), digits: usize::MAX, second_and_zone: Vec::new(), time: None }
    }

    fn time(&mut self, stamp: &Stamp, log: &mut Scan) -> Option<i64> {
        let digits = stamp.fraction.len();
        if self.zone != stamp.zone || self.digits != digits {
            log.clock(Some(stamp.zone));
            log.resolution((digits..stamps::NANOSECONDS).fold(1, |unit, _| unit * 10));
            self.zone = stamp.zone.to_vec();
            self.digits = digits;
            self.second_and_zone.clear();
        }
        if !self.second_and_zone.starts_with(stamp.second) {
            self.second_and_zone.clear();
            self.second_and_zone.extend_from_slice(stamp.second);
            self.second_and_zone.extend_from_slice(stamp.zone);
            self.time = stamps::iso(&self.second_and_zone);
        }
        Some(self.time? + nanoseconds(stamp.fraction))
    }
}

/// Month, day and time of day.
pub struct TraditionalClock {
    second: Vec<u8>,
    time: Option<i64>,
    zone: ZoneCache,
}

impl Clock for TraditionalClock {
    fn start(log: &mut Scan) -> Self {
        log.clock(None);
        log.resolution(SECOND);
        TraditionalClock { second: Vec::new(), time: None, zone: ZoneCache::default() }
    }

    fn time(&mut self, stamp: &Stamp, log: &mut Scan) -> Option<i64> {
        if self.second != stamp.second {
            self.second.clear();
            self.second.extend_from_slice(stamp.second);
            self.time = yearless(stamp.second, &log.hints, &mut self.zone);
        }
        Some(self.time? + nanoseconds(stamp.fraction))
    }
}

/// Year, month, day, hour and minute.
type Minute = (i64, i64, i64, i64, i64);

/// The offset of the zone of the hints in the last minute asked for.
#[derive(Default)]
struct ZoneCache {
    minute: Minute,
    east: i64,
}

impl ZoneCache {
    fn east(&mut self, hints: &Hints, minute: Minute) -> i64 {
        match &hints.offset {
            Offset::Fixed(east) => *east,
            Offset::At(offset) => {
                if self.minute != minute {
                    let (year, month, day, hour, of_hour) = minute;
                    self.east = offset(year as i32, month as u8, day as u8, hour as u8, of_hour as u8);
                    self.minute = minute;
                }
                self.east
            }
        }
    }
}

/// The nanoseconds since 1970 of `Nov 20 08:54:04`: the last such time before the log's end.
///
/// Each stamp is read independently of those before it, so that a log gives the same times wherever it is cut.
fn yearless(text: &[u8], hints: &Hints, zone: &mut ZoneCache) -> Option<i64> {
    let month = month_of(text)?;
    let (date, clock) = text.split_at_checked(text.len().checked_sub(9)?)?;
    let (day, _) = number(blanks(date.get(3..)?), 2)?;
    let [hour, minute, second] = [1, 4, 7].map(|at| clock.get(at..).and_then(|text| number(text, 2)));
    let (hour, minute, second) = (hour?.0, minute?.0, second?.0.min(59));
    // In the zone of the hints it may be next year already; nine years contain at least one leap year.
    let next_year = year_of(hints.latest) + 1;
    for year in (next_year - 9..=next_year).rev() {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if !(1..=days).contains(&day) {
            return None;
        }
        if (month, day) == (2, 29) && !is_leap {
            continue;
        }
        let (date, clock) = ((year, month, day), (hour, minute, second));
        // No zone is more than a day from UTC, and the callback is slow.
        if instant(date, clock, 0).is_none_or(|there| there - DAY >= hints.latest) {
            continue;
        }
        let east = zone.east(hints, (year, month, day, hour, minute));
        if let Some(time) = instant(date, clock, east).filter(|time| *time < hints.latest) {
            return Some(time);
        }
    }
    None
}

/// The year of a time, in UTC.
fn year_of(time: i64) -> i64 {
    let at_least = 1970 + time.max(0) / (366 * DAY);
    (at_least..).find(|year| instant((year + 1, 1, 1), (0, 0, 0), 0).is_none_or(|end| time < end)).unwrap_or(at_least)
}

/// The value of at most eight digits 0-9a-f, all at once: letters have bit 6 set, and their low bits are 9 too small.
pub fn hexadecimal(digits: &[u8]) -> Option<i64> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let text = u64::from_le_bytes(digits.try_into().ok().or_else(|| padded(digits))?);
    // In bytes below 0x80 an addition carries only into the high bit of its own byte, which then means "at least".
    let at_least = |byte: u8| text + (0x80 - u64::from(byte)) * EACH;
    if text & HIGH != 0 {
        return None;
    }
    let is_digit = at_least(b'0') & !at_least(b'9' + 1);
    let is_letter = at_least(b'a') & !at_least(b'f' + 1) & HIGH;
    if (is_digit | is_letter) & HIGH != HIGH {
        return None;
    }
    let fours = (text & (0x0f * EACH)) + (is_letter >> 7) * 9;
    let eights = (fours << 4 | fours >> 8) & 0x00ff_00ff_00ff_00ff;
    let sixteens = (eights << 8 | eights >> 16) & 0x0000_ffff_0000_ffff;
    Some(((sixteens << 16 | sixteens >> 32) & 0xffff_ffff) as i64)
}

/// Fewer than eight digits with zeros before them.
#[cold]
fn padded(digits: &[u8]) -> Option<[u8; 8]> {
    let mut eight = *b"00000000";
    eight.get_mut(8_usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    Some(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read_all_at_once() {
        assert_eq!(hexadecimal(b"6b000aac"), Some(0x6b00_0aac));
        assert_eq!(hexadecimal(b"ffffffff"), Some(0xffff_ffff));
        assert_eq!(hexadecimal(b"f4240"), Some(1_000_000));
        for byte in 0..=255_u8 {
            let digit = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            assert_eq!(hexadecimal(&[b'0', byte, b'f', b'0', b'9', b'a', b'0', byte]).is_some(), digit);
        }
        assert_eq!(hexadecimal(b"123456789"), None);
    }

    #[test]
    fn the_year_is_the_last_that_ends_before_the_file() {
        let hints = Hints { latest: 1_772_452_800 * SECOND, offset: Offset::Fixed(0) }; // 2026-03-02T12:00:00Z
        let year = |text: &[u8]| yearless(text, &hints, &mut ZoneCache::default()).map(year_of);

        assert_eq!(year(b"Mar  2 11:59:59"), Some(2026));
        assert_eq!(year(b"Mar  2 12:00:00"), Some(2025));
        assert_eq!(year(b"Dec 31 23:59:60"), Some(2025));
        assert_eq!(year(b"Feb 29 10:00:00"), Some(2024));
        assert_eq!(year(b"Feb 30 10:00:00"), None);
    }

    #[test]
    fn a_zone_is_asked_once_a_minute_and_for_possible_years_only() {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = asked.clone();
        let ask = move |_, _, _, _, _| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            3600
        };
        let hints = Hints { latest: 1_772_452_800 * SECOND, offset: Offset::At(Box::new(ask)) };
        let mut zone = ZoneCache::default();
        for second in [&b"Feb  1 10:00:01"[..], b"Feb  1 10:00:02", b"Feb  1 10:00:03"] {
            assert!(yearless(second, &hints, &mut zone).is_some());
        }
        assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}
