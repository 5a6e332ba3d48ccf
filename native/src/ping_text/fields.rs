//! The grammar of a record: its words, and fields in any order.

use memchr::memchr_iter;

use super::values::number_end;
use crate::fields::{any, before, digits, is_space, is_word, number, run, signed};
use crate::opends::{Stamp, is_end};

/// The words and the fields of a record.
#[derive(Default)]
pub struct Record<'a> {
    pub word: &'a [u8],
    /// REQUEST, RESULT, ...; empty if there is none.
    pub half: &'a [u8],
    pub conn: Option<i64>,
    pub op: Option<i64>,
    pub instance: Option<&'a [u8]>,
    pub startup: Option<&'a [u8]>,
    pub client: Option<&'a [u8]>,
    pub server: Option<&'a [u8]>,
    pub reason: Option<&'a [u8]>,
    pub requester: Option<&'a [u8]>,
    pub requester_dn: Option<&'a [u8]>,
    pub protocol: Option<&'a [u8]>,
    pub cipher: Option<&'a [u8]>,
    pub certificate: Option<&'a [u8]>,
    pub kind_of_bind: Option<&'a [u8]>,
    pub mechanism: Option<&'a [u8]>,
    pub dn: Option<&'a [u8]>,
    pub base: Option<&'a [u8]>,
    pub scope: Option<i64>,
    pub filter: Option<&'a [u8]>,
    pub oid: Option<&'a [u8]>,
    pub err: Option<i64>,
    pub etime: Option<&'a [u8]>,
    pub qtime: Option<&'a [u8]>,
    pub entries: Option<i64>,
    pub is_unindexed: bool,
    pub account: Option<&'a [u8]>,
}

impl<'a> Record<'a> {
    /// Reads `[...] WORD( HALF)?( NAME=VALUE)*`.
    pub fn read(text: &'a [u8]) -> Option<(Stamp<'a>, Self)> {
        let (stamp, text) = Stamp::read(text)?;
        let (word, mut text) = capitals(text)?;
        let mut record = Record { word, ..Record::default() };
        if let Some((half, rest)) = text.strip_prefix(b" ").and_then(capitals).filter(|(_, rest)| ends(rest)) {
            (record.half, text) = (half, rest);
        }
        while let Some(rest) = text.strip_prefix(b" ").and_then(|text| record.read_field(text)) {
            text = rest;
        }
        is_end(text).then_some((stamp, record))
    }

    /// Reads a field that a blank or the end of the line follows, and returns what follows; one with a known name and
    /// another kind of value is passed over.
    fn read_field(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        let (name, rest) = run(text, usize::MAX, |byte| is_word(byte) || byte == b'.' || byte == b'-')?;
        let rest = rest.strip_prefix(b"=")?;
        match rest.strip_prefix(b"\"") {
            Some(value) => self.read_text(name, value),
            None => self.read_number(name, rest).or_else(|| unquoted(name, rest)),
        }
    }

    /// Reads a value in quotes.
    fn read_text(&mut self, name: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
        let field = match name {
            b"instanceName" => &mut self.instance,
            b"startupID" => &mut self.startup,
            b"from" => &mut self.client,
            b"to" => &mut self.server,
            b"reason" => &mut self.reason,
            b"requesterIP" => &mut self.requester,
            b"requesterDN" => &mut self.requester_dn,
            b"protocol" => &mut self.protocol,
            b"cipher" => {
                let (value, rest) = quoted(text)?;
                // Its closing quote is followed by the next field without a blank.
                self.cipher = Some(any(value, usize::MAX, |byte| byte != b'"').0);
                return Some(rest);
            }
            b"autoAuthenticatedAs" => &mut self.certificate,
            b"authType" => &mut self.kind_of_bind,
            b"saslMechanism" => &mut self.mechanism,
            b"dn" => &mut self.dn,
            b"base" => &mut self.base,
            b"filter" => {
                let (value, rest) = filter(text)?;
                self.filter = Some(value);
                return Some(rest);
            }
            b"requestOID" => &mut self.oid,
            b"authDN" => &mut self.account,
            b"etime" | b"qtime" => return None,
            _ => return quoted(text).map(|(_, rest)| rest),
        };
        let (value, rest) = quoted(text)?;
        *field = Some(value);
        Some(rest)
    }

