//! The requests of an operation, and its other lines but the result.

use memchr::memmem::{find, rfind};
use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

use super::closes::{close, close_code};
use crate::fields::{any, digits, is_space, is_word, number, run, signed, starts_with_word, word};
use crate::operation_kinds::{ADD, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OperationKind};
use crate::scan::{SASL, SIMPLE, Scan};
use crate::sorting::{Sorting, vlv_code};
use crate::words;

const KINDS: [(&[u8], OperationKind); 6] =
    [(b"ADD", ADD), (b"MOD", MODIFY), (b"DEL", DELETE), (b"MODRDN", MODRDN), (b"CMP", COMPARE), (b"EXT", EXTENDED)];

/// Reads a line of an operation except its result; returns whether it is understood.
pub fn read_request(log: &mut Scan, conn: i64, op: i64, time: i64, text: &[u8]) -> bool {
    if let Some(text) = text.strip_prefix(b"SRCH base=\"") {
        let Some((base, scope, text)) = base_and_scope(text) else { return false };
        let Some(filter) = filter(text).or_else(|| refused(text)) else { return false };
        log.search(conn, op, time, base, scope, filter);
    } else if let Some(text) = text.strip_prefix(b"BIND dn=\"") {
        let Some((dn, mechanism)) = bind(text) else { return false };
        log.bind(conn, op, time, dn, mechanism);
    } else if text == b"UNBIND" || text.starts_with(b"UNBIND,") {
        log.unbind(conn, op, time);
    } else if let Some((kind, target)) = request(text) {
        log.request(conn, op, time, kind, target);
    } else if let Some(target) = abandoned(text) {
        log.abandon(conn, op, time, target);
    } else if let Some(close) = close(text) {
        log.closed(conn, time, close_code(close));
    } else if let Some((attribute, index, ids)) = looked_up(text) {
        log.index_lookup(attribute, index, ids);
    } else if let Some(text) = text.strip_prefix(b"SORT ") {
        log.sort(conn, op, time, text);
    } else if let Some(vlv) = text.strip_prefix(b"VLV ").and_then(vlv_code) {
        log.sorting(conn, op, time, Sorting::of_vlv(vlv));
    } else if is_passed_over(text) {
        log.passed_over(1);
    } else {
        return false;
    }
    true
}

/// Reads the text after `SRCH base="`: the base, the scope, and the text after `filter="`.
///
/// A base ends before the first `" scope=`. Most are too short for `memchr` to be worth its call.
#[inline(always)]
pub fn base_and_scope(text: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    let mut rest = text;
    loop {
        rest = rest.get(words::find(rest, 0, words::is(b'"')) + 1..)?;
        if let Some(scope) = rest.strip_prefix(b" scope=")
            && let Some((scope, behind)) = signed(scope, 10)
            && let Some(behind) = behind.strip_prefix(b" filter=\"")
        {
            return Some((&text[..text.len() - rest.len() - 1], scope, behind));
        }
    }
}

/// The filter of a search: everything before the last `" attrs=`.
///
/// Attributes have quotes around them but no equals sign, so the last one of a line is mostly that of `attrs=`.
#[inline(always)]
pub fn filter(text: &[u8]) -> Option<&[u8]> {
    let mut end = text.len();
    loop {
        end = memrchr(b'=', &text[..end])?;
        if let Some(filter) = text[..end].strip_suffix(b"\" attrs") {
            return Some(filter);
        }
    }
}

/// The filter of a search without attrs=, which the server refused: everything before a quote at the end or a comma.
fn refused(text: &[u8]) -> Option<&[u8]> {
    let end = memrchr_iter(b'"', text).find(|&end| matches!(text.get(end + 1), None | Some(b',')))?;
    Some(&text[..end])
}

/// The DN after `BIND dn="`, which is everything before the last `" method=`, and the mechanism.
fn bind(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memrchr_iter(b'"', text).find(|&end| text[end + 1..].starts_with(b" method="))?;
    let is_of_word = |byte: u8| !is_space(byte) && byte != b',';
    let (method, rest) = any(&text[end + b"\" method=".len()..], 40, is_of_word);
    let mechanism = || {
        let (_, rest) = digits(rest.strip_prefix(b" version=")?, 9)?;
        run(rest.strip_prefix(b" mech=")?, 80, is_of_word).map(|(mechanism, _)| mechanism)
    };
    Some((&text[..end], mechanism_of(method, mechanism().unwrap_or_default())))
}

/// `simple`, the SASL mechanism, or the method as logged.
pub fn mechanism_of<'a>(method: &'a [u8], mechanism: &'a [u8]) -> &'a [u8] {
    match method {
        b"128" => SIMPLE,
        b"" => b"?",
        b"sasl" | SASL if !mechanism.is_empty() => mechanism,
        b"sasl" => SASL,
        _ => method,
    }
}

/// `(ADD|MOD|DEL|MODRDN|CMP|EXT) (dn|oid)="`: the kind, and the DN or OID.
fn request(text: &[u8]) -> Option<(OperationKind, &[u8])> {
    let (name, rest) = text.split_at(memchr(b' ', text.get(..7).unwrap_or(text))?);
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    let rest = rest.strip_prefix(b" dn=\"").or_else(|| rest.strip_prefix(b" oid=\""))?;
    Some((*kind, entry(rest)))
}

/// The DN of an entry: it ends before the first quote that may be the last of the field.
fn entry(text: &[u8]) -> &[u8] {
    const BEHIND: [&[u8]; 5] = [b", ", b" newrdn=\"", b" attr=\"", b" authzid=\"", b" name=\""];
    let is_end = |&end: &usize| {
        let behind = &text[end + 1..];
        behind.is_empty() || BEHIND.iter().any(|next| behind.starts_with(next))
    };
    &text[..memchr_iter(b'"', text).find(is_end).unwrap_or(text.len())]
}

