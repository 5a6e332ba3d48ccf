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

use crate::client_row::kept_code;
use crate::interner::{ANONYMOUS, Symbol};
use crate::operation_kinds::{self, ABANDON, BIND, EXTENDED, NAMED, OperationKind, SORTED};
use crate::operation_row::{OTHER_RESULT, OperationRow};
use crate::pending_requests::NO_ROW;
use crate::processes::{drop_expired, end_process, take_run};
use crate::prune::prune;
use crate::runs::Run;
use crate::segment::{SAMPLES, Segment};
use crate::shape_row::ShapeRow;
use crate::substrings::has_substrings;
use crate::tables::{CappedTable, Caps, RankedTable};
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
    pub fn merge(&mut self, later: Segment) {
        let line_base = self.line_base;
        self.line_base += later.lines + 1;
        let (mut translation, runs) = self.add_counts(later, line_base);
        let mut process = self.runs.pop().unwrap_or_else(|| Run::new(false));
        for mut run in runs {
            translate_run(self, &mut translation, &mut run);
            process = take_run(self, process, run);
        }
        drop_expired(self, &mut process);
        self.runs.push(process);
        prune(self, false);
        self.compact();
    }

    /// Ends the stream: open connections are counted as open at the end.
    pub fn finish(&mut self) {
        if let Some(process) = self.runs.pop() {
            end_process(self, process, None, true);
        }
        self.writes.end();
        prune(self, true);
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
            run.each_connection(|connection| {
                if let (Some(client), Some(_)) = (connection.client, connection.row) {
                    connection.row = Some(self.client(client));
                }
                forget_counts(connection);
            });
            self.runs.push(run);
        }
    }

    /// Adds the counts that do not depend on the edge between the chunks; returns what the rest is to be added by.
    fn add_counts(&mut self, later: Segment, line_base: u64) -> (Translation, Vec<Run>) {
        add_numbers(self, &later);
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
        add_tables(self, later, line_base)
    }

    /// Drops the texts that no row has any more, where they have become many.
    fn compact(&mut self) {
        if self.texts.weight() < self.compacted_at {
            return;
        }
        let old = mem::replace(self, Segment::new(self.caps));
        self.line_base = old.line_base;
        let (mut translation, runs) = self.add_counts(old, 0);
        for mut run in runs {
            translate_run(self, &mut translation, &mut run);
            self.runs.push(run);
        }
        self.compacted_at = COMPACTED.max(2 * self.texts.weight());
    }
}

