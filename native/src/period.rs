//! The period of a scan: the times of the records that are counted.

/// Where a record is in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Lines without a time, at the beginning of a chunk: they belong to the records before them.
    Untimed,
    /// Before the period: such a record only establishes which connections are open.
    Before,
    /// Inside the period.
    Within,
    /// After the period: such a record is not counted.
    Later,
}

/// The first and the last time, nanoseconds since 1970; `None`: no limit on that side.
#[derive(Clone, Copy, Default)]
pub struct Period {
    /// The first time inside the period.
    pub since: Option<i64>,
    /// The last time inside the period.
    pub until: Option<i64>,
}

impl Period {
    /// Where the first record of a chunk is, as far as the period alone decides it.
    pub fn start(&self) -> Place {
        if self.since.is_none() && self.until.is_none() { Place::Within } else { Place::Untimed }
    }

    /// Where a record with this time is.
    pub fn place(&self, time: i64) -> Place {
        if self.until.is_some_and(|until| time > until) {
            Place::Later
        } else if self.since.is_some_and(|since| time < since) {
            Place::Before
        } else {
            Place::Within
        }
    }

    /// The first and the last time of the records that are counted in one place; none after the period.
    pub fn span(&self, place: Place) -> (i64, i64) {
        let (first, last) = (self.since.unwrap_or(i64::MIN), self.until.unwrap_or(i64::MAX));
        match place {
            Place::Untimed | Place::Later => (i64::MAX, i64::MIN),
            Place::Before => (i64::MIN, last.min(first.saturating_sub(1))),
            Place::Within => (first, last),
        }
    }
}
