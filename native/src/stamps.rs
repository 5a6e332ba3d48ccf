//! Time stamps of access logs as integers: nanoseconds since 1970-01-01 UTC.
//!
//! A log repeats each second thousands of times, so the dialects cache the last one:
//!
//! ```text
//! netscape(b"20/Nov/2026:08:45:20 +0000")        389-ds
//! iso(b"2026-11-20T08:54:04+00:00")              JSON logs, syslog
//! ```
//!
//! [`nanoseconds`] returns the fraction to add.

/// Nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;

/// Digits of a fraction in nanoseconds.
pub const NANOSECONDS: usize = 9;

// Between them, times and their differences in nanoseconds stay below 1 << 63.
const FIRST_YEAR: i64 = 1970;
const PAST_YEAR: i64 = 2200;

/// The names of the months in syslog.
pub const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// A date (year, month, day), or a time of day (hour, minute, second).
type Triple = (i64, i64, i64);

/// The nanoseconds of a decimal fraction of a second: `752174` is 752174000.
pub fn nanoseconds(fraction: &[u8]) -> i64 {
    (0..NANOSECONDS).fold(0, |sum, place| sum * 10 + fraction.get(place).map_or(0, |digit| i64::from(digit & 15)))
}

/// The nanoseconds of `0.000554371`, `12`, or `0.5`.
pub fn duration(seconds: &[u8]) -> i64 {
    let dot = seconds.iter().position(|&byte| byte == b'.').unwrap_or(seconds.len());
    let (whole, fraction) = seconds.split_at(dot);
    digits(whole).saturating_mul(SECOND).saturating_add(nanoseconds(fraction.get(1..).unwrap_or_default()))
}

