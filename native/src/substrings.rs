//! The pieces of substring assertions (RFC 4515): how long they are decides whether a server has a key to look for.
//!
//! ```text
//! (cn=*jos*)                       3
//! (&(cn=j*)(sn=*a*bc))             112
//! (cn=*J\C3\B6rg Hoffmann*)        9         an escape is one octet; 9 is nine or more
//! (&(cn=j*)(mail=joe@exam...                 cut by the server: not told
//! ```
//!
//! One digit for each piece that is not empty, in the order they are written. A shape (filters.rs) has the pieces of a
//! filter and not their lengths: `(cn=?*)` is `(cn=j*)`, too short for any key, and `(cn=jean*)`.

use memchr::memmem::find;

use crate::fields::stripped;
use crate::filters::is_cut;

const MOST_PIECES: usize = 32;
/// Octets: pieces so long or longer are all alike, for no server wants more for a key by default.
const LONG: usize = 9;

/// Whether a shape holds a substring assertion with a piece; presence has none.
pub fn has_substrings(shape: &[u8]) -> bool {
    find(shape, b"*?").is_some() || find(shape, b"?*").is_some()
}

/// The lengths of the pieces of a filter as logged, a digit each; none are told of a filter that was cut, nor of one
/// with more pieces than are kept.
pub fn lengths(text: &[u8]) -> Lengths {
    if is_cut(text) {
        return Lengths::default();
    }
    let mut told = Lengths::default();
    let mut rest = text.strip_prefix(b"(").unwrap_or_else(|| stripped(text));
    loop {
        if let Some(value) = value(rest) {
            rest = match told.read(value) {
                Some(rest) => rest,
                None => return Lengths::default(),
            };
        }
        let Some(next) = rest.iter().position(|&byte| byte == b'(') else { return told };
        rest = &rest[next + 1..];
    }
}

/// What follows the equals sign of an assertion, but for >=, <=, ~= and :=: there an asterisk is none of a substring.
fn value(text: &[u8]) -> Option<&[u8]> {
    let equals = text.iter().position(|byte| matches!(byte, b'(' | b')' | b'*' | b'='))?;
    let is_substring = text[equals] == b'=' && !matches!(text[..equals], [.., b'<' | b'>' | b'~' | b':']);
    is_substring.then(|| &text[equals + 1..])
}

/// Whether a text begins with an octet in hexadecimal.
fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'\\', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// A digit for each piece.
#[derive(Default)]
pub struct Lengths {
    digits: [u8; MOST_PIECES],
    count: usize,
}

impl Lengths {
    /// Reads a value, of whose pieces each is a digit if it has an asterisk; returns what stands behind it, None if
    /// there are more pieces than are kept.
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

    /// Adds a piece of so many octets, unless it is empty; None if there are more than are kept.
    fn add(&mut self, octets: usize) -> Option<()> {
        if octets > 0 {
            *self.digits.get_mut(self.count)? = b'0' + octets.min(LONG) as u8;
            self.count += 1;
        }
        Some(())
    }

    /// All digits; none where they are not told.
    pub fn text(&self) -> &[u8] {
        &self.digits[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &[u8]) -> Vec<u8> {
        lengths(text).text().to_vec()
    }

    #[test]
    fn a_piece_is_a_digit() {
        assert_eq!(told(b"(&(cn=j*)(uid=joe)(!(sn=*a*bc)))"), b"112");
        assert_eq!(told(b" cn=a=b*c "), b"31");
        assert_eq!(told(br"(cn=*\C3\b6\5c*\zz*123456789012*)"), b"339");
    }

    #[test]
    fn what_is_no_substring_has_none() {
        for text in [&b"(cn=*)"[..], b"(cn=**)", b"(cn>=a*)", b"(cn:2.5.13.5:=a*)", b"(cn*a=b*)", b"(cn=a*...", b""] {
            assert_eq!(told(text), b"");
        }
    }

    #[test]
    fn more_pieces_than_are_kept_are_not_told() {
        let many = |count: usize| [&b"(cn=*"[..], &b"ab*".repeat(count), b")"].concat();
        assert_eq!(told(&many(MOST_PIECES)), b"2".repeat(MOST_PIECES));
        assert_eq!(told(&many(MOST_PIECES + 1)), b"");
    }
}
