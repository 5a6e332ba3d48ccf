//! Values: escapes, addresses, durations.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use crate::fields::digits;
use crate::stamps::nanoseconds;

/// No number of a log is larger.
const MOST: i128 = 1_000_000_000_000_000_000;
/// The digits of a decimal number in the reference.
const PRECISION: usize = 28;

/// The value of `a#22b`: `a"b`.
pub fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'#', text) else { return Cow::Borrowed(text) };
    let (mut made, mut rest) = (text[..first].to_vec(), &text[first..]);
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, hexadecimal(behind)) {
            (b'#', Some(byte)) => {
                made.push(byte);
                rest = &behind[2..];
            }
            _ => made.push(byte),
        }
    }
    Cow::Owned(made)
}

fn hexadecimal(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    Some((digit(0)? << 4 | digit(1)?) as u8)
}

/// The address without a port, of `1.2.3.4`, `1.2.3.4:5`, `[::1]:5` or `::1`.
pub fn host_of(address: &[u8]) -> &[u8] {
    if let Some(address) = address.strip_prefix(b"[") {
        return &address[..memchr(b']', address).unwrap_or(address.len())];
    }
    let mut colons = memchr_iter(b':', address);
    match (colons.next(), colons.next()) {
        (Some(port), None) => &address[..port],
        _ => address,
    }
}

/// The text after `\d{1,18}([.,]\d{1,18})?(E-?\d{1,2})?`.
pub fn number_end(text: &[u8]) -> Option<&[u8]> {
    let (_, mut rest) = digits(text, 18)?;
    if let Some((_, behind)) = fraction(rest) {
        rest = behind;
    }
    let exponent = rest.strip_prefix(b"E").and_then(|text| digits(text.strip_prefix(b"-").unwrap_or(text), 2));
    Some(exponent.map_or(rest, |(_, behind)| behind))
}

fn fraction(text: &[u8]) -> Option<(&[u8], &[u8])> {
    text.strip_prefix(b".").or_else(|| text.strip_prefix(b",")).and_then(|text| digits(text, 18))
}

/// The nanoseconds of a number of milliseconds, where there is one; `None` for an absurd duration.
pub fn milliseconds(text: Option<&[u8]>) -> Option<Option<i64>> {
    let Some(text) = text else { return Some(None) };
    let (whole, rest) = digits(text, 18)?;
    let (fraction, rest) = fraction(rest).unwrap_or((b"", rest));
    let time = match rest.strip_prefix(b"E") {
        None => (value(whole) * 1_000_000_000 + i128::from(nanoseconds(fraction))) / 1000,
        Some(exponent) => {
            let (sign, power) = exponent.strip_prefix(b"-").map_or((1, exponent), |power| (-1, power));
            let power = value(power) as i64 * sign;
            scaled(&[whole, fraction].concat(), power + 6 - fraction.len() as i64)?
        }
    };
    (time < MOST).then_some(Some(time as i64))
}

fn value(digits: &[u8]) -> i128 {
    digits.iter().fold(0, |sum, digit| sum * 10 + i128::from(digit & 15))
}

/// The integer part of digits and a power of ten; `None` for a large one.
///
/// The reference rounds decimal numbers to 28 digits, half to even.
pub fn scaled(digits: &[u8], power: i64) -> Option<i128> {
    let mut power = power.max(-1 - digits.len() as i64);
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[zeros..];
    let (kept, lost) = digits.split_at(digits.len().min(PRECISION));
    let mut number = value(kept);
    if let Some((&first, others)) = lost.split_first() {
        power += lost.len() as i64;
        let is_more = others.iter().any(|&digit| digit != b'0');
        number += i128::from(first > b'5' || (first == b'5' && (is_more || number % 2 == 1)));
    }
    for _ in 0..power {
        number = number.checked_mul(10)?;
    }
    for _ in power..0 {
        number /= 10;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_bytes() {
        assert_eq!(&*decoded(b"a#22b#c3#A4#2"), b"a\"b\xc3\xa4#2");
        assert_eq!(&*decoded(b"##41#x1"), b"#A#x1");
    }

    #[test]
    fn an_address_stands_without_its_port() {
        for (address, host) in [("1.2.3.4", "1.2.3.4"), ("1.2.3.4:5", "1.2.3.4"), ("[::1]:5", "::1"), ("::1", "::1")] {
            assert_eq!(host_of(address.as_bytes()), host.as_bytes());
        }
    }

    #[test]
    fn durations_are_exact() {
        let read = |text: &str| milliseconds(Some(text.as_bytes()));
        assert_eq!(read("0.123"), Some(Some(123_000)));
        assert_eq!(read("4,5E-4"), Some(Some(450)));
        assert_eq!(read("1.0E3"), Some(Some(1_000_000_000)));
        assert_eq!(read("0E99"), Some(Some(0)));
        assert_eq!(read("999999999999.9999999"), Some(Some(999_999_999_999_999_999)));
        assert_eq!(read("999999999999.9999999999999999E0"), Some(Some(999_999_999_999_999_999)));
        assert_eq!((read("1000000000000"), read("1E99"), milliseconds(None)), (None, None, Some(None)));
    }
}
