//! Write times: how long a server worked on each write, without the time that the write waited for those before it.
//!
//! 389-ds and slapd apply one write to a database at a time, so a write begins when it has left the queue of the worker
//! threads and the write before it has ended. A chunk keeps its first write until it is merged.

use serde::{Deserialize, Serialize};

use crate::durations::Durations;
use crate::operation_kinds::{MODIFY, MODRDN, OperationKind};
use crate::stamps::SECOND;
use crate::timeline::Timeline;

/// Returns whether operations of a kind are writes: MODIFY, ADD, DELETE, MODRDN.
#[inline]
pub fn is_write(kind: OperationKind) -> bool {
    (MODIFY..=MODRDN).contains(&kind)
}

/// The times of the successful writes of a server, in the order of their results. All in nanoseconds.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct WriteTimes {
    /// (Time of the result, duration) of the first write; the one before it is in the chunk before.
    pub first: Option<(i64, i64)>,
    /// The time of the last result.
    pub last: Option<i64>,
    /// The time of each write from its start, or from the result of the write before it if that came later.
    pub own: Durations,
}

impl WriteTimes {
    /// Counts a write that took this long after its wait for a worker thread; returns the bytes added.
    pub fn add(&mut self, timeline: &mut Timeline, time: i64, duration: i64) -> usize {
        let Some(before) = self.last.replace(time) else {
            self.first = Some((time, duration));
            return 0;
        };
        self.count(timeline, time, duration, before)
    }

    fn count(&mut self, timeline: &mut Timeline, time: i64, duration: i64, before: i64) -> usize {
        let own = duration.min(time.saturating_sub(before)).max(0);
        timeline.at(time.div_euclid(SECOND)).writing += i128::from(own);
        self.own.add(own)
    }

    /// Decides the first write of the chunk that follows, and adds its others.
    pub fn follow(&mut self, timeline: &mut Timeline, later: &WriteTimes) {
        self.own.0.merge(&later.own.0);
        if later.last.is_none() {
            return;
        }
        match (self.last, later.first) {
            (None, first) => self.first = first,
            (Some(before), Some((time, duration))) => {
                self.count(timeline, time, duration, before);
            }
            (Some(_), None) => {}
        }
        self.last = later.last;
    }

    /// Ends the stream: the first write is not counted, because the one before it is not in the log.
    pub fn end(&mut self) {
        (self.first, self.last) = (None, None);
    }
}
