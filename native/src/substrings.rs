//! The lengths of the substrings in a filter (RFC 4515); they decide whether a server has an index key to look up.
//!
//! ```text
//! (cn=*jos*)                       3
//! (&(cn=j*)(sn=*a*bc))             112
//! (cn=*J\C3\B6rg Hoffmann*)        9         an escape is one octet; 9 is nine or more
//! (&(cn=j*)(mail=joe@exam...                 cut by the server: unknown
//! ```
//!
//! One digit for each non-empty substring, in order. A filter shape (filters.rs) has the substrings of a filter without
//! their lengths: `(cn=?*)` stands for `(cn=j*)`, too short for any key, and for `(cn=jean*)`.

use memchr::memmem::find;

use crate::fields::stripped;
use crate::filters::is_cut;

/// What comes before the lengths of a search that a limit or a refusal stopped.
const STOPPED_LENGTHS: u8 = b'!';
const MOST_SUBSTRINGS: usize = 32;
/// Octets: longer substrings count as this long, since by default no server needs more for a key.
const LONG: usize = 9;

/// Returns whether a shape has a substring assertion; presence (`=*`) is none.
pub fn has_substrings(shape: &[u8]) -> bool {
    find(shape, b"*?").is_some() || find(shape, b"?*").is_some()
}

/// The lengths of the substrings of a filter as logged; empty for a filter that was cut, or that has more substrings than
/// are kept.
pub fn lengths(text: &[u8]) -> Lengths {
    if is_cut(text) {
        return Lengths::default();
    }
    let mut digits = Lengths::default();
    let mut rest = text.strip_prefix(b"(").unwrap_or_else(|| stripped(text));
    loop {
        if let Some(value) = value(rest) {
            rest = match digits.read(value) {
                Some(rest) => rest,
                None => return Lengths::default(),
            };
        }
        let Some(next) = rest.iter().position(|&byte| byte == b'(') else { return digits };
        rest = &rest[next + 1..];
    }
}

/// What follows the equals sign of an assertion; in >=, <=, ~= and := assertions an asterisk is no wildcard.
fn value(text: &[u8]) -> Option<&[u8]> {
    let equals = text.iter().position(|byte| matches!(byte, b'(' | b')' | b'*' | b'='))?;
    let is_substring = text[equals] == b'=' && !matches!(text[..equals], [.., b'<' | b'>' | b'~' | b':']);
    is_substring.then(|| &text[equals + 1..])
}

/// Returns whether a text begins with an octet in hexadecimal.
fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'\\', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// The lengths of substrings, a digit each.
#[derive(Default)]
pub struct Lengths {
    digits: [u8; MOST_SUBSTRINGS],
    count: usize,
}

impl Lengths {
    /// Adds the substrings of a value, if it has an asterisk, and returns the rest of the text; `None` if there are more
    /// than are kept.
    fn read<'a>(&mut self, mut text: &'a [u8]) -> Option<&'a [u8]> {
        let (mut octets, mut starred) = (0, false);
        while let Some((&byte, behind)) = text.split_first() {
            match byte {
                b'(' | b')' => break,
                b'*' => {
                    self.add(octets)?;
                    (octets, starred) = (0, true);
                }
                _ => octets += 1,
            }
            text = if byte == b'\\' && is_escape(text) { &text[3..] } else { behind };
        }
        if starred {
            self.add(octets)?;
        }
        Some(text)
    }

    /// Adds a substring of `octets`, unless it is empty; `None` if there are more than are kept.
    fn add(&mut self, octets: usize) -> Option<()> {
        if octets > 0 {
            *self.digits.get_mut(self.count)? = b'0' + octets.min(LONG) as u8;
            self.count += 1;
        }
        Some(())
    }

    /// All digits; empty where the lengths are unknown.
    pub fn text(&self) -> &[u8] {
        &self.digits[..self.count]
    }

    /// All digits of a search that a limit or a refusal stopped.
    pub fn stopped(&self) -> Vec<u8> {
        [&[STOPPED_LENGTHS], self.text()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &[u8]) -> Vec<u8> {
        lengths(text).text().to_vec()
    }

    #[test]
    fn a_substring_is_a_digit() {
        assert_eq!(digits(b"(&(cn=j*)(uid=joe)(!(sn=*a*bc)))"), b"112");
        assert_eq!(digits(b" cn=a=b*c "), b"31");
        assert_eq!(digits(br"(cn=*\C3\b6\5c*\zz*123456789012*)"), b"339");
    }

    #[test]
    fn what_is_no_substring_has_none() {
        for text in [&b"(cn=*)"[..], b"(cn=**)", b"(cn>=a*)", b"(cn:2.5.13.5:=a*)", b"(cn*a=b*)", b"(cn=a*...", b""] {
            assert_eq!(digits(text), b"");
        }
    }

    #[test]
    fn more_pieces_than_are_kept_are_not_digits() {
        let many = |count: usize| [&b"(cn=*"[..], &b"ab*".repeat(count), b")"].concat();
        assert_eq!(digits(&many(MOST_SUBSTRINGS)), b"2".repeat(MOST_SUBSTRINGS));
        assert_eq!(digits(&many(MOST_SUBSTRINGS + 1)), b"");
    }
}
