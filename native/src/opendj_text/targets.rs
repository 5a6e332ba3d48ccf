//! The DN of an operation's entry, or its OID.

use memchr::{memchr, memchr_iter};

use crate::opends::is_end;

/// The DN of ` dn="..."`, the OID of ` name="..." oid="..."`; empty if there is none.
///
/// A quote ends it if the end of the line or another field follows.
pub fn target(text: &[u8]) -> &[u8] {
    const FIELDS: [&[u8]; 7] = [b"attr", b"newRDN", b"requestControls", b"type", b"result", b"name", b"oid"];
    let is_field =
        |text: &[u8]| FIELDS.iter().any(|name| text.strip_prefix(*name).is_some_and(|text| text.starts_with(b"=")));
    let Some(text) = begin(text) else { return b"" };
    let is_end_of_target = |&end: &usize| {
        let behind = &text[end + 1..];
        behind.strip_prefix(b" ").is_some_and(is_field) || is_end(behind)
    };
    memchr_iter(b'"', text).find(is_end_of_target).map_or(b"", |end| &text[..end])
}

fn begin(text: &[u8]) -> Option<&[u8]> {
    if let Some(text) = text.strip_prefix(b" dn=\"") {
        return Some(text);
    }
    let named = text.strip_prefix(b" name=\"").and_then(|name| Some(&name[memchr(b'"', name)? + 1..]));
    named.unwrap_or(text).strip_prefix(b" oid=\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_may_have_quotes() {
        assert_eq!(target(b" dn=\"cn=\"Doe\",dc=x\" attr=\"cn\""), b"cn=\"Doe\",dc=x");
        assert_eq!(target(b" name=\"StartTLS\" oid=\"1.3.6\" \r"), b"1.3.6");
        assert_eq!((target(b" dn=\"cn=a"), target(b" x")), (&b""[..], &b""[..]));
    }
}