fn translate_run(segment: &mut Segment, translation: &mut Translation, run: &mut Run) {
    run.each_connection(|connection| translation.connection(segment, connection));
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
    segment.lines += later.lines;
    segment.misread += later.misread;
    segment.passed_over += later.passed_over;
    segment.lost += later.lost;
    segment.internal += later.internal;
    segment.continued += later.continued;
    segment.holes += later.holes;
    segment.opened += later.opened;
    segment.waited += later.waited;
    segment.took += later.took;
    segment.server_processes += later.server_processes;
    segment.open_at_end += later.open_at_end;
    segment.open_before += later.open_before;
    segment.ended_by_restart += later.ended_by_restart;
    segment.maybe_clear += later.maybe_clear;
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

fn add_tables(segment: &mut Segment, later: Segment, line_base: u64) -> (Translation, Vec<Run>) {
    let mut translation = Translation::new(later.texts, later.removed_rows, line_base);
    let texts = &mut segment.texts;
    let mut text = |symbol| translation.text(texts, symbol);
    add_capped(&mut segment.servers, later.servers, &mut text);
    add_capped(&mut segment.closed, later.closed, &mut text);
    add_capped(&mut segment.noted, later.noted, &mut text);
    let mut two = |(one, other)| (text(one), text(other));
    add_capped(&mut segment.instances, later.instances, &mut two);
    add_capped(&mut segment.ciphers, later.ciphers, &mut two);
    add_ranked(&mut segment.refused, later.refused, &mut two);
    add_ranked(&mut segment.clear_binds, later.clear_binds, &mut two);
    add_ranked(&mut segment.not_indexed, later.not_indexed, &mut two);
    add_ranked(&mut segment.accounts, later.accounts, &mut text);
    add_ranked(&mut segment.modified, later.modified, &mut text);
    segment.lookups.also(&later.lookups);
    for ((attribute, kind), lookups) in later.lookups {
        let key = (translation.text(&mut segment.texts, attribute), translation.text(&mut segment.texts, kind));
        segment.index_lookup(key, lookups);
    }
    add_attribution(segment, later.attribution, &mut translation);
    add_operations(segment, later.shapes, later.targets, &mut translation);
    add_clients(segment, later.clients, later.idle_times, &mut translation);
    (translation, later.runs)
}

fn add_capped<Key: Copy + Eq + std::hash::Hash>(
    table: &mut CappedTable<Key, u64>,
    later: CappedTable<Key, u64>,
    mut translated: impl FnMut(Key) -> Key,
) {
    table.full |= later.full;
    for (key, count) in later {
        table.count(translated(key), count);
    }
}

fn add_ranked<Key: Copy + Eq + std::hash::Hash>(
    table: &mut RankedTable<Key, u64>,
    later: RankedTable<Key, u64>,
    mut translated: impl FnMut(Key) -> Key,
) {
    table.also(&later);
    for (key, count) in later {
        table.count(translated(key), count);
    }
}

type Attribution = RankedTable<crate::segment::AttributionKey, crate::connection::ResultCounts>;

fn add_attribution(segment: &mut Segment, later: Attribution, translation: &mut Translation) {
    segment.attribution.also(&later);
    for ((kind, subject, client, account, err), counts) in later {
        let mut text = |symbol| translation.text(&mut segment.texts, symbol);
        let key = (kind, text(subject), text(client), text(account), err);
        let place = segment.attribution_index(key);
        segment.attribution.at(place).add(counts);
    }
}

type Shapes = RankedTable<crate::operation_row::ShapeKey, ShapeRow>;
type Targets = RankedTable<crate::operation_row::TargetKey, OperationRow>;

fn add_operations(segment: &mut Segment, shapes: Shapes, targets: Targets, translation: &mut Translation) {
    segment.shapes.also(&shapes);
    segment.targets.also(&targets);
    for ((shape, base, scope), row) in shapes {
        let texts = &mut segment.texts;
        let key = (translation.text(texts, shape), translation.text(texts, base), scope);
        let place = segment.shapes.place(key, || ShapeRow::new(has_substrings(texts.resolve(key.0))));
        let searches = segment.shapes.at(place);
        searches.merge(row, &segment.noted, |symbol| translation.text(&mut segment.texts, symbol));
        translation.shapes.push(place as u32);
    }
    for ((kind, text), row) in targets {
        let text = translation.text(&mut segment.texts, text);
        let place = segment.target((kind, text));
        segment.targets.at(place as usize).merge(row);
        translation.targets.push(place);
    }
}

type Clients = RankedTable<Symbol, crate::client_row::ClientRow>;
type IdleTimes = RankedTable<(Symbol, Symbol), crate::idle_times::IdleRow>;

fn add_clients(segment: &mut Segment, clients: Clients, idle_times: IdleTimes, translation: &mut Translation) {
    segment.clients.also(&clients);
    segment.idle_times.also(&idle_times);
    for (address, row) in clients {
        let address = translation.text(&mut segment.texts, address);
        let place = segment.client(address);
        let (closed, texts) = (&segment.closed, &mut segment.texts);
        segment.clients.at(place as usize).merge(row, |code| kept_code(closed, translation.text(texts, code)));
    }
    for ((client, account), row) in idle_times {
        let key = (translation.text(&mut segment.texts, client), translation.text(&mut segment.texts, account));
        let place = segment.idle_times.place(key, Default::default);
        let (closed, texts) = (&segment.closed, &mut segment.texts);
        segment.idle_times.at(place).merge(&row, |code| kept_code(closed, translation.text(texts, code)));
    }
}
