//! The dialects that are scanned here, by the names the Python reference gives them.

use crate::scan::Scan;
use crate::{ds389_json, ds389_text, openldap};

/// One grammar.
pub struct Dialect {
    /// As in the JSON.
    pub name: &'static str,
    /// Reads whole records.
    pub scan: fn(&[u8], &mut Scan),
    /// Where the last whole record ends at or before a place; 0 if there is none.
    pub cut: fn(&[u8], usize) -> usize,
}

/// Every dialect that has a native scanner.
pub const DIALECTS: [Dialect; 7] = [
    Dialect { name: "389-text", scan: ds389_text::scan, cut: cut_at_line },
    Dialect { name: "389-json", scan: ds389_json::scan, cut: ds389_json::cut },
    Dialect { name: "openldap-stderr", scan: openldap::scan_stderr, cut: cut_at_line },
    Dialect { name: "openldap-container", scan: openldap::scan_container, cut: cut_at_line },
    Dialect { name: "openldap-syslog", scan: openldap::scan_syslog, cut: cut_at_line },
    Dialect { name: "openldap-syslog-iso", scan: openldap::scan_syslog_iso, cut: cut_at_line },
    Dialect { name: "openldap-syslog-rfc5424", scan: openldap::scan_syslog_rfc5424, cut: cut_at_line },
];

/// The dialect of this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.name == name)
}

/// Where the last whole line ends at or before a place.
pub fn cut_at_line(data: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &data[..at]).map_or(0, |end| end + 1)
}
