//! The lines of a connection: its opening, its client behind a proxy, its account.

use super::requests::is_request;
use crate::fields::{any, before, digits, is_space, is_word, word};
use crate::scan::Scan;

/// Reads a line of a connection; returns whether it is understood.
pub fn read_event(log: &mut Scan, conn: i64, time: i64, text: &[u8]) -> bool {
    if let Some((client, server, secured)) = opened(text) {
        log.opened(conn, time, address(client), if client == b"local" { b"" } else { server }, secured);
    } else if let Some(client) = proxied(text) {
        log.proxied_client(conn, time, address(client));
    } else if let Some(dn) = text.strip_prefix(b"AUTOBIND dn=\"").and_then(|dn| dn.strip_suffix(b"\"")) {
        log.authenticated(conn, time, dn);
    } else if let Some(dn) = certificate(text) {
        log.authenticated(conn, time, dn);
    } else if let Some(request) = internal(text) {
        if is_request(request) { log.internal() } else { log.passed_over(1) }
    } else if let Some((protocol, cipher)) = tls(text) {
        log.tls(conn, time, protocol, cipher);
    } else if is_of_tls(text) {
        log.passed_over(1);
    } else {
        return false;
    }
    true
}

/// `fd=\d{1,10} slot=\d{1,10} ([A-Z]{2,8} )?connection from \S{1,255} to \S.*`: the client, the server, and whether it
/// is secured by TLS from its beginning.
fn opened(text: &[u8]) -> Option<(&[u8], &[u8], bool)> {
    let (_, text) = digits(text.strip_prefix(b"fd=")?, 10)?;
    let (_, text) = digits(text.strip_prefix(b" slot=")?, 10)?;
    let mut text = text.strip_prefix(b" ")?;
    let (protocol, behind) = any(text, 8, |byte| byte.is_ascii_uppercase());
    if protocol.len() >= 2 {
        text = behind.strip_prefix(b" ").unwrap_or(text);
    }
    let (client, text) = word(text.strip_prefix(b"connection from ")?, 255)?;
    let server = text.strip_prefix(b" to ")?;
    let secured = matches!(protocol, b"SSL" | b"TLS" | b"LDAPS");
    (!is_space(*server.first()?)).then_some((client, server, secured))
}

/// `(TLS|SSL)[\w.]{0,20} \d{1,5}-bit [^;\s][^;]{0,100}(;.*)?`: the version and the cipher of a handshake.
fn tls(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, behind) = any(after_tls(text)?, 20, |byte| is_word(byte) || byte == b'.');
    let cipher = behind.strip_prefix(b" ")?;
    let (_, name) = digits(cipher, 5)?;
    let (name, rest) = any(name.strip_prefix(b"-bit ")?, 101, |byte| byte != b';');
    let is_whole = rest.is_empty() || rest.starts_with(b";");
    (is_whole && !is_space(*name.first()?)).then(|| (before(text, behind), before(cipher, rest)))
}

/// `fd=\d{1,10} HAProxy new_address_from=\S{1,255} to new_address_dest=`: the client behind a proxy.
fn proxied(text: &[u8]) -> Option<&[u8]> {
    let (_, text) = digits(text.strip_prefix(b"fd=")?, 10)?;
    let (client, text) = word(text.strip_prefix(b" HAProxy new_address_from=")?, 255)?;
    text.starts_with(b" to new_address_dest=").then_some(client)
}

/// `(TLS|SSL)\S{0,20} client bound as `: the account.
fn certificate(text: &[u8]) -> Option<&[u8]> {
    let (_, text) = any(after_tls(text)?, 20, |byte| !is_space(byte));
    text.strip_prefix(b" client bound as ")
}

/// `(TLS|SSL)[\w.]{0,20} `: of a handshake.
fn is_of_tls(text: &[u8]) -> bool {
    let behind = after_tls(text).map(|text| any(text, 20, |byte| is_word(byte) || byte == b'.').1);
    behind.is_some_and(|behind| behind.starts_with(b" "))
}

fn after_tls(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"TLS").or_else(|| text.strip_prefix(b"SSL"))
}

/// `(Internal) op=\S{1,60} `: the internal operation after it, which the server does for an operation of this connection.
fn internal(text: &[u8]) -> Option<&[u8]> {
    let (_, text) = word(text.strip_prefix(b"(Internal) op=")?, 60)?;
    text.strip_prefix(b" ")
}

/// A peer address without port and brackets; any other text unchanged (`local`, `unknown`).
pub fn address(peer: &[u8]) -> &[u8] {
    with_port(peer).or_else(|| in_brackets(peer)).unwrap_or(peer)
}

/// `\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?`.
fn with_port(peer: &[u8]) -> Option<&[u8]> {
    let (_, mut rest) = digits(peer, 3)?;
    for _ in 0..3 {
        (_, rest) = digits(rest.strip_prefix(b".")?, 3)?;
    }
    is_port(rest).then(|| before(peer, rest))
}

/// `\[[\da-fA-F:.]{2,45}(%\w{1,20})?\](:\d{1,5})?`.
fn in_brackets(peer: &[u8]) -> Option<&[u8]> {
    let inner = peer.strip_prefix(b"[")?;
    let (address, mut rest) = any(inner, 45, |byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.');
    if let Some(zone) = rest.strip_prefix(b"%") {
        let (name, behind) = any(zone, 20, is_word);
        rest = if name.is_empty() { return None } else { behind };
    }
    let is_whole = address.len() >= 2 && is_port(rest.strip_prefix(b"]")?);
    is_whole.then(|| before(inner, rest))
}

/// `(:\d{1,5})?`.
fn is_port(text: &[u8]) -> bool {
    text.is_empty() || text.strip_prefix(b":").and_then(|port| digits(port, 5)).is_some_and(|(_, rest)| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_without_its_port() {
        assert_eq!(address(b"10.0.0.1:389"), b"10.0.0.1");
        assert_eq!(address(b"[fe80::1%eth0]:389"), b"fe80::1%eth0");
        assert_eq!(address(b"[fe80::1%]"), b"[fe80::1%]");
        assert_eq!(address(b"local"), b"local");
    }
}
