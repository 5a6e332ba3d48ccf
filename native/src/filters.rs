//! Search filters (RFC 4515): the shape of a filter is the filter without its values.
//!
//! ```text
//! (uid=joe)                                    (uid=?)
//! (&(objectClass=person)(cn=*jo*))             (&(objectClass=person)(cn=*?*))
//! (|(uid=a)(uid=b)(uid=c)(mail=d))             (|(uid=?)(mail=?))
//! (?employeeNumber>=10)                        (?employeeNumber>=?)       undefined to slapd
//! (|(uid=a)(uid=b)(ui...                       (|(uid=?)...               cut by 389-ds after 512 bytes
//! ```
//!
//! Searches of one application have one shape, whatever they look for: what they cost is told by shape. The text is as
//! the server logged it, hence anything a client can send.
//!
//! A whole filter's shape is a function of what [`bare`] leaves of it: one quick pass over a search, and a look-up.

mod bare;
mod sets;

use std::borrow::Cow;

pub use bare::bare;

use crate::fields::stripped;
use sets::{read, unfinished};

/// The shape of what is no filter.
const UNPARSEABLE: &[u8] = b"(unparseable)";
const CUT: &[u8] = b"...";
const LONGEST_SHAPE: usize = 1024;
/// Of a filter that the server cut: what is left of a long one differs by where it was cut.
const LONGEST_CUT_SHAPE: usize = 200;
const LONGEST_CLASS_NAME: usize = 64;
const OBJECT_CLASS: &[u8] = b"objectclass";

/// The filter without its values; at most 1024 bytes and an ellipsis.
pub fn shape(text: &[u8]) -> Vec<u8> {
    let text = in_parentheses(text);
    let mut rest = Vec::new();
    bare(&text, &mut rest);
    if is_cut(&text) { cut_shape(rest.strip_suffix(CUT).unwrap_or(&rest)) } else { whole_shape(&rest) }
}

/// Whether the server cut the text. This, and what [`bare`] leaves of it, decide the shape of all that begins with `(`.
pub fn is_cut(text: &[u8]) -> bool {
    text.ends_with(CUT)
}

/// The filter as RFC 4515 writes it: old servers log a single assertion bare, AD begins with a blank.
fn in_parentheses(text: &[u8]) -> Cow<'_, [u8]> {
    let text = if text.starts_with(b"(") { text } else { stripped(text) };
    if text.starts_with(b"(") { Cow::Borrowed(text) } else { Cow::Owned([b"(", text, b")"].concat()) }
}

fn whole_shape(bare: &[u8]) -> Vec<u8> {
    match read(bare) {
        Some((open_sets, at)) if at == bare.len() && open_sets.len() == 1 && open_sets[0].count == 1 => {
            elided(&open_sets[0].members)
        }
        _ => UNPARSEABLE.to_vec(),
    }
}

/// The shape of what a cut has left, as far as it is certain.
fn cut_shape(bare: &[u8]) -> Vec<u8> {
    let Some((mut open_sets, at)) = read(bare) else { return UNPARSEABLE.to_vec() };
    if at < bare.len() {
        let Some(assertion) = unfinished(&bare[at..]) else { return UNPARSEABLE.to_vec() };
        if let (Some((attribute, value)), Some(innermost)) = (assertion, open_sets.last_mut()) {
            let (mut rest, mut leaf) = (Vec::new(), Vec::new());
            without_pieces(value, &mut rest);
            self::leaf(attribute, &rest, &mut leaf);
            if innermost.operator != Some(b'|') || innermost.last != leaf {
                innermost.add(leaf.strip_suffix(b")").unwrap_or(&leaf));
            }
        }
    }
    let mut told = Vec::new();
    // More could not show: all but the outermost begin with two bytes.
    for each in open_sets.iter().take(LONGEST_CUT_SHAPE) {
        each.begun(&mut told);
    }
    told.truncate(LONGEST_CUT_SHAPE);
    told.extend_from_slice(CUT);
    told
}

