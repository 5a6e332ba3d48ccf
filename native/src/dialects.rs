//! The dialects with a native scanner, by their names in the Python reference.

use crate::scan::Scan;
use crate::{ds389_json, ds389_text, dsee, opendj_json, opendj_text, openldap, ping_json, ping_text};

/// A grammar.
pub struct Dialect {
    /// Its name, as in the JSON.
    pub name: &'static str,
    /// Reads whole records.
    pub scan: fn(&[u8], &mut Scan),
    /// The end of a record and the beginning of the next one.
    pub border: &'static [u8],
}

/// All dialects with a native scanner.
pub const DIALECTS: [Dialect; 12] = [
    Dialect { name: "389-text", scan: ds389_text::scan, border: b"\n" },
    Dialect { name: "389-json", scan: ds389_json::scan, border: ds389_json::BORDER },
    Dialect { name: "dsee-text", scan: dsee::scan, border: b"\n" },
    Dialect { name: "openldap-stderr", scan: openldap::scan_stderr, border: b"\n" },
    Dialect { name: "openldap-container", scan: openldap::scan_container, border: b"\n" },
    Dialect { name: "openldap-syslog", scan: openldap::scan_syslog, border: b"\n" },
    Dialect { name: "openldap-syslog-iso", scan: openldap::scan_syslog_iso, border: b"\n" },
    Dialect { name: "openldap-syslog-rfc5424", scan: openldap::scan_syslog_rfc5424, border: b"\n" },
    Dialect { name: "opendj-text", scan: opendj_text::scan, border: b"\n" },
    Dialect { name: "opendj-json", scan: opendj_json::scan, border: b"\n" },
    Dialect { name: "ping-text", scan: ping_text::scan, border: b"\n" },
    Dialect { name: "ping-json", scan: ping_json::scan, border: b"\n" },
];

/// The dialect with this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

impl Dialect {
    /// The end of the first record; `None` if it is incomplete.
    pub fn first(&self, data: &[u8]) -> Option<usize> {
        memchr::memmem::find(data, self.border).map(|end| end + 1)
    }

    /// The end of the last whole record; 0 if there is none.
    pub fn cut(&self, data: &[u8]) -> usize {
        memchr::memmem::rfind(data, self.border).map_or(0, |end| end + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_where_a_record_ends() {
        let (text, json) = (&DIALECTS[0], &DIALECTS[1]);
        let log = b"{\"a\":\n {}\n}\n{\n}\n";

        assert_eq!((text.first(log), text.cut(log), text.cut(b"[20/Nov")), (Some(6), log.len(), 0));
        assert_eq!((json.first(log), json.cut(log), json.cut(&log[..12])), (Some(12), 12, 0));
    }
}
