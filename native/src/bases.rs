//! Classes of base DNs, so that searches below any of a million entries count as one kind.
//!
//! ```text
//! uid=joe,ou=people,dc=example,dc=com          uid=?,ou=people,dc=example,dc=com
//! cn=staff,ou=groups,dc=x      scope 0         cn=?,ou=groups,dc=x
//! cn=staff,ou=groups,dc=x      scope 2         cn=staff,ou=groups,dc=x
//! cn="a=b,c=d",cn=mapping tree,cn=config       unchanged: the comma is in quotes (RFC 1779)
//! ```
//!
//! RDNs of the types that form the tree (RFC 4519: dc, ou, ...) keep their value; others name entries. The DN is as the
//! server logged it, so it may be anything that a client can send.
//!
//! The class depends only on the result of [`reduce`] and on the scope.

use crate::fields::{is_space, trimmed};

const LONGEST_BASE: usize = 512;
const TREE_TYPES: [&[u8]; 7] = [b"dc", b"ou", b"o", b"c", b"l", b"st", b"cn"];
/// Suffixes of the server's own entries: few, so each keeps its name.
const SERVER_ENTRIES: [&[u8]; 3] = [b"cn=config", b"cn=monitor", b"cn=schema"];
const BASE_SCOPE: i64 = 0;

/// The DN without the values that name entries: at most 512 bytes.
pub fn base_class(base: &[u8], scope: i64) -> Vec<u8> {
    let Some((kind, parent)) = first(base) else { return within_longest(class(base, scope == BASE_SCOPE)) };
    let (name, value): (_, &[u8]) =
        if is_entry_kind(kind, parent, scope) { (kind, b"=?,") } else { (&base[..base.len() - parent.len()], b",") };
    within_longest([name, value, &class(&parent[1..], false)].concat())
}

/// Appends the DN, with `?` for the value of a plain first RDN that names an entry.
pub fn reduce(base: &[u8], scope: i64, out: &mut Vec<u8>) {
    match first(base) {
        Some((kind, parent)) if is_entry_kind(kind, parent, scope) => {
            out.extend_from_slice(&base[..=kind.len()]);
            out.push(b'?');
            out.extend_from_slice(parent);
        }
        _ => out.extend_from_slice(base),
    }
}

/// The type of a leading RDN with one plain value, and the parent DN with the comma: the most frequent form.
fn first(base: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = base.iter().position(|&byte| is_special(byte) || byte == b'=' || is_space(byte))?;
    if equals == 0 || base[equals] != b'=' {
        return None;
    }
    let comma = equals + 1 + base[equals + 1..].iter().position(|&byte| is_special(byte))?;
    let (kind, parent) = (&base[..equals], &base[comma..]);
    let is_plain = comma > equals + 1 && parent[0] == b',' && parent.len() > 1;
    (is_plain && memchr::memchr2(b'"', b'\\', parent).is_none()).then_some((kind, parent))
}

/// Returns whether an RDN of this type in this place names an entry.
fn is_entry_kind(kind: &[u8], parent: &[u8], scope: i64) -> bool {
    !is_tree_type(kind) || (scope == BASE_SCOPE && is_cn(kind) && !is_of_server(parent))
}

/// The class of any DN; the leading cn of an `entry` is replaced, too.
fn class(base: &[u8], entry: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(base.len().min(LONGEST_BASE));
    let mut at = 0;
    let mut leading = true;
    while at < base.len() && out.len() <= LONGEST_BASE {
        let part = part(&base[at..]);
        if part.length == 0 {
            return if out.is_empty() { b"?".to_vec() } else { out };
        }
        at += part.length;
        let kind = trimmed(part.kind);
        match part.value {
            None => out.push(b'?'),
            Some(value) => {
                let is_one = leading && entry && is_cn(kind) && at < base.len() && !is_of_server(base);
                out.extend_from_slice(kind);
                out.push(b'=');
                out.extend_from_slice(if is_one || !is_tree_type(kind) { b"?" } else { trimmed(value) });
            }
        }
        out.extend(part.separator);
        leading = leading && part.separator == Some(b'+');
    }
    out
}

