//! The period of a scan: the times of the records that are counted.

/// The first and the last time, nanoseconds since 1970; `None`: no limit on that side.
#[derive(Clone, Copy, Default)]
pub struct Period {
    /// Records before it only establish which connections are open; they are counted apart.
    pub since: Option<i64>,
    /// The last time inside the period.
    pub until: Option<i64>,
}

impl Period {
    /// The next time at which the period begins or is past.
    pub fn next_border(&self) -> i64 {
        let end = self.until.map_or(i64::MAX, |until| until.saturating_add(1));
        self.since.map_or(end, |since| since.min(end))
    }
}