/// An assertion without its value; of an object class there are few, and they tell applications apart.
fn leaf(attribute: &[u8], value: &[u8], told: &mut Vec<u8>) {
    let attribute = up_to(attribute, LONGEST_SHAPE);
    told.clear();
    told.push(b'(');
    told.extend_from_slice(attribute);
    told.push(b'=');
    if attribute.eq_ignore_ascii_case(OBJECT_CLASS) && is_object_class(value) {
        told.extend_from_slice(value);
    } else if value.is_empty() {
        told.push(b'?');
    } else {
        without_pieces(up_to(value, LONGEST_SHAPE), told);
    }
    told.push(b')');
}

/// Appends a value with `?` for what stands between its asterisks.
fn without_pieces(value: &[u8], told: &mut Vec<u8>) {
    for (at, &byte) in value.iter().enumerate() {
        if byte == b'*' {
            told.push(b'*');
        } else if at == 0 || value[at - 1] == b'*' {
            told.push(b'?');
        }
    }
}

/// Whether this is the name of an object class, or its OID (RFC 4512, 1.4).
fn is_object_class(value: &[u8]) -> bool {
    if value.len() > LONGEST_CLASS_NAME {
        return false;
    }
    if value.first().is_some_and(u8::is_ascii_alphabetic) {
        return value.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-');
    }
    value.split(|&byte| byte == b'.').all(|arc| !arc.is_empty() && arc.iter().all(u8::is_ascii_digit))
}

fn up_to(text: &[u8], length: usize) -> &[u8] {
    text.get(..length).unwrap_or(text)
}

/// At most 1024 bytes, and an ellipsis where there were more.
fn elided(whole: &[u8]) -> Vec<u8> {
    let mut told = up_to(whole, LONGEST_SHAPE).to_vec();
    if told.len() < whole.len() {
        told.extend_from_slice(CUT);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bared(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        bare(text, &mut out);
        out
    }

    #[test]
    fn a_shape_has_no_values() {
        assert_eq!(shape(b"(&(objectClass=person)(cn=*jo*))"), b"(&(objectClass=person)(cn=*?*))");
        assert_eq!(shape(b"(|(uid=a)(uid=b)(mail=c))"), b"(|(uid=?)(mail=?))");
        assert_eq!(shape(b" ( &  (a=x) (|  (a=b) (a=c) ) ) "), b"(&(a=?)(|(a=?)))");
        assert_eq!(shape(b"objectclass=vlvsearch"), b"(objectclass=vlvsearch)");
        assert_eq!(shape(b"(&(objectClass=per..."), b"(&(objectClass=?...");
        assert_eq!(shape(b"(!(a=b)(c=d))"), UNPARSEABLE);
    }

    #[test]
    fn what_is_bare_stays() {
        for text in [&b"(&(objectClass=a=b)(uid==)(cn=a*b=*c*)(d=))(("[..], b"x=y", b"(OBJECTCLASS=*x", b"=", b""] {
            assert_eq!(bared(&bared(text)), bared(text));
        }
        assert_eq!(bared(b"(objectclass*a)"), b"(objectclass*?)");
        assert_eq!(bared(b"(objectclass=a=b)(\xff:dn:=joe)(cn=*\xaa*=)"), b"(objectclass=a=?)(\xff:dn:=?)(cn=*?*?)");
    }

    #[test]
    fn filters_with_one_rest_have_one_shape() {
        let (one, other) = (b"(|(uid=joe)(cn=*a*)(objectClass=person))", b"(|(uid=ann)(cn=*bc*)(objectClass=person))");
        assert_eq!(bared(one), bared(other));
        assert_eq!(shape(one), shape(other));
    }

    #[test]
    fn depth_is_bounded() {
        const DEEPEST: usize = sets::DEEPEST;
        let nested = |depth: usize| [b"(&".repeat(depth), b")".repeat(depth)].concat();
        assert_eq!(shape(&nested(DEEPEST)).len(), LONGEST_SHAPE + CUT.len());
        assert_eq!(shape(&nested(DEEPEST + 1)), UNPARSEABLE);
    }
}