/// One type and value, and the separator behind them (RFC 4514, 2.3).
struct Part<'a> {
    kind: &'a [u8],
    /// `None` without an equals sign.
    value: Option<&'a [u8]>,
    separator: Option<u8>,
    length: usize,
}

fn part(text: &[u8]) -> Part<'_> {
    let begin = text.iter().take_while(|byte| is_space(**byte)).count();
    let end_of_kind = begin + up_to(&text[begin..], |byte| byte == b'=' || is_special(byte));
    let mut end = end_of_kind;
    let mut value = None;
    if text.get(end) == Some(&b'=') {
        end += 1 + length_of_value(&text[end + 1..]);
        value = Some(&text[end_of_kind + 1..end]);
    }
    let separator = text.get(end).copied().filter(|byte| matches!(byte, b',' | b'+'));
    Part { kind: &text[begin..end_of_kind], value, separator, length: end + usize::from(separator.is_some()) }
}

/// The length up to a comma or plus sign that is neither escaped nor quoted.
fn length_of_value(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b',' | b'+' => break,
            b'\\' => 2,
            b'"' => length_of_quoted(&text[at..]).unwrap_or(1),
            _ => up_to(&text[at..], is_special),
        };
    }
    at.min(text.len())
}

/// The length with both quotes; `None` if the second is missing, and then no later one has a second.
fn length_of_quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b',' | b'+' | b'"' | b'\\')
}

fn up_to(text: &[u8], is_end: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| is_end(byte)).unwrap_or(text.len())
}

fn is_tree_type(kind: &[u8]) -> bool {
    TREE_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known))
}

fn is_cn(kind: &[u8]) -> bool {
    kind.eq_ignore_ascii_case(b"cn")
}

fn is_of_server(base: &[u8]) -> bool {
    let end = trimmed(&base[base.len().saturating_sub(LONGEST_BASE)..]);
    SERVER_ENTRIES.iter().any(|entry| {
        let begin = end.len().saturating_sub(entry.len());
        end[begin..].eq_ignore_ascii_case(entry)
    })
}

/// Cuts a class to at most 512 bytes, ellipsis included.
fn within_longest(mut out: Vec<u8>) -> Vec<u8> {
    if out.len() > LONGEST_BASE {
        out.truncate(LONGEST_BASE - 3);
        out.extend_from_slice(b"...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_no_names_of_entries() {
        assert_eq!(base_class(b"UID=joe, OU=people,DC=x", 2), b"UID=?,OU=people,DC=x");
        assert_eq!(base_class(b"cn=staff,ou=groups,dc=x", BASE_SCOPE), b"cn=?,ou=groups,dc=x");
        assert_eq!(base_class(b"cn=staff,ou=groups,dc=x", 2), b"cn=staff,ou=groups,dc=x");
        assert_eq!(base_class(b"cn=uid,cn=index,cn=config", BASE_SCOPE), b"cn=uid,cn=index,cn=config");
        assert_eq!(base_class(b"cn=\"a,b\",cn=x", 2), b"cn=\"a,b\",cn=x");
        assert_eq!(base_class(b"uid=a\\,b+cn=c,ou=people", BASE_SCOPE), b"uid=?+cn=?,ou=people");
        assert_eq!(base_class(b"EXAMPLE\\joe", 2), b"?");
    }

    #[test]
    fn a_reduced_base_has_the_same_class() {
        for base in
            [&b"uid=joe,ou=people"[..], b"cn=a,ou=b", b"cn=a,cn=config", b"uid=\\,,x", b"uid=a+b=c,d", b"a", b""]
        {
            for scope in 0..3 {
                let mut rest = Vec::new();
                reduce(base, scope, &mut rest);
                assert_eq!(base_class(&rest, scope), base_class(base, scope));
            }
        }
    }

    #[test]
    fn quotes_and_backslashes_may_lack_their_other_half() {
        for base in [&b"ou=\""[..], b"ou=\"\\", b"ou=\\", b"\"", b"\\", b"ou=a\\\",\"", b" ", b"="] {
            base_class(base, BASE_SCOPE);
        }
    }
}
