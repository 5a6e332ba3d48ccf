//! The canonical text of a client's address.

use std::net::Ipv6Addr;

const LONGEST: usize = 60;

/// A client's address in canonical form: IPv4-mapped as IPv4, IPv6 compressed; any other text unchanged.
///
/// Java servers write 0:0:0:0:0:0:0:1; servers that listen on \[::\] may write ::ffff:10.1.1.1.
pub fn address(logged: &[u8]) -> Vec<u8> {
    canonical(logged).map_or_else(|| logged.to_vec(), String::into_bytes)
}

fn canonical(logged: &[u8]) -> Option<String> {
    if !logged.contains(&b':') || logged.len() > LONGEST || !logged.is_ascii() || logged.contains(&b'/') {
        return None;
    }
    let (address, scope) = split_zone(std::str::from_utf8(logged).ok()?)?;
    let parsed: Ipv6Addr = address.parse().ok()?;
    Some(match parsed.to_ipv4_mapped() {
        Some(mapped) => mapped.to_string(),
        None => format!("{parsed}{scope}"),
    })
}

/// Splits off a zone like `%eth0` (RFC 4007, 11); `None` for an invalid one.
fn split_zone(text: &str) -> Option<(&str, &str)> {
    let (address, scope) = text.split_at(text.find('%').unwrap_or(text.len()));
    (scope.len() != 1 && !scope.get(1..).is_some_and(|name| name.contains('%'))).then_some((address, scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_one_text() {
        for (logged, canonical) in [
            ("10.1.1.1", "10.1.1.1"),
            ("::ffff:10.1.1.1", "10.1.1.1"),
            ("::FFFF:a01:101%eth0", "10.1.1.1"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("::1.2.3.4", "::102:304"),
            ("FE80::1%Eth0", "fe80::1%Eth0"),
            ("fe80::1%", "fe80::1%"),
            ("::1%a%b", "::1%a%b"),
            ("::01.2.3.4", "::01.2.3.4"),
            ("::ffff:0:0/96", "::ffff:0:0/96"),
            ("local:", "local:"),
        ] {
            assert_eq!(address(logged.as_bytes()), canonical.as_bytes());
        }
    }
}