/// Nanoseconds since 1970 of a date and a time of day in a zone `offset_seconds` east of UTC.
///
/// `None` for an invalid time, and for years outside 1970 to 2199. The 31st of a short month is the first of the next,
/// and a leap second the first second of the next minute, as for C's `timegm`.
pub fn instant(date: Triple, clock: Triple, offset_seconds: i64) -> Option<i64> {
    let ((year, month, day), (hour, minute, second)) = (date, clock);
    let is_time = (FIRST_YEAR..PAST_YEAR).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !is_time {
        return None;
    }
    let seconds = ((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    seconds.checked_sub(offset_seconds)?.checked_mul(SECOND)
}

/// The time of `20/Nov/2026:08:45:20 +0000`; without a zone UTC. The month's name may be a long one.
pub fn netscape(text: &[u8]) -> Option<i64> {
    let (date, clock, zone) = netscape_stamp(text)?;
    instant(date, clock, east(zone, false)?)
}

/// The time of `20/Nov/2026:08:45:20` in a zone like `+0000`.
pub fn netscape_in(stamp: &[u8], zone: &[u8]) -> Option<i64> {
    let (date, clock, rest) = netscape_stamp(stamp)?;
    if rest.is_empty() { instant(date, clock, east(zone, false)?) } else { None }
}

/// The time of `2026-11-20T08:54:04+00:00`; without a zone UTC.
pub fn iso(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let date = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    let (&between, rest) = rest.split_first()?;
    if between != b'T' && between != b' ' {
        return None;
    }
    let (clock, zone) = time_of_day(rest)?;
    instant(date, clock, east(zone, true)?)
}

fn netscape_stamp(text: &[u8]) -> Option<(Triple, Triple, &[u8])> {
    let (day, name_and_rest) = (number(text.get(..2)?)?, text.get(2..)?.strip_prefix(b"/")?);
    let end = name_and_rest.iter().take(13).position(|&byte| byte == b'/')?;
    let (name, rest) = name_and_rest.split_at(end);
    let (year, rest) = rest.get(1..)?.split_at_checked(4)?;
    let (clock, zone) = time_of_day(rest.strip_prefix(b":")?)?;
    Some(((number(year)?, month_of(name)?, day), clock, zone))
}

/// The number of a month by its name's first three letters, in any case.
pub fn month_of(name: &[u8]) -> Option<i64> {
    let abbreviated = name.get(..3)?;
    (1..).zip(MONTHS).find(|(_, month)| abbreviated.eq_ignore_ascii_case(*month)).map(|(number, _)| number)
}

/// Days from 1970-01-01 to the first of a month of the Gregorian calendar. The year begins in March here, so that a leap
/// day is its last day.
fn days_before(year: i64, month: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 - 719_468
}

/// `08:45:20`, and the rest.
fn time_of_day(text: &[u8]) -> Option<(Triple, &[u8])> {
    let (clock, zone) = text.split_at_checked(8)?;
    if clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    Some(((number(&clock[..2])?, number(&clock[3..5])?, number(&clock[6..])?), zone))
}

/// Seconds east of UTC of `+0100`, ` -0400`, `Z`, or nothing; ISO may write `+01:00`.
fn east(zone: &[u8], may_have_colon: bool) -> Option<i64> {
    if zone.is_empty() {
        return Some(0);
    }
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let (hours, minutes) = match zone {
        b"Z" => return Some(0),
        [b'+' | b'-', hours @ .., _, _, _] if may_have_colon && zone.len() == 6 && zone[3] == b':' => {
            (hours, &zone[4..])
        }
        [b'+' | b'-', hours @ .., _, _] if zone.len() == 5 => (hours, &zone[3..]),
        _ => return None,
    };
    let seconds = number(hours)? * 3600 + number(minutes)? * 60;
    Some(if zone[0] == b'-' { -seconds } else { seconds })
}

/// A number of a few digits and nothing else.
fn number(text: &[u8]) -> Option<i64> {
    (!text.is_empty() && text.iter().all(u8::is_ascii_digit)).then(|| digits(text))
}

/// The value of digits, saturated.
fn digits(text: &[u8]) -> i64 {
    text.iter().fold(0, |sum: i64, digit| sum.saturating_mul(10).saturating_add(i64::from(digit & 15)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_give_the_same_time() {
        let time = Some(1_795_164_320 * SECOND);

        assert_eq!(netscape(b"20/Nov/2026:08:45:20 +0000"), time);
        assert_eq!(netscape(b"20/NOVEMBER/2026:10:45:20+0200"), time);
        assert_eq!(iso(b"2026-11-20T08:45:20Z"), time);
        assert_eq!(iso(b"2026-11-20 04:45:20 -04:00"), time);
        assert_eq!(iso(b"2026-11-20T08:45:20"), time);
    }

    #[test]
    fn days_of_short_months_roll_over() {
        assert_eq!(iso(b"2026-02-31T00:00:60Z"), iso(b"2026-03-03T00:01:00Z"));
        assert_eq!(iso(b"2000-02-29T00:00:00Z"), Some(951_782_400 * SECOND));
    }

    #[test]
    fn impossible_times_are_refused() {
        for text in
            [&b"1969-12-31T23:59:59Z"[..], b"2200-01-01T00:00:00Z", b"2026-13-01T00:00:00Z", b"2026-11-20T24:00:00Z"]
        {
            assert_eq!(iso(text), None);
        }
        for text in [&b"20/No/2026:08:45:20 +0000"[..], b"20/Nov/2026:08:45:20 +00:00", b"20/Nov/2026:08:45:20 ", b""] {
            assert_eq!(netscape(text), None);
        }
    }

    #[test]
    fn fractions_and_durations_are_exact() {
        assert_eq!(nanoseconds(b"752174"), 752_174_000);
        assert_eq!(nanoseconds(b"0000000019"), 1);
        assert_eq!(nanoseconds(b""), 0);
        assert_eq!(duration(b"0.000554371"), 554_371);
        assert_eq!(duration(b"12"), 12 * SECOND);
        assert_eq!(duration(b"999999999.5"), 999_999_999 * SECOND + SECOND / 2);
    }
}
