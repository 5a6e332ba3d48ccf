//! Primitive parsers for the parts of fields. Each returns the part and the rest of the text, or `None`.
//!
//! Repetitions are greedy and never backtrack, like the possessive quantifiers of the reference.

use memchr::memchr;

/// `\w` of the reference.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `\s` of the reference.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The text after leading blanks.
pub fn blanks(text: &[u8]) -> &[u8] {
    let count = text.iter().position(|&byte| byte != b' ').unwrap_or(text.len());
    &text[count..]
}

/// The text without white space at its end.
pub fn trimmed(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| !is_space(*byte)).map_or(0, |last| last + 1)]
}

/// The text without white space at either end.
pub fn stripped(text: &[u8]) -> &[u8] {
    let text = trimmed(text);
    &text[text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len())..]
}

/// The first line, and the lines after it.
#[inline(always)]
pub fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, b""),
    }
}

/// The part of a text before its rest.
#[inline]
pub fn before<'a>(text: &'a [u8], rest: &[u8]) -> &'a [u8] {
    &text[..text.len().saturating_sub(rest.len())]
}

/// `[class]{0,most}`.
#[inline]
pub fn any(text: &[u8], most: usize, is: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let longest = &text[..text.len().min(most)];
    text.split_at(longest.iter().position(|byte| !is(*byte)).unwrap_or(longest.len()))
}

/// `[class]{1,most}`.
#[inline]
pub fn run(text: &[u8], most: usize, is: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    Some(any(text, most, is)).filter(|(run, _)| !run.is_empty())
}

/// `\S{1,most}`.
pub fn word(text: &[u8], most: usize) -> Option<(&[u8], &[u8])> {
    run(text, most, |byte| !is_space(byte))
}

/// `\d{1,most}`.
#[inline]
pub fn digits(text: &[u8], most: usize) -> Option<(&[u8], &[u8])> {
    run(text, most, |byte| byte.is_ascii_digit())
}

/// `\d{1,most}` as a number; at most 18 digits. Most numbers have fewer than eight, which are read at once.
#[inline(always)]
pub fn number(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    let Some(eight) = text.first_chunk() else { return long_number(text, most) };
    let eight = u64::from_le_bytes(*eight) ^ ZEROS;
    let count = digits_of(eight);
    if count == 8 || count > most {
        return long_number(text, most);
    }
    value_of(eight, count).map(|value| (value, &text[count..]))
}

/// The same for a number of any length, also at the end of a text, a digit at a time.
fn long_number(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    let longest = &text[..text.len().min(most)];
    let (mut value, mut count) = (0_i64, 0);
    for byte in longest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        count += 1;
    }
    if count == 0 { None } else { Some((value, &text[count..])) }
}

/// `-?\d{1,most}` as a number.
#[inline(always)]
pub fn signed(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    match text.strip_prefix(b"-") {
        Some(text) => number(text, most).map(|(value, rest)| (-value, rest)),
        None => number(text, most),
    }
}

/// `\d{9}` as a number: a fraction of a second in nanoseconds.
#[inline(always)]
pub fn nine(text: &[u8]) -> Option<(i64, &[u8])> {
    let (nine, rest) = text.split_first_chunk::<9>()?;
    let [eight @ .., ninth] = nine;
    let eight = u64::from_le_bytes(*eight) ^ ZEROS;
    if digits_of(eight) < 8 || !ninth.is_ascii_digit() {
        return None;
    }
    Some((value_of(eight, 8)? * 10 + i64::from(ninth & 15), rest))
}

/// The rest after a text like the example, in which 0 matches any digit and every other byte itself.
pub fn like<'a, const LENGTH: usize>(example: &[u8; LENGTH], text: &'a [u8]) -> Option<&'a [u8]> {
    let (found, rest) = text.split_first_chunk::<LENGTH>()?;
    // Without a branch per byte.
    let fits = |(&like, byte): (&u8, &u8)| (like == b'0' && byte.is_ascii_digit()) | (*byte == like);
    example.iter().zip(found).fold(true, |all, pair| all & fits(pair)).then_some(rest)
}

/// Returns whether a text begins with this word: `word\b`.
pub fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.first().is_some_and(|byte| is_word(*byte)))
}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The number of leading digits in eight bytes, which were XORed with `0`.
#[inline]
fn digits_of(eight: u64) -> usize {
    // A byte above 9 sets its highest bit. A carry into the next byte is harmless, since only the first such byte counts.
    let others = (eight.wrapping_add(0x7676_7676_7676_7676) | eight) & 0x8080_8080_8080_8080;
    others.trailing_zeros() as usize / 8
}

/// The value of the first `count` of eight digits, in pairs, then fours, then eight; `None` if there are none.
#[inline]
fn value_of(eight: u64, count: usize) -> Option<i64> {
    let ones = eight.checked_shl(64 - 8 * count as u32)?;
    let pairs = ones.wrapping_mul(10).wrapping_add(ones >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    Some(((fours & 0xFFFF) * 10_000 + (fours >> 32)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_digits_and_no_other_bytes() {
        assert_eq!(nine(b"012345678 "), Some((12_345_678, &b" "[..])));
        assert_eq!(nine(b"999999999"), Some((999_999_999, &b""[..])));
        for place in 0..9 {
            for byte in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit()) {
                let mut text = *b"999999999";
                text[place] = byte;
                assert_eq!(nine(&text), None);
            }
        }
    }

    #[test]
    fn numbers_end_with_the_most_digits_there_may_be() {
        assert_eq!(signed(b"-12345", 3), Some((-123, &b"45"[..])));
        assert_eq!(number(b"999999999999999999", 18), Some((999_999_999_999_999_999, &b""[..])));
        assert_eq!(number(b"12345 and more", 3), Some((123, &b"45 and more"[..])));
        assert_eq!((signed(b"-", 3), number(b" 2345678", 18)), (None, None));
        assert_eq!(number(b"op=12345", 10), None);
        for count in 1..=9 {
            let text = [&b"123456789"[..count], b" \xff\x80\x30\xff/:"].concat();
            assert_eq!(number(&text, 10).map(|(_, rest)| rest.len()), Some(7));
            assert_eq!(number(&text, 10).map(|(value, _)| value.to_string()), Some("123456789"[..count].into()));
        }
    }

    #[test]
    fn a_word_ends_where_another_kind_of_byte_stands() {
        assert!(starts_with_word(b"MOD", b"MOD") && starts_with_word(b"MOD-", b"MOD"));
        assert!(!starts_with_word(b"MODRDN", b"MOD") && !starts_with_word(b"MO", b"MOD"));
        assert_eq!(trimmed(b" a\x0b\r\n"), b" a");
    }
}
