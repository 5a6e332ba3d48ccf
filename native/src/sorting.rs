//! Sorting: what the SORT and VLV lines of 389-ds report on a search, between its request and its result.
//!
//! ```text
//! SORT cn (1033)                      1,033 candidates are sorted in memory
//! SORT -uidNumber cn (*)              every entry is a candidate: the server refuses to sort them
//! SORT cn                             no candidates: a VLV index has them in order, unless notes=U
//! VLV 0:9:0:0 1:20000 (0)             a page of a virtual list view, with its own result code
//! VLV 0:9:M 12935:20000 (0)           one by value, which comes from the client
//! ```
//!
//! Source: ldap/servers/slapd/back-ldbm/sort.c, vlv.c.

use serde::{Deserialize, Serialize};

use memchr::memmem::rfind;

use crate::fields::{number, trimmed};
use crate::interner::{ANONYMOUS, OTHER, Symbol};

/// Bytes kept of the keys of a sort, which come from the client.
const SORT_BYTES: usize = 200;

/// Instead of a number of candidates: no SORT line.
const NO_SORT: i64 = -3;
/// A SORT line without candidates.
const UNLISTED: i64 = -2;
/// Every entry is a candidate.
const ALL: i64 = -1;
/// Instead of the result code of a VLV line.
pub const NO_VLV: i64 = -1;

/// The SORT and the VLV line of one search; each may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Sorting {
    /// As logged: `-uidNumber cn;2.5.13.3`.
    pub keys: Symbol,
    /// The number of candidates, or what is special about them.
    pub candidates: i64,
    /// The result code of the VLV line.
    pub vlv: i64,
}

impl Sorting {
    /// The key that counts everything beyond the cap of sorts.
    pub const OTHER: Sorting = Sorting { keys: OTHER, candidates: NO_SORT, vlv: NO_VLV };

    /// A VLV line.
    pub fn of_vlv(vlv: i64) -> Self {
        Sorting { keys: ANONYMOUS, candidates: NO_SORT, vlv }
    }

    /// Both with what a later line reports.
    pub fn and_then(self, later: Sorting) -> Sorting {
        let sort = if later.candidates == NO_SORT { self } else { later };
        Sorting { vlv: if later.vlv == NO_VLV { self.vlv } else { later.vlv }, ..sort }
    }
}

/// The keys and candidates of a SORT line. The candidates are last, since a key may contain anything.
pub fn sort_line(text: &[u8]) -> (&[u8], i64) {
    let (keys, candidates) = in_parentheses(text)
        .and_then(|(keys, inside)| match inside {
            b"*" => Some((keys, ALL)),
            digits => number(digits, 18).filter(|(_, rest)| rest.is_empty()).map(|(count, _)| (keys, count)),
        })
        .unwrap_or((text, UNLISTED));
    let keys = trimmed(keys);
    (&keys[..keys.len().min(SORT_BYTES)], candidates)
}

/// The result code at the end of a VLV line: `0:9:0:0 1:20000 (0)`.
pub fn vlv_code(text: &[u8]) -> Option<i64> {
    let (_, code) = in_parentheses(text)?;
    number(code, 9).filter(|(_, rest)| rest.is_empty()).map(|(code, _)| code)
}

/// A text before the last blank and parenthesis, and what is in the parentheses at its end.
fn in_parentheses(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_suffix(b")")?;
    let at = rfind(text, b" (")?;
    Some((&text[..at], &text[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidates_come_last() {
        assert_eq!(sort_line(b"cn (1033)"), (&b"cn"[..], 1033));
        assert_eq!(sort_line(b"-uidNumber cn (*)"), (&b"-uidNumber cn"[..], ALL));
        assert_eq!(sort_line(b"cn "), (&b"cn"[..], UNLISTED));
        assert_eq!(sort_line(b"cn (5) (*)"), (&b"cn (5)"[..], ALL));
        assert_eq!(sort_line(b"cn (5) (x)"), (&b"cn (5) (x)"[..], UNLISTED));
        assert_eq!(sort_line(&b"x".repeat(300)), (&b"x".repeat(SORT_BYTES)[..], UNLISTED));
    }

    #[test]
    fn a_value_may_contain_a_code() {
        assert_eq!(vlv_code(b"0:9:a (3) 1:20 (11)"), Some(11));
        assert_eq!(vlv_code(b"0:9:0:0 1:20"), None);
        assert_eq!(vlv_code(b"0:9:0:0 1:20 (-1)"), None);
    }

    #[test]
    fn a_later_line_adds_to_an_earlier_one() {
        let sort = Sorting { keys: OTHER, candidates: 5, vlv: NO_VLV };
        assert_eq!(sort.and_then(Sorting::of_vlv(11)), Sorting { vlv: 11, ..sort });
        assert_eq!(Sorting::of_vlv(11).and_then(sort), Sorting { vlv: 11, ..sort });
    }
}