/// `ABANDON targetop=(\d{1,10}|[A-Z][\w -]{1,60}) msgid=`: the operation, or none (`NOTFOUND`).
fn abandoned(text: &[u8]) -> Option<Option<i64>> {
    let text = text.strip_prefix(b"ABANDON targetop=")?;
    if let Some((target, rest)) = number(text, 10) {
        return rest.starts_with(b" msgid=").then_some(Some(target));
    }
    let (why, _) = text.split_at(find(text, b" msgid=")?);
    let is_why = (2..=61).contains(&why.len())
        && why[0].is_ascii_uppercase()
        && why[1..].iter().all(|&byte| is_word(byte) || byte == b' ' || byte == b'-');
    is_why.then_some(None)
}

/// `STAT read index: attribute=\S{1,256} key\(\w{1,20}\)=.* --> count -?\d{1,10}( \(duration [\d.]{1,30}\))?`: the
/// attribute, the kind of index, and the length of the ID list. The key comes from the client, and ends at the last arrow.
fn looked_up(text: &[u8]) -> Option<(&[u8], &[u8], i64)> {
    const ARROW: &[u8] = b" --> count ";
    let (attribute, text) = word(text.strip_prefix(b"STAT read index: attribute=")?, 256)?;
    let (index, text) = run(text.strip_prefix(b" key(")?, 20, is_word)?;
    let text = text.strip_prefix(b")=")?;
    let (ids, rest) = signed(&text[rfind(text, ARROW)? + ARROW.len()..], 10)?;
    (rest.is_empty() || is_duration(rest)).then_some((attribute, index, ids.max(0)))
}

/// ` \(duration [\d.]{1,30}\)`.
fn is_duration(text: &[u8]) -> bool {
    let duration = text.strip_prefix(b" (duration ").and_then(|text| text.strip_suffix(b")")).unwrap_or_default();
    let (_, rest) = any(duration, 30, |byte| byte.is_ascii_digit() || byte == b'.');
    !duration.is_empty() && rest.is_empty()
}

fn is_passed_over(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] = [b"STAT", b"SORT", b"VLV", b"ENTRY", b"REFERRAL", b"SESSION", b"UNPROCESSED OPERATION"];
    let of_the_server = || {
        let (_, text) = signed(text.strip_prefix(b"RESULT err=")?, 10)?;
        Some(starts_with_word(text, b" tag=48"))
    };
    WORDS.iter().any(|word| starts_with_word(text, word)) || of_the_server().unwrap_or(false)
}

/// Returns whether a text begins with the name of a request.
pub fn is_request(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] = [b"SRCH", b"ADD", b"MOD", b"DEL", b"MODRDN", b"CMP", b"BIND", b"EXT"];
    NAMES.iter().any(|name| starts_with_word(text, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_ends_first_and_a_filter_last() {
        let text = b"dc=x\" scope=1x\" scope=2 filter=\"(a=\" attrs=\"b\" scope=2 filter=\"c)\" attrs=\"cn\"";

        let (base, scope, text) = base_and_scope(text).unwrap();

        assert_eq!((base, scope), (&b"dc=x\" scope=1x"[..], 2));
        assert_eq!(filter(text), Some(&b"(a=\" attrs=\"b\" scope=2 filter=\"c)"[..]));
        assert_eq!(refused(b"(cn=a\", Bad \"x\" filter"), Some(&b"(cn=a"[..]));
    }

    #[test]
    fn an_index_key_may_contain_the_text_after_it() {
        let text = b"STAT read index: attribute=cn key(eq)=a --> count 9 --> count 2 (duration 0.000011687)";

        assert_eq!(looked_up(text), Some((&b"cn"[..], &b"eq"[..], 2)));
        assert_eq!(
            looked_up(b"STAT read index: attribute=cn key(eq)= --> count -1"),
            Some((&b"cn"[..], &b"eq"[..], 0))
        );
        assert_eq!(looked_up(b"STAT read index: attribute=cn key(eq)=a --> count 2 (duration )"), None);
        assert_eq!(looked_up(b"STAT read index: duration 0.000011687"), None);
    }

    #[test]
    fn the_dn_of_an_entry_may_have_quotes() {
        assert_eq!(entry(b"cn=\"Doe, Joe\",dc=x\", no such \"entry\""), b"cn=\"Doe, Joe\",dc=x");
        assert_eq!(entry(b"cn=a\" newrdn=\"cn=b\" newsuperior=\"(null)\""), b"cn=a");
        assert_eq!(entry(b"cn=cut"), b"cn=cut");
    }

    #[test]
    fn a_bind_names_its_mechanism() {
        assert_eq!(bind(b"cn=a\" method=128 version=3"), Some((&b"cn=a"[..], SIMPLE)));
        assert_eq!(bind(b"\" method=sasl version=3 mech=GSSAPI, text"), Some((&b""[..], &b"GSSAPI"[..])));
        assert_eq!(bind(b"\" method=sasl"), Some((&b""[..], SASL)));
        assert_eq!(bind(b"\" method=129 version=2"), Some((&b""[..], &b"129"[..])));
    }

    #[test]
    fn an_operation_may_abandon_none() {
        assert_eq!(abandoned(b"ABANDON targetop=3 msgid=4"), Some(Some(3)));
        assert_eq!(abandoned(b"ABANDON targetop=Simple Paged Results msgid=4"), Some(None));
        assert_eq!(abandoned(b"ABANDON targetop=X msgid=4"), None);
    }
}
