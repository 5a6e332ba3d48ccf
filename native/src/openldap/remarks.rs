//! Messages without a connection: missing indexes, the start of the server, lines lost by syslog.

use super::record::{Handled, Record, ends};
use crate::fields::{is_space, is_word, run};
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

/// `imuxsock lost 103 messages from pid 5122 due to rate-limiting`.
pub fn lost(text: &[u8], record: &mut Record) -> Option<Handled> {
    let lines = syslog::lost(text)?;
    record.count(|log, _| log.lost(lines))
}
