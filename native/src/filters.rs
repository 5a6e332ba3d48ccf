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
//! Searches of one application have the same shape for different values, so costs are counted by shape. The text is as
//! the server logged it, so it may be anything that a client can send.
//!
//! The shape of a whole filter depends only on its reduced form: [`reduce`] is one fast pass, and its result a cache key.

mod assertions;
mod reduce;
mod sets;

use std::borrow::Cow;
use std::mem;

pub use reduce::{end_of_value, reduce, values};

use crate::fields::stripped;
use assertions::{LONGEST_SHAPE, assertion, reduce_value};
use sets::{only_assertion, read, unfinished};

/// The shape of an invalid filter.
const UNPARSEABLE: &[u8] = b"(unparseable)";
const CUT: &[u8] = b"...";
/// Bytes of the shape of a filter that the server cut. Longer ones would differ by the position of the cut.
const LONGEST_CUT_SHAPE: usize = 200;

/// The filter without its values; at most 1024 bytes and an ellipsis.
pub fn shape(text: &[u8]) -> Vec<u8> {
    let text = in_parentheses(text);
    let mut rest = Vec::new();
    reduce(&text, &mut rest);
    shape_of_reduced(&rest, is_cut(&text))
}

/// The shape of a filter in parentheses by its reduced form.
pub fn shape_of_reduced(reduced: &[u8], is_cut: bool) -> Vec<u8> {
    if is_cut { cut_shape(reduced.strip_suffix(CUT).unwrap_or(reduced)) } else { whole_shape(reduced) }
}

/// Returns whether the server cut the text. This and the reduced text determine the shape of a text that begins with `(`.
pub fn is_cut(text: &[u8]) -> bool {
    text.ends_with(CUT)
}

/// The filter in parentheses (RFC 4515): old servers log a single assertion without, AD begins with a blank.
fn in_parentheses(text: &[u8]) -> Cow<'_, [u8]> {
    let text = if text.starts_with(b"(") { text } else { stripped(text) };
    if text.starts_with(b"(") { Cow::Borrowed(text) } else { Cow::Owned([b"(", text, b")"].concat()) }
}

fn whole_shape(reduced: &[u8]) -> Vec<u8> {
    if let Some(shape) = only_assertion(reduced) {
        return elided(shape);
    }
    match read(reduced) {
        Some((mut open_sets, at)) if at == reduced.len() && open_sets.len() == 1 && open_sets[0].count == 1 => {
            elided(mem::take(&mut open_sets[0].members))
        }
        _ => UNPARSEABLE.to_vec(),
    }
}

/// The shape of a filter that was cut, as far as it is certain.
fn cut_shape(reduced: &[u8]) -> Vec<u8> {
    let Some((mut open_sets, at)) = read(reduced) else { return UNPARSEABLE.to_vec() };
    if at < reduced.len() {
        let Some(last) = unfinished(&reduced[at..]) else { return UNPARSEABLE.to_vec() };
        if let (Some((attribute, value)), Some(innermost)) = (last, open_sets.last_mut()) {
            let (mut rest, mut leaf) = (Vec::new(), Vec::new());
            reduce_value(value, &mut rest);
            assertion(attribute, &rest, &mut leaf);
            if innermost.operator != Some(b'|') || innermost.last != leaf {
                innermost.add(leaf.strip_suffix(b")").unwrap_or(&leaf));
            }
        }
    }
    let mut shape = Vec::new();
    // More would exceed the limit: all but the outermost begin with two bytes.
    for each in open_sets.iter().take(LONGEST_CUT_SHAPE) {
        each.begun(&mut shape);
    }
    shape.truncate(LONGEST_CUT_SHAPE);
    shape.extend_from_slice(CUT);
    shape
}

/// At most 1024 bytes, and an ellipsis where there were more.
fn elided(mut whole: Vec<u8>) -> Vec<u8> {
    if whole.len() > LONGEST_SHAPE {
        whole.truncate(LONGEST_SHAPE);
        whole.extend_from_slice(CUT);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        reduce(text, &mut out);
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
    fn a_reduced_filter_stays_as_it_is() {
        for text in [&b"(&(objectClass=a=b)(uid==)(cn=a*b=*c*)(d=))(("[..], b"x=y", b"(OBJECTCLASS=*x", b"=", b""] {
            assert_eq!(reduced(&reduced(text)), reduced(text));
        }
        assert_eq!(reduced(b"(objectclass*a)"), b"(objectclass*?)");
        assert_eq!(reduced(b"(objectclass=a=b)(\xff:dn:=joe)(cn=*\xaa*=)"), b"(objectclass=a=?)(\xff:dn:=?)(cn=*?*?)");
    }

    #[test]
    fn filters_that_differ_in_a_value_have_one_shape() {
        let (one, other) = (b"(|(uid=joe)(cn=*a*)(objectClass=person))", b"(|(uid=ann)(cn=*bc*)(objectClass=person))");
        assert_eq!(reduced(one), reduced(other));
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
