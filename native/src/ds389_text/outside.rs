//! Lines outside clients' connections: the header of each file, and internal operations.

use memchr::memrchr;

use crate::ds389_lines::is_request;
use crate::fields::{any, blanks, digits, is_space, is_word, stripped, word};
use crate::scan::Scan;

/// Reads a line that is not of a client's connection: an internal operation, or a line that no rule matches.
///
/// ```text
/// conn=Internal(\(\d{1,18}\))? +(op=\S{1,60} +)?(SRCH|ADD|MOD|DEL|MODRDN|CMP|BIND|EXT)?
/// ```
pub fn outside(log: &mut Scan, line: &[u8], text: &[u8]) {
    match text.strip_prefix(b"conn=Internal").and_then(internal) {
        Some(request) if is_request(request) => log.internal(),
        Some(_) => log.passed_over(1),
        None => log.misread(line),
    }
}

/// The text after `conn=Internal(1) op=0(1)(1) `.
fn internal(text: &[u8]) -> Option<&[u8]> {
    let number =
        text.strip_prefix(b"(").and_then(|text| digits(text, 18)).and_then(|(_, text)| text.strip_prefix(b")"));
    let text = blanks(number.unwrap_or(text).strip_prefix(b" ")?);
    let operation = text.strip_prefix(b"op=").and_then(|op| word(op, 60)).and_then(|(_, text)| text.strip_prefix(b" "));
    Some(operation.map_or(text, blanks))
}

/// Reads a line of the header at the beginning of each file, or an unknown line. Rotated files have a header too, so it is no
/// sign of a restart.
pub fn read_header(log: &mut Scan, line: &[u8]) {
    let text = stripped(line);
    let is_indented = line.first().is_some_and(|&byte| is_space(byte));
    if is_indented && is_version(text) {
        log.header(b"", text);
    } else if is_indented && is_instance(text) {
        log.header(text, b"");
    } else if !text.is_empty() {
        return log.misread(line);
    }
    log.passed_over(1);
}

/// `[\w() -]{1,60}/\d\S{0,40} B\S{1,40}( \([\w-]{1,20}\))?`.
fn is_version(text: &[u8]) -> bool {
    let (product, rest) = any(text, 60, |byte| is_word(byte) || b"() -".contains(&byte));
    let build = || {
        let (_, rest) = digits(rest.strip_prefix(b"/")?, 1)?;
        let (_, rest) = any(rest, 40, |byte| !is_space(byte));
        let (_, rest) = word(rest.strip_prefix(b" B")?, 40)?;
        Some(rest)
    };
    !product.is_empty() && build().is_some_and(|rest| rest.is_empty() || is_remark(rest))
}

/// ` \([\w-]{1,20}\)`.
fn is_remark(text: &[u8]) -> bool {
    let word = text.strip_prefix(b" (").and_then(|text| text.strip_suffix(b")")).unwrap_or_default();
    (1..=20).contains(&word.len()) && word.iter().all(|&byte| is_word(byte) || byte == b'-')
}

/// `\S{1,255}:\d{1,5} \(.*\)`.
fn is_instance(text: &[u8]) -> bool {
    let (name, folder) = any(text, 255 + b":65535".len(), |byte| !is_space(byte));
    let Some(colon) = memrchr(b':', name) else { return false };
    let is_port = digits(&name[colon + 1..], 5).is_some_and(|(_, rest)| rest.is_empty());
    let in_parentheses = folder.strip_prefix(b" (").is_some_and(|folder| folder.ends_with(b")"));
    (1..=255).contains(&colon) && is_port && in_parentheses
}
