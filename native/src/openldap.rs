//! slapd's log at level stats.
use crate::scan::Scan;

/// slapd's messages behind `seconds.nanoseconds thread`.
pub fn scan_stderr(_data: &[u8], _log: &mut Scan) {}
/// The same behind what a container's log adds.
pub fn scan_container(_data: &[u8], _log: &mut Scan) {}
/// Behind RFC 3164's prefix.
pub fn scan_syslog(_data: &[u8], _log: &mut Scan) {}
/// Behind rsyslog's own prefix.
pub fn scan_syslog_iso(_data: &[u8], _log: &mut Scan) {}
/// Behind RFC 5424's prefix.
pub fn scan_syslog_rfc5424(_data: &[u8], _log: &mut Scan) {}
