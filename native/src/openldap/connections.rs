//! The opening and closing of a connection.

use super::record::{Handled, Record, digits, ends};
use crate::fields::{self, is_space, run, word};

/// `ACCEPT from IP=127.0.0.11:32917 (IP=0.0.0.0:13390)`.
pub fn accept(conn: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = text.strip_prefix(b"ACCEPT from ")?;
    if text.starts_with(b"PATH=") {
        return record.count(|log, time| log.opened(conn, time, b"local", b"", false));
    }
    let text = text.strip_prefix(b"IP=")?;
    let v6 = || {
        let (client, rest) = run(text.strip_prefix(b"[")?, 99, |byte| !is_space(byte) && byte != b']')?;
        Some((client, server(rest.strip_prefix(b"]")?)?))
    };
    let v4 = || {
        let (client, rest) = run(text, 99, |byte| !is_space(byte) && byte != b':')?;
        Some((client, server(rest)?))
    };
    let (client, server) = v6().or_else(v4)?;
    record.count(|log, time| log.opened(conn, time, client, server, false))
}

/// `:32917 (IP=0.0.0.0:13390)`.
fn server(text: &[u8]) -> Option<&[u8]> {
    let text = digits(text.strip_prefix(b":")?)?.strip_prefix(b" (IP=")?;
    let (server, rest) = run(text, 99, |byte| !is_space(byte) && byte != b')').unwrap_or((b"", text));
    ends(rest.strip_prefix(b")")?)?;
    Some(server)
}

/// `TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384`; the last two are new in 2.4.
pub fn tls(conn: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let (bits, text) = fields::digits(text.strip_prefix(b"TLS established tls_ssf=")?, 9)?;
    let text = digits(text.strip_prefix(b" ssf=")?)?;
    let named = || {
        let (protocol, text) = word(text.strip_prefix(b" tls_proto=")?, 99)?;
        let (cipher, text) = word(text.strip_prefix(b" tls_cipher=")?, 99)?;
        Some((protocol, cipher.to_vec(), text))
    };
    let (protocol, cipher, text) = named().unwrap_or_else(|| (b"TLS", [bits, b"-bit"].concat(), text));
    ends(text)?;
    record.count(|log, time| log.tls(conn, time, protocol, &cipher))
}

/// `closed (idletimeout)`.
pub fn close(conn: i64, text: &[u8], record: &mut Record) -> Option<Handled> {
    let text = text.strip_prefix(b"closed")?;
    let in_parentheses = || {
        let text = text.strip_prefix(b" (")?;
        let (reason, rest) = run(text, 99, |byte| byte != b')').unwrap_or((b"", text));
        Some((reason, rest.strip_prefix(b")")?))
    };
    let (reason, rest) = in_parentheses().unwrap_or((b"", text));
    ends(rest)?;
    record.count(|log, time| log.closed(conn, time, reason))
}
