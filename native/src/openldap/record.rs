//! A line of slapd's log while its message is read.

use crate::fields;
use crate::scan::Scan;
use crate::syslog_clocks::{Clock, Stamp};

/// Digits of a connection or operation number.
pub const CONN_DIGITS: usize = 18;

/// How a line that is understood was handled.
pub enum Handled {
    /// Its record is counted.
    Counted,
    /// It is not needed: details of a request, other programs, the server's trace.
    PassedOver,
    /// Its stamp is no valid time, like Feb 31.
    InvalidTime,
}

/// A line whose message is being read.
pub struct Record<'a> {
    pub stamp: &'a Stamp<'a>,
    pub clock: &'a mut dyn Clock,
    pub log: &'a mut Scan,
}

impl Record<'_> {
    /// Count the record at the time of its stamp.
    pub fn count(&mut self, count: impl FnOnce(&mut Scan, i64)) -> Option<Handled> {
        let Some(time) = self.clock.time(self.stamp, self.log) else { return Some(Handled::InvalidTime) };
        count(self.log, time);
        Some(Handled::Counted)
    }
}

/// The rest after a number of any length.
pub fn digits(text: &[u8]) -> Option<&[u8]> {
    fields::digits(text, usize::MAX).map(|(_, rest)| rest)
}

/// Returns `Some` at the end of a line, which may have blanks and a carriage return.
pub fn ends(text: &[u8]) -> Option<()> {
    text.iter().all(|byte| matches!(byte, b' ' | b'\r')).then_some(())
}
