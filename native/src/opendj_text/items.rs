//! Controls of a request, and the additional items of a result.

use memchr::memchr;

use crate::fields::{any, is_space, is_word, run};
use crate::opends::quoted;

/// The text after `( requestControls=[\d.,]*)?( type=synchronization)?`.
pub fn after_controls(text: &[u8]) -> &[u8] {
    let is_of_oids = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b',';
    let text = text.strip_prefix(b" requestControls=").map_or(text, |text| any(text, usize::MAX, is_of_oids).1);
    text.strip_prefix(b" type=synchronization").unwrap_or(text)
}

/// The text after an additional item of a result: a word, or a name and its value.
///
/// ```text
///  (?!(etime|nentries|authDN|authFailureReason|message)=)[\w-]+(='[^']*'|="ESCAPED"|=[^\s'"]+)?
/// ```
pub fn after_item(text: &[u8]) -> Option<&[u8]> {
    const OTHERS: [&[u8]; 5] = [b"etime", b"nentries", b"authDN", b"authFailureReason", b"message"];
    let (name, rest) = run(text.strip_prefix(b" ")?, usize::MAX, |byte| is_word(byte) || byte == b'-')?;
    let Some(value) = rest.strip_prefix(b"=") else { return Some(rest) };
    if OTHERS.contains(&name) {
        return None;
    }
    let behind = match value.first() {
        Some(b'\'') => memchr(b'\'', &value[1..]).map(|end| &value[end + 2..]),
        Some(b'"') => quoted(&value[1..]).map(|(_, behind)| behind),
        _ => run(value, usize::MAX, |byte| !is_space(byte) && byte != b'\'' && byte != b'"').map(|(_, behind)| behind),
    };
    Some(behind.unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_a_word_or_has_a_value() {
        for item in [" unindexed", " a-b=c", " a='b c'", r#" a="b\" c""#] {
            assert_eq!(after_item(format!("{item} etime=1").as_bytes()), Some(&b" etime=1"[..]));
        }
        assert_eq!(after_item(b" a='b"), Some(&b"='b"[..]));
        assert_eq!((after_item(b" etime=1"), after_item(b" ")), (None, None));
        assert_eq!(after_item(b" etime"), Some(&b""[..]));
    }
}
