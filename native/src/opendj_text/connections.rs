//! The lines of a connection: ` from=...` and ` reason="..."`.

use memchr::memmem::find_iter;

use crate::fields::{any, digits, is_space, run};

/// What a CONNECT names.
pub struct Opening<'a> {
    pub client: &'a [u8],
    pub server: &'a [u8],
    pub protocol: &'a [u8],
}

/// ` from=ADDRESS:PORT to=[^\s"]{1,100}( protocol=[^\s"]{1,20})?`.
pub fn opening(text: &[u8]) -> Option<Opening<'_>> {
    let is_plain = |byte: u8| !is_space(byte) && byte != b'"';
    let (client, text) =
        peer(text.strip_prefix(b" from=")?, b" to=", |text| text.first().is_some_and(|&it| is_plain(it)))?;
    let (server, text) = any(text, 100, is_plain);
    let protocol = text.strip_prefix(b" protocol=").and_then(|text| run(text, 20, is_plain));
    Some(Opening { client, server, protocol: protocol.map_or(b"", |(protocol, _)| protocol) })
}

/// ` reason="[^"]{0,100}"( msg=".* from client ADDRESS:PORT )?`: the reason, and the client that it names.
pub fn close(text: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (reason, text) = any(text.strip_prefix(b" reason=\"")?, 100, |byte| byte != b'"');
    let text = text.strip_prefix(b"\"")?;
    let rejected = text.strip_prefix(b" msg=\"").and_then(|message| {
        const CLIENT: &[u8] = b" from client"; // without the blank, with which the next may begin
        let client = |at: usize| peer(message[at + CLIENT.len()..].strip_prefix(b" ")?, b" ", |_| true);
        find_iter(message, CLIENT).find_map(client).map(|(client, _)| client)
    });
    Some((reason, rejected))
}

/// `\[?([^\s"\[]{1,100}?)\]?:\d{1,5}` and the text `behind` it: the address, and the rest, of which `is` holds.
fn peer<'a>(text: &'a [u8], behind: &[u8], is: impl Fn(&[u8]) -> bool) -> Option<(&'a [u8], &'a [u8])> {
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let (longest, _) = any(text, 100, |byte| !is_space(byte) && byte != b'"' && byte != b'[');
    (1..=longest.len()).find_map(|end| {
        let rest = text[end..].strip_prefix(b"]").unwrap_or(&text[end..]);
        let (_, rest) = digits(rest.strip_prefix(b":")?, 5)?;
        let rest = rest.strip_prefix(behind)?;
        is(rest).then(|| (&text[..end], rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_a_port() {
        let client = |text| opening(text).map(|opening| opening.client);
        assert_eq!(client(b" from=[::1]:60305 to=[::1]:1389"), Some(&b"::1"[..]));
        assert_eq!(client(b" from=0:0:0:1:60305 to=x protocol=LDAPS"), Some(&b"0:0:0:1"[..]));
        assert_eq!(opening(b" from=1.2.3.4:5 to=x protocol=LDAPS").unwrap().protocol, b"LDAPS");
        assert_eq!((client(b" from=1.2.3.4 to=x"), client(b" from=1.2.3.4:5 to=")), (None, None));
    }

    #[test]
    fn a_rejection_may_name_its_client() {
        let text = b" reason=\"Connection Rejected\" msg=\"x from client from client 1.2.3.4:5 to x\"";
        assert_eq!(close(text), Some((&b"Connection Rejected"[..], Some(&b"1.2.3.4"[..]))));
        assert_eq!(close(b" reason=\"x\" msg=\"y\""), Some((&b"x"[..], None)));
        assert_eq!(close(b" reason=\"x"), None);
    }
}
