//! BINDs, and the result of any operation but a search.

use memchr::memmem::{find_iter, rfind};

use super::items::{after_controls, after_item};
use crate::fields::{any, before, digits, is_space, number, signed, word};
use crate::opends::{is_end, quoted};
use crate::operation_kinds::{BIND, OperationKind};
use crate::result_fields::ResultFields;

/// What a BIND asks for.
pub struct Asked<'a> {
    /// `SIMPLE`, or `SASL mechanism=GSSAPI`.
    pub kind: &'a [u8],
    pub dn: &'a [u8],
}

/// The result of an operation.
pub struct Answer<'a> {
    /// The result code as written.
    pub err: &'a [u8],
    pub account: Option<&'a [u8]>,
    /// Milliseconds.
    pub etime: i64,
}

impl Answer<'_> {
    /// Returns whether it is a successful BIND without an account, which each real one has.
    pub fn is_forged(&self) -> bool {
        self.err == b"0" && self.account.is_none()
    }

    /// The fields of the result of an operation that took so many nanoseconds.
    pub fn fields(&self, kind: OperationKind, etime: i64) -> ResultFields<'_> {
        let err = signed(self.err, 9).map_or(0, |(code, _)| code);
        let account = self.account.filter(|_| kind == BIND && self.err == b"0");
        ResultFields { kind, err, etime: Some(etime), account, ..ResultFields::default() }
    }
}

/// Reads the BIND and the result, as far as the line has them; `None`: something else follows.
///
/// Other requests are passed over up to the first ` result=`.
pub fn read(text: &[u8]) -> Option<(Option<Asked<'_>>, Option<Answer<'_>>)> {
    let (asked, rest) = match asked(text) {
        Some((asked, rest)) => (Some(asked), rest),
        None => (None, &text[result(text).unwrap_or(0)..]),
    };
    let answer = answer(rest);
    (answer.is_some() || is_end(rest)).then_some((asked, answer))
}

/// `( version=\S{1,9})? type=\S{1,60}( mechanism=\S{0,60})? dn="ESCAPED"` and controls.
fn asked(text: &[u8]) -> Option<(Asked<'_>, &[u8])> {
    let version = text.strip_prefix(b" version=").and_then(|text| word(text, 9));
    let kind = version.map_or(text, |(_, text)| text).strip_prefix(b" type=")?;
    let (_, rest) = word(kind, 60)?;
    let mechanism = rest.strip_prefix(b" mechanism=");
    let rest = mechanism.map_or(rest, |text| any(text, 60, |byte| !is_space(byte)).1);
    let (dn, behind) = quoted(rest.strip_prefix(b" dn=\"")?)?;
    Some((Asked { kind: before(kind, rest), dn }, after_controls(behind)))
}

const RESULT: &[u8] = b" result=";

/// Where the first ` result=-?\d` begins.
fn result(text: &[u8]) -> Option<usize> {
    find_iter(text, RESULT).find(|at| signed(&text[at + RESULT.len()..], 1).is_some())
}

/// ` result=-?\d{1,9}( authDN)?.* etime=\d{1,18}` and the end of the line.
fn answer(text: &[u8]) -> Option<Answer<'_>> {
    let err = text.strip_prefix(RESULT)?;
    let (_, text) = signed(err, 9)?;
    let err = before(err, text);
    let (account, text) = account(text).map_or((None, text), |(account, text)| (Some(account), text));
    const ETIME: &[u8] = b" etime=";
    let (etime, rest) = number(&text[rfind(text, ETIME)? + ETIME.len()..], 18)?;
    is_end(rest).then_some(Answer { err, account, etime })
}

/// `( ITEM)* authDN="ESCAPED"( authzDN="ESCAPED")?` before ` etime=\d+` and the end of the line: the account.
fn account(mut text: &[u8]) -> Option<(&[u8], &[u8])> {
    while let Some(rest) = after_item(text) {
        text = rest;
    }
    let (account, text) = quoted(text.strip_prefix(b" authDN=\"")?)?;
    let text = text.strip_prefix(b" authzDN=\"").and_then(quoted).map_or(text, |(_, text)| text);
    let (_, rest) = digits(text.strip_prefix(b" etime=")?, usize::MAX)?;
    is_end(rest).then_some((account, text))
}
