//! The borders of a time: what lies before it is counted apart, and nothing is read past it.

use std::mem;

use crate::runs::Run;
use crate::scan::Scan;
use crate::segment::Segment;
use crate::tally::Clock;

/// The times that are asked for, nanoseconds since 1970.
#[derive(Clone, Copy, Default)]
pub struct Period {
    /// What lies before it tells who is connected, and is counted apart.
    pub since: Option<i64>,
    /// Its own records are within.
    pub until: Option<i64>,
}

impl Period {
    /// The first time at which something else begins: what is asked for, or what comes after it.
    pub fn next_border(&self) -> i64 {
        let end = self.until.map_or(i64::MAX, |until| until.saturating_add(1));
        self.since.map_or(end, |since| since.min(end))
    }
}

impl Scan {
    /// Returns what was read before the period and within, and begins anew.
    pub fn take(&mut self) -> (Option<Segment>, Option<Segment>) {
        let before = self.before.take();
        let waits = self.period.since.is_some();
        let piece = self.finish();
        if waits { (Some(piece), None) } else { (before, Some(piece)) }
    }

    fn finish(&mut self) -> Segment {
        self.rows.clear();
        let caps = self.segment.caps;
        self.clock_before = Clock::default();
        let mut segment = mem::replace(&mut self.segment, Segment::new(caps));
        segment.runs.push(mem::replace(&mut self.run, Run::new(false)));
        segment
    }

    /// Hears of the time of a record, and tells whether the record is past what was asked for.
    #[inline]
    pub(crate) fn is_past(&mut self, time: i64) -> bool {
        if time >= self.border && self.crosses(time) {
            return true;
        }
        let segment = &mut self.segment;
        segment.last_time = segment.last_time.max(time);
        segment.first_time = segment.first_time.min(time);
        false
    }

    /// Begins what a border parts, and tells whether that is no longer asked for.
    #[cold]
    fn crosses(&mut self, time: i64) -> bool {
        self.over = self.over || self.period.until.is_some_and(|until| time > until);
        let (zones, resolution) = (self.segment.zones.clone(), self.segment.resolution);
        if self.clock_before.line == self.segment.lines {
            self.clock_before.zone.take().map(|zone| self.segment.zones.remove(&zone));
            self.segment.resolution = self.clock_before.resolution;
        }
        if self.period.since.is_some_and(|since| time >= since) {
            self.before = Some(self.finish());
            self.period.since = None;
            if !self.over {
                (self.segment.zones, self.segment.resolution) = (zones, resolution); // dialects tell only what changes
            }
        }
        self.border = self.period.next_border();
        self.over
    }
}
