//! The borders of the period: the records before, inside and after it are counted apart, each by its own time.
//!
//! No record decides about those behind it: a client can forge one with any time.

use std::mem;

use crate::connection_numbers::ConnectionNumbers;
use crate::period::Place;
use crate::runs::Run;
use crate::scan::Scan;
use crate::segment::{Part, Segment};

/// Approximate bytes of a part besides those of its records.
const PART_BYTES: usize = 1 << 13;

impl Scan {
    /// Returns the parts of the chunk in their order, and resets the scan.
    pub fn take(&mut self) -> Vec<Part> {
        self.finish_part();
        self.parts_weight = 0;
        mem::take(&mut self.parts)
    }

    /// Ends the part that is scanned.
    fn finish_part(&mut self) {
        self.rows.clear();
        self.templates.clear();
        self.base.3 = None;
        self.instance = None;
        let caps = self.segment.caps;
        let mut segment = mem::replace(&mut self.segment, Segment::new(caps));
        self.segment.zones.clone_from(&segment.zones); // dialects report only changes
        self.segment.resolution = segment.resolution;
        segment.runs.push(mem::replace(&mut self.run, Run::new(false)));
        self.opened_before = ConnectionNumbers::default();
        self.parts_weight += PART_BYTES + segment.weight();
        self.parts.push((self.place, segment));
    }

    /// Extends the time range of the chunk to a record; returns true for a record after the period.
    #[inline]
    pub(crate) fn is_past(&mut self, time: i64) -> bool {
        let is_past = (time < self.span.0 || time > self.span.1) && self.crosses(time);
        let segment = &mut self.segment;
        segment.last_time = segment.last_time.max(time);
        segment.first_time = segment.first_time.min(time);
        is_past
    }

    /// Counts a record that has both a request, at the `first` time, and its result: its place is that of the `last`.
    pub fn counted_as_one(&mut self, first: i64, last: i64, count: impl FnOnce(&mut Scan)) {
        if self.is_past(last) {
            self.segment.first_time = self.segment.first_time.min(first);
            return;
        }
        let span = mem::replace(&mut self.span, (i64::MIN, i64::MAX));
        count(self);
        self.span = span;
    }

    /// Begins a part with the first record in another place; returns whether the record is after the period.
    #[cold]
    fn crosses(&mut self, time: i64) -> bool {
        let place = self.period.place(time);
        if place != self.place {
            if self.segment.lines > 0 {
                self.finish_part();
            }
            (self.place, self.span) = (place, self.period.span(place));
        }
        place == Place::Later
    }
}