    /// Reads a value without quotes; `None` for any other name or value.
    fn read_number(&mut self, name: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
        let whole = |most: usize| number(text, most).filter(|(_, rest)| ends(rest));
        let field = match name {
            b"conn" => {
                let (conn, rest) = signed(text, 18).filter(|(_, rest)| ends(rest))?;
                self.conn = Some(conn);
                return Some(rest);
            }
            b"op" => (&mut self.op, whole(18)?),
            b"scope" if matches!(text.first(), Some(b'0'..=b'3')) => (&mut self.scope, whole(1)?),
            b"resultCode" => (&mut self.err, whole(9)?),
            b"entriesReturned" => (&mut self.entries, whole(18)?),
            b"unindexed" => {
                let rest = text.strip_prefix(b"true").filter(|rest| ends(rest))?;
                self.is_unindexed = true;
                return Some(rest);
            }
            b"etime" | b"qtime" => {
                let rest = number_end(text).filter(|rest| ends(rest))?;
                *(if name == b"etime" { &mut self.etime } else { &mut self.qtime }) = Some(before(text, rest));
                return Some(rest);
            }
            _ => return None,
        };
        let (field, (value, rest)) = field;
        *field = Some(value);
        Some(rest)
    }
}

/// `[A-Z]{3,12}(-[A-Z]{3,12})*`.
fn capitals(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |text| run(text, 12, |byte| byte.is_ascii_uppercase()).filter(|(word, _)| word.len() >= 3);
    let (_, mut rest) = word(text)?;
    while let Some((_, behind)) = rest.strip_prefix(b"-").and_then(word) {
        rest = behind;
    }
    Some((before(text, rest), rest))
}

/// Returns whether a field ends here.
fn ends(text: &[u8]) -> bool {
    matches!(text.first(), None | Some(b' ' | b'\r'))
}

/// A value up to the first quote that a blank or the end of the line follows, and what follows.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr_iter(b'"', text).find(|&end| ends(&text[end + 1..]))?;
    Some((&text[..end], &text[end + 1..]))
}

/// A filter ends only after `)`, because the in-memory server escapes nothing.
fn filter(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr_iter(b'"', text).find(|&end| text[..end].ends_with(b")") && ends(&text[end + 1..]))?;
    Some((&text[..end], &text[end + 1..]))
}

/// Passes over a value without quotes; a duration only if it is one that the server conceals.
fn unquoted<'a>(name: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
    let rest = match name {
        b"filter" => return None,
        b"etime" | b"qtime" => {
            let (fraction, rest) = digits(text.strip_prefix(b"-999999.")?, usize::MAX)?;
            (fraction.len() == 6).then_some(rest)?
        }
        _ => any(text, usize::MAX, |byte| !is_space(byte) && byte != b'"').1,
    };
    ends(rest).then_some(rest)
}

/// Returns whether a line is one of a certificate, which is written otherwise.
pub fn is_of_certificate(text: &[u8]) -> bool {
    Stamp::read(text).is_some_and(|(_, text)| text.starts_with(b"CLIENT-CERTIFICATE "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_at_a_quote_before_a_blank() {
        assert_eq!(quoted(b"a\"b\" c=\"d\""), Some((&b"a\"b"[..], &b" c=\"d\""[..])));
        assert_eq!(filter(b"(a=\" b\")\"\r"), Some((&b"(a=\" b\")"[..], &b"\r"[..])));
        assert_eq!((quoted(b"a\"b"), filter(b"a\"")), (None, None));
    }

    #[test]
    fn a_word_has_parts() {
        assert_eq!(capitals(b"SECURITY-NEGOTIATION x"), Some((&b"SECURITY-NEGOTIATION"[..], &b" x"[..])));
        assert_eq!(capitals(b"ENTRY-RE"), Some((&b"ENTRY"[..], &b"-RE"[..])));
        assert_eq!(capitals(b"AB"), None);
    }

    #[test]
    fn a_known_name_with_another_value_is_passed_over() {
        let text = b"[01/Jan/2024:00:00:00 Z] BIND RESULT conn=1 conn=2x scope=7 etime=-999999.000000 dn=\"a\" a.b-c=";
        let (_, record) = Record::read(text).unwrap();
        assert_eq!((record.conn, record.scope, record.etime, record.dn), (Some(1), None, None, Some(&b"a"[..])));
        assert!(Record::read(b"[01/Jan/2024:00:00:00 Z] BIND etime=-1").is_none());
    }
}
