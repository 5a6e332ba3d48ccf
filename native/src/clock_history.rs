//! The zone and the resolution of the stamps as they were before a line, in case that line is outside the period.

/// The state of the log's clock before a line.
pub(crate) struct ClockHistory {
    pub(crate) line: u64,
    /// The zone that this line was the first to have.
    pub(crate) zone: Option<Vec<u8>>,
    pub(crate) resolution: i64,
}

impl Default for ClockHistory {
    fn default() -> Self {
        ClockHistory { line: u64::MAX, zone: None, resolution: 1 }
    }
}
