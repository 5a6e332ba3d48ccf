//! Merge: the counts of adjacent chunks of one stream, paired across the cut.
//!
//! ```text
//! let mut total = Segment::start(caps);
//! for chunk in chunks { total.merge(chunk) }
//! total.finish()
//! ```
//!
//! A log cut at any record boundary gives the same counts as the whole; where a cap was hit, the same totals.

use std::mem;

use crate::interner::ANONYMOUS;
use crate::operation_kinds::{self, ABANDON, BIND, EXTENDED, NAMED, OperationKind, SORTED};
use crate::operation_row::OTHER_RESULT;
use crate::pending_requests::NO_ROW;
use crate::processes::{drop_expired, end_process, take_run};
use crate::prune::{LaterRows, add_tables, prune};
use crate::runs::Run;
use crate::segment::{SAMPLES, Segment};
use crate::tables::{CappedTable, Caps};
use crate::translation::Translation;

/// Bytes of texts from which on those that no row has any more are looked for.
const COMPACTED: usize = 32 << 20;

/// Kinds of results that may change the account or the security of a connection, or count only with their request.
const STATEFUL: [OperationKind; 4] = [BIND, EXTENDED, NAMED, SORTED];

impl Segment {
    /// The Segment before the first record of a stream.
    pub fn start(caps: Caps) -> Self {
        let mut segment = Segment::new(caps);
        segment.runs.push(Run::new(false));
        segment.compacted_at = COMPACTED;
        segment
    }

    /// Adds the chunk that follows.
    pub fn merge(&mut self, mut later: Segment) {
        let line_base = self.line_base;
        self.line_base += later.lines + 1;
        let (mut translation, mut rows) = self.add_counts(&mut later, line_base);
        let mut process = self.runs.pop().unwrap_or_else(|| Run::new(false));
        for mut run in mem::take(&mut later.runs) {
            translate_run(self, &mut translation, &mut rows, &mut run);
            process = take_run(self, process, run);
        }
        drop_expired(self, &mut process);
        self.runs.push(process);
        add_tables(self, later, rows, &mut translation.texts, false);
        self.compact();
    }

    /// Ends the stream: open connections are counted as open at the end.
    pub fn finish(&mut self) {
        if let Some(process) = self.runs.pop() {
            end_process(self, process, None, true);
        }
        self.writes.end();
        prune(self);
        self.targets.retain(|row| !row.is_empty());
    }

    /// Forgets all counts, and keeps the state of the open connections.
    pub fn reset_counts(&mut self) {
        let mut fresh = Segment::new(self.caps);
        mem::swap(&mut fresh, self);
        self.texts = fresh.texts;
        (self.line_base, self.compacted_at) = (fresh.line_base, fresh.compacted_at);
        (self.zones, self.resolution) = (fresh.zones, fresh.resolution);
        (self.servers, self.instances) = (fresh.servers, fresh.instances);
        self.writes.last = fresh.writes.last;
        for mut run in fresh.runs {
            run.initial += mem::take(&mut run.delta);
            run.top = 0;
            run.each_connection(forget_counts);
            run.waiting = run.count_waiting();
            self.runs.push(run);
        }
    }

    /// Adds the counts that depend neither on the edge between the chunks nor on how many rows there are.
    fn add_counts(&mut self, later: &mut Segment, line_base: u64) -> (Translation, LaterRows) {
        add_numbers(self, later);
        for (err, results) in later.results.iter() {
            if self.results.admits(err, self.caps.results) {
                self.results.add(err, results);
            } else {
                self.cut_short("results");
                self.results.add(OTHER_RESULT, results);
            }
        }
        self.timeline.merge(&later.timeline);
        self.writes.follow(&mut self.timeline, &later.writes);
        let mut translation = add_capped_tables(self, later, line_base);
        let rows = self.add_known(later, &mut translation.texts);
        (translation, rows)
    }

    /// Drops the texts that no row has any more, where they have become many.
    fn compact(&mut self) {
        if self.texts.weight() < self.compacted_at {
            return;
        }
        let mut old = mem::replace(self, Segment::new(self.caps));
        self.line_base = old.line_base;
        let (mut translation, mut rows) = self.add_counts(&mut old, 0);
        for mut run in mem::take(&mut old.runs) {
            translate_run(self, &mut translation, &mut rows, &mut run);
            self.runs.push(run);
        }
        add_tables(self, old, rows, &mut translation.texts, false);
        self.compacted_at = COMPACTED.max(2 * self.texts.weight());
    }
}

fn translate_run(segment: &mut Segment, translation: &mut Translation, later: &mut LaterRows, run: &mut Run) {
    run.each_connection(|connection| translation.connection(segment, later, connection));
}

fn forget_counts(connection: &mut crate::connection::Connection) {
    connection.pending.each(|pending| {
        (pending.kind, pending.row, pending.dn) = (operation_kinds::UNKNOWN, NO_ROW, ANONYMOUS);
        pending.subject.clear();
        pending.sorting = None;
    });
    (connection.operations, connection.continued, connection.last_attribution) = (0, 0, None);
    connection.clear_binds.clear();
    if let Some(rare) = connection.rare.as_mut() {
        for result in rare.unmatched.iter_mut().filter(|result| !STATEFUL.contains(&result.kind)) {
            result.kind = ABANDON;
        }
        rare.early.clear();
        rare.unattributed.clear();
        rare.idle_times.clear();
    }
}

fn add_numbers(segment: &mut Segment, later: &Segment) {
    segment.add_sums(later);
    segment.peak = segment.peak.max(later.peak);
    segment.resolution = segment.resolution.max(later.resolution);
    segment.longest_wait = segment.longest_wait.max(later.longest_wait);
    segment.first_time = segment.first_time.min(later.first_time);
    segment.last_time = segment.last_time.max(later.last_time);
    segment.samples.extend(later.samples.iter().take(SAMPLES - segment.samples.len().min(SAMPLES)).cloned());
    segment.zones.extend(later.zones.iter().cloned());
    segment.cut_short.extend(later.cut_short.iter().cloned());
    for (mine, theirs) in segment.operations.iter_mut().zip(later.operations) {
        *mine += theirs;
    }
    for (mine, theirs) in segment.dropped_requests.iter_mut().zip(later.dropped_requests) {
        *mine += theirs;
    }
}

fn add_capped_tables(segment: &mut Segment, later: &mut Segment, line_base: u64) -> Translation {
    let mut translation = Translation::new(later, line_base);
    let texts = &mut segment.texts;
    let mut text = |symbol| translation.texts.text(texts, symbol);
    add_capped(&mut segment.servers, &later.servers, &mut text);
    add_capped(&mut segment.closed, &later.closed, &mut text);
    add_capped(&mut segment.noted, &later.noted, &mut text);
    let mut two = |(one, other)| (text(one), text(other));
    add_capped(&mut segment.instances, &later.instances, &mut two);
    add_capped(&mut segment.ciphers, &later.ciphers, &mut two);
    translation
}

fn add_capped<Key: Copy + Eq + std::hash::Hash>(
    table: &mut CappedTable<Key, u64>,
    later: &CappedTable<Key, u64>,
    mut translated: impl FnMut(Key) -> Key,
) {
    table.full |= later.full;
    for (&key, &count) in later.iter() {
        table.count(translated(key), count);
    }
}
