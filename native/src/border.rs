//! The borders of the period: records before it are counted apart, records past it are not read.

use std::mem;

use crate::clock_history::ClockHistory;
use crate::runs::Run;
use crate::scan::Scan;
use crate::segment::Segment;

impl Scan {
    /// Returns the chunks read before the period and within it, and resets the scan.
    pub fn take(&mut self) -> (Option<Segment>, Option<Segment>) {
        let before = self.before.take();
        let is_before = self.period.since.is_some();
        let chunk = self.finish();
        if is_before { (Some(chunk), None) } else { (before, Some(chunk)) }
    }

    fn finish(&mut self) -> Segment {
        self.rows.clear();
        let caps = self.segment.caps;
        self.clock_before = ClockHistory::default();
        let mut segment = mem::replace(&mut self.segment, Segment::new(caps));
        segment.runs.push(mem::replace(&mut self.run, Run::new(false)));
        segment
    }

    /// Extends the time range of the chunk to a record, or returns true for a record past the period.
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

    /// Crosses a border of the period; returns whether the period is over.
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
                (self.segment.zones, self.segment.resolution) = (zones, resolution); // dialects report only changes
            }
        }
        self.border = self.period.next_border();
        self.over
    }
}
