//! Messages without a connection: missing indexes, the start of the server, lines lost by syslog.

use super::record::{Handled, Record, ends};
use crate::fields::{self, any, is_space, is_word, run, word};
use crate::syslog;

/// `<= mdb_substring_candidates: (displayName) not indexed`.
pub fn not_indexed(text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = text.strip_prefix(b"<= ")?;
    let (database, _) = run(text, 9 + 1, is_word)?;
    // No backend has an underscore in its name today; with one, the last that matches divides.
    let divided = (1..database.len()).rev().filter(|&at| database[at] == b'_');
    let (attribute, kind) = divided.into_iter().find_map(|at| {
        let (_, rest) = run(&text[at + 1..], 30, is_word)?;
        let index = text[..text.len() - rest.len()].strip_suffix(b"_candidates")?;
        let (attribute, rest) = run(rest.strip_prefix(b": (")?, 256, |byte| byte != b')')?;
        let rest = rest.strip_prefix(b") ")?;
        let rest = rest.strip_prefix(b"not indexed").or_else(|| rest.strip_prefix(b"index_param failed (18)"))?;
        let kind = index.get(at + 1..).unwrap_or(b"candidates");
        ends(rest)?;
        Some((attribute, kind))
    })?;
    record.count(|log, _| log.not_indexed(attribute, kind))
}

/// `@(#) $OpenLDAP: slapd 2.5.13+dfsg-5 (Feb  8 2023 01:56:12) $`.
pub fn banner(text: &[u8], record: &mut Record) -> Option<Handled> {
    let (version, _) = run(text.strip_prefix(b"@(#) $OpenLDAP: slapd ")?, 64, |byte| !is_space(byte))?;
    record.count(|log, time| log.server_started(time, version))
}

/// `fd=127 DENIED from unknown (127.0.0.70)`.
pub fn denied(text: &[u8], record: &mut Record) -> Option<Handled> {
    let (_, text) = fields::digits(text.strip_prefix(b"fd=")?, 9)?;
    let (_, text) = word(text.strip_prefix(b" DENIED from ")?, 255)?;
    let (client, text) = any(text.strip_prefix(b" (")?, 255, |byte| !is_space(byte) && byte != b'(' && byte != b')');
    ends(text.strip_prefix(b")")?)?;
    record.count(|log, time| log.refused(time, client, b"DENIED"))
}

/// `daemon: accept(8) failed errno=24 (Too many open files)`, `daemon: 1024 beyond descriptor table size 1024`. errno 23, 24:
/// the system or the process has no descriptor left (ENFILE, EMFILE).
pub fn exhausted(text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = text.strip_prefix(b"daemon: ")?;
    let why = if let Some(text) = text.strip_prefix(b"accept(") {
        let (_, text) = fields::digits(text.strip_prefix(b"-").unwrap_or(text), 10)?;
        let text = text.strip_prefix(b") failed errno")?;
        let text = text.strip_prefix(b"=").or_else(|| text.strip_prefix(b" "))?;
        let text = text.strip_prefix(b"23 (").or_else(|| text.strip_prefix(b"24 ("))?;
        any(text, 99, |byte| byte != b')').0
    } else {
        let (_, text) = fields::digits(text, 10)?;
        let (_, text) = fields::digits(text.strip_prefix(b" beyond descriptor table size ")?, 10)?;
        ends(text)?;
        b""
    };
    let why = if why.is_empty() { b"beyond descriptor table size" } else { why };
    record.count(|log, time| log.refused(time, b"?", why))
}

/// `imuxsock lost 103 messages from pid 5122 due to rate-limiting`.
pub fn lost(text: &[u8], record: &mut Record) -> Option<Handled> {
    let lines = syslog::lost(text)?;
    record.count(|log, _| log.lost(lines))
}
