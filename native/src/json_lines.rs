//! Lines of one JSON object each, as OpenDJ and PingDirectory write them.
//!
//! Bytes that are not UTF-8 are replaced. Numbers are exact; one of more than 20 digits, or with more than nine digits
//! in its exponent, is infinite: no server writes it, and nothing that takes a number takes it.

use std::borrow::Cow;

use crate::fields::{digits, first_line, like, signed, stripped};
use crate::json::Value;
use crate::opends::Kind;
use crate::scan::Scan;
use crate::stamps::{NANOSECONDS, iso, nanoseconds};

/// A text of an object.
pub type Text<'a> = Cow<'a, [u8]>;

/// Digits of the largest number of a log.
const MOST_DIGITS: usize = 18;
/// Digits of an exponent from which on a number is absurd.
const ABSURD: usize = 10;

/// Reads whole lines with the function that reads one, without its end; the stamps have milliseconds.
pub fn each_line(data: &[u8], log: &mut Scan, mut read: impl FnMut(&mut Scan, &[u8]) -> Kind) {
    log.resolution(1_000_000);
    let mut rest = data;
    while !rest.is_empty() {
        let (line, behind) = first_line(rest);
        match read(log, String::from_utf8_lossy(line).as_bytes()) {
            Kind::Counted => {}
            Kind::Misread if !stripped(line).is_empty() => log.misread(line),
            Kind::PassedOver | Kind::Misread => log.passed_over(1),
        }
        log.lines(1);
        rest = behind;
    }
}

/// The last second and zone: a log repeats each one.
#[derive(Default)]
pub struct Clock {
    stamp: Vec<u8>,
    began: i64,
    zone: Vec<u8>,
}

impl Clock {
    /// Returns the time of a stamp, and keeps its zone; `None` for anything else.
    pub fn time(&mut self, log: &mut Scan, value: Value) -> Option<i64> {
        let text = value.text()?;
        let behind = like(b"0000-00-00T00:00:00", &text)?;
        let point = behind.strip_prefix(b".").or_else(|| behind.strip_prefix(b","));
        let (fraction, zone) = point.map_or(Some((&b""[..], behind)), |behind| digits(behind, NANOSECONDS))?;
        let (east, west) =
            (like(b"+00:00", zone).or(like(b"+0000", zone)), like(b"-00:00", zone).or(like(b"-0000", zone)));
        if zone != b"Z" && !east.or(west)?.is_empty() {
            return None;
        }
        if zone != self.zone {
            log.clock(Some(zone));
            self.zone = zone.to_vec();
        }
        let stamp = [&text[..text.len() - behind.len()], zone];
        let (second, seen) = (stamp[0], &self.stamp);
        if seen.len() != second.len() + zone.len() || !seen.starts_with(second) || !seen.ends_with(zone) {
            let stamp = stamp.concat();
            self.began = iso(&stamp)?;
            self.stamp = stamp;
        }
        Some(self.began + nanoseconds(fraction))
    }
}

/// The integer that a number or a string of digits is; `None` for anything else, and for absurd ones.
pub fn whole_of(value: Value) -> Option<i64> {
    match value {
        Value::Whole(number) => Some(number),
        Value::Number(text) => Decimal::read(text)?.truncated(),
        _ => {
            let text = value.text()?;
            let (_, rest) = digits(text.strip_prefix(b"-").unwrap_or(&text), MOST_DIGITS + 1)?;
            let number = without_zeros(&text);
            signed(&number, MOST_DIGITS).filter(|(_, behind)| rest.is_empty() && behind.is_empty()).map(|(it, _)| it)
        }
    }
}

/// A text, unless it is missing or null; `None` for any other value.
pub fn optional(value: Value<'_>) -> Option<Option<Cow<'_, [u8]>>> {
    value.given().map_or(Some(None), |value| value.text().map(Some))
}

/// A text, `missing` where there is none; `None` for any other value.
pub fn text_or<'a>(value: Value<'a>, missing: &'static [u8]) -> Option<Cow<'a, [u8]>> {
    if value == Value::Missing { Some(missing.into()) } else { value.text() }
}

/// An integer, `missing` where there is none; `None` for any other value.
pub fn whole_or(value: Value, missing: i64) -> Option<i64> {
    if value == Value::Missing { Some(missing) } else { whole_of(value) }
}

/// A number without the zeros before it, one of which is no zero that may be dropped.
fn without_zeros(text: &[u8]) -> Vec<u8> {
    let (sign, mut rest) = text.strip_prefix(b"-").map_or((&b""[..], text), |rest| (&b"-"[..], rest));
    while let [b'0', behind @ ..] = rest
        && !behind.is_empty()
    {
        rest = behind;
    }
    [sign, rest].concat()
}

/// A decimal number: digits and a power of ten.
pub struct Decimal {
    /// Whether it is below zero.
    pub is_negative: bool,
    /// Without zeros before them; none: zero.
    pub digits: Vec<u8>,
    /// Of the last digit.
    pub power: i64,
}

impl Decimal {
    /// Reads a number of JSON; `None` for an infinite one.
    pub fn read(text: &[u8]) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix(b"-").map_or((false, text), |text| (true, text));
        let (whole, rest) = digits(text, usize::MAX)?;
        let (fraction, rest) = rest.strip_prefix(b".").and_then(|rest| digits(rest, usize::MAX)).unwrap_or((b"", rest));
        let exponent = rest.get(1..).unwrap_or_default();
        let exponent = exponent.strip_prefix(b"+").unwrap_or(exponent);
        if exponent.strip_prefix(b"-").unwrap_or(exponent).len() >= ABSURD {
            return None;
        }
        let exponent = signed(exponent, ABSURD).map_or(0, |(exponent, _)| exponent);
        let all = [whole, fraction].concat();
        let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
        Some(Decimal { is_negative, digits: all[zeros..].to_vec(), power: exponent - fraction.len() as i64 })
    }

    /// The digits before the point; not positive: none.
    pub fn width(&self) -> i64 {
        if self.digits.is_empty() { 0 } else { self.digits.len() as i64 + self.power }
    }

    /// The integer towards zero; `None` for a large one.
    fn truncated(&self) -> Option<i64> {
        if self.width() > MOST_DIGITS as i64 {
            return None;
        }
        let width = self.width().max(0) as usize;
        let digit = |place: usize| self.digits.get(place).map_or(0, |digit| i64::from(digit & 15));
        let number = (0..width).fold(0, |sum, place| sum * 10 + digit(place));
        Some(if self.is_negative { -number } else { number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_may_be_written_in_many_ways() {
        for (value, number) in [
            (Value::Whole(-7), Some(-7)),
            (Value::Symbol(b"-0042"), Some(-42)),
            (Value::Symbol(b"0000000000000000001"), Some(1)),
            (Value::Number(b"2.75e1"), Some(27)),
            (Value::Number(b"-0.00e999999999"), Some(0)),
            (Value::Number(b"999999999999999999.9"), Some(999_999_999_999_999_999)),
            (Value::Number(b"1e18"), None),
            (Value::Number(b"1e1234567890"), None),
            (Value::Number(b"1e-999999999"), Some(0)),
            (Value::Number(b"1000000000000000000"), None),
            (Value::Symbol(b"1000000000000000000"), None),
            (Value::Symbol(b"+1"), None),
            (Value::Symbol(b""), None),
            (Value::True, None),
            (Value::Null, None),
        ] {
            assert_eq!(whole_of(value), number, "{value:?}");
        }
    }
}
