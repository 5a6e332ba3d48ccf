//! Strings of JSON: their end, and their escapes.

use memchr::memchr;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The number of bytes before the first quote, backslash or control character.
#[inline]
pub fn plain(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk() {
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')).unwrap_or(rest.len())
}

/// The high bit of the first of eight bytes that is a quote, a backslash or below a space; higher bits may be wrong.
///
/// Source: "Bit Twiddling Hacks", Sean Eron Anderson: haszero, hasless.
#[inline]
const fn special(eight: u64) -> u64 {
    let (quotes, backslashes) = (eight ^ (ONES * b'"' as u64), eight ^ (ONES * b'\\' as u64));
    let controls = eight.wrapping_sub(ONES * 0x20) & !eight;
    (controls | quotes.wrapping_sub(ONES) & !quotes | backslashes.wrapping_sub(ONES) & !backslashes) & HIGH_BITS
}

/// Adds half of a surrogate pair to a text.
type Half = fn(u32, &mut Vec<u8>);

/// Resolves the escapes of a valid string.
///
/// Half of a pair becomes a question mark, or the byte that it represents in Python's `surrogateescape`.
pub fn unescaped(raw: &[u8]) -> Vec<u8> {
    unescaped_by(raw, |code, made| made.push(if let 0xdc80..=0xdcff = code { code as u8 } else { b'?' }))
}

/// Encodes half of a pair as if it were a character, like Python's `surrogatepass`.
pub fn with_halves(code: u32, made: &mut Vec<u8>) {
    made.extend([0xe0 | code >> 12, 0x80 | code >> 6 & 0x3f, 0x80 | code & 0x3f].map(|byte| byte as u8));
}

/// Resolves the escapes of a valid string; `half` adds half of a surrogate pair.
pub fn unescaped_by(raw: &[u8], half: Half) -> Vec<u8> {
    let (mut made, mut rest) = (Vec::with_capacity(raw.len()), raw);
    while let Some(at) = memchr(b'\\', rest) {
        made.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&escape, behind)) = rest.split_first() else { break };
        rest = behind;
        match escape {
            b'u' => rest = unicode(rest, &mut made, half),
            b'b' => made.push(0x08),
            b'f' => made.push(0x0c),
            b'n' => made.push(b'\n'),
            b'r' => made.push(b'\r'),
            b't' => made.push(b'\t'),
            itself => made.push(itself),
        }
    }
    made.extend_from_slice(rest);
    made
}

/// Adds the character of the four digits after `\u`, or of a surrogate pair; returns the rest.
fn unicode<'a>(text: &'a [u8], made: &mut Vec<u8>, half: Half) -> &'a [u8] {
    let (unit, mut rest) = (hexadecimal(text), text.get(4..).unwrap_or_default());
    let mut code = unit;
    if let (0xd800..0xdc00, Some(second)) = (unit, rest.strip_prefix(b"\\u"))
        && let low @ 0xdc00..0xe000 = hexadecimal(second)
    {
        code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        rest = second.get(4..).unwrap_or_default();
    }
    match char::from_u32(code) {
        Some(character) => made.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => half(code, made),
    }
    rest
}

/// The value of the first four digits.
fn hexadecimal(text: &[u8]) -> u32 {
    text.iter().take(4).fold(0, |sum, &digit| sum << 4 | char::from(digit).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_the_first_that_is_special() {
        for special in [b'"', b'\\', 0, 0x1f] {
            for length in 0..40 {
                let text = [&vec![b' '; length][..], &[special, b'"', 0x7f, 0xff]].concat();
                assert_eq!(plain(&text), length);
                assert_eq!(plain(&text[..length]), length);
            }
        }
        assert_eq!(plain(b"!#[]\x7f\x80\xa2\xdc\xff  "), 11);
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        let text = unescaped(br#"\"\\\/\b\f\n\r\t\u00fc\uD83d\uDe00."#);
        assert_eq!(text, "\"\\/\x08\x0c\n\r\t\u{fc}\u{1f600}.".as_bytes());
        assert_eq!(unescaped(b"\xff\xc3\xbc\x7f"), b"\xff\xc3\xbc\x7f");
        assert_eq!(unescaped(br"\ud800\ud83d\ude00\udc00\udc80"), b"?\xf0\x9f\x98\x80?\x80");
        assert_eq!(unescaped_by(br"\ud800.\udfff", with_halves), b"\xed\xa0\x80.\xed\xbf\xbf");
    }
}
