//! Reports of syslog daemons on dropped messages.

use crate::fields::{is_word, number, run};

/// The number of messages dropped by a syslog daemon: rsyslog's imuxsock and imjournal, and journald for a unit.
///
/// rsyslog may mean another program, as it reports at most a pid. journald names the unit.
pub fn lost(message: &[u8]) -> Option<i64> {
    lost_by_pid(message).or_else(|| lost_by_rate(message)).or_else(|| suppressed(message))
}

/// `imuxsock lost 103 messages from pid 5122 due to rate-limiting`.
fn lost_by_pid(message: &[u8]) -> Option<i64> {
    let (count, rest) = number(message.strip_prefix(b"imuxsock lost ")?, 12)?;
    rest.starts_with(b" messages from pid ").then_some(count)
}

/// `imuxsock[pid: 57, name: slapd]: 1024 messages lost due to rate-limiting`.
fn lost_by_rate(message: &[u8]) -> Option<i64> {
    let (_, rest) = run(message.strip_prefix(b"im")?, 30, is_word)?;
    (0..=300).map_while(|from| rest.get(from..)).find_map(|text| {
        let (count, rest) = number(text.strip_prefix(b": ")?, 12)?;
        rest.starts_with(b" messages lost due to rate-limiting").then_some(count)
    })
}

/// `Suppressed 917 messages from slapd.service`.
fn suppressed(message: &[u8]) -> Option<i64> {
    let (count, rest) = number(message.strip_prefix(b"Suppressed ")?, 12)?;
    let unit = rest.strip_prefix(b" messages from ")?;
    let ours =
        |from: usize| unit.get(from..).is_some_and(|text| text.starts_with(b"slapd") || text.starts_with(b"ldap"));
    (0..=200).any(ours).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_daemons_report_lost_lines() {
        assert_eq!(lost(b"imuxsock lost 103 messages from pid 5122 due to rate-limiting"), Some(103));
        assert_eq!(lost(b"imuxsock[pid: 57, name: x]: 1024 messages lost due to rate-limiting (9)"), Some(1024));
        assert_eq!(lost(b"Suppressed 917 messages from slapd.service"), Some(917));
        assert_eq!(lost(b"Suppressed 917 messages from nginx.service"), None);
    }
}
