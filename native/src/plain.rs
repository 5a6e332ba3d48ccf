//! The plain form of a finished Segment, which `ldapdiag/evidence/log/plain.py` reads: dicts, lists, tuples, numbers and bytes.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rustc_hash::FxHashMap;

use crate::client_row::ClientRow;
use crate::connection::ResultCounts;
use crate::histogram::Histogram;
use crate::idle_times::{IdleRow, IdleTimes, TIMEOUTS};
use crate::interner::Symbol;
use crate::operation_row::OperationRow;
use crate::segment::Segment;
use crate::shape_row::{Details, ShapeRow, SortCounts, StoppedCounts, SubstringCounts};
use crate::sorting::Sorting;
use crate::tables::LookupCounts;
use crate::timeline::{Interval, Timeline};

type Object<'py> = Bound<'py, PyAny>;

/// Later than any time of a log: the first time of a row without results.
const NEVER: i128 = 1 << 63;

/// The conversion of a Segment, with each of its texts already a Python object.
struct Converter<'py> {
    py: Python<'py>,
    texts: Vec<Bound<'py, PyBytes>>,
}

/// Returns the plain form of a finished Segment.
pub fn plain_of<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let texts = segment.texts.iter().map(|text| PyBytes::new(py, text)).collect();
    let converter = Converter { py, texts };
    let plain = PyDict::new(py);
    converter.numbers(&plain, segment)?;
    converter.tables(&plain, segment)?;
    Ok(plain)
}

impl<'py> Converter<'py> {
    fn numbers(&self, plain: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        for (name, sum) in segment.sums() {
            plain.set_item(name, sum)?;
        }
        let bytes = |text: &Vec<u8>| PyBytes::new(self.py, text);
        plain.set_item("samples", segment.samples.iter().map(bytes).collect::<Vec<_>>())?;
        let timed = segment.first_time <= segment.last_time;
        plain.set_item("first_time", timed.then_some(segment.first_time))?;
        plain.set_item("last_time", timed.then_some(segment.last_time))?;
        plain.set_item("zones", segment.zones.iter().map(bytes).collect::<Vec<_>>())?;
        plain.set_item("resolution", segment.resolution)?;
        plain.set_item("operations", segment.operations.to_vec())?;
        plain.set_item("results", segment.results.iter().collect::<FxHashMap<_, _>>())?;
        plain.set_item("timeline", self.timeline(&segment.timeline)?)?;
        plain.set_item("longest_wait", segment.longest_wait)?;
        let writes = &segment.writes;
        plain.set_item("writes", (writes.first, writes.last, self.histogram(&writes.own.0)?))?;
        plain.set_item("peak", segment.peak)?;
        plain.set_item("cut_short", segment.cut_short.iter().collect::<Vec<_>>())
    }

    fn tables(&self, plain: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let one = |&text: &Symbol| self.text(text);
        let two = |&(one, two): &(Symbol, Symbol)| (self.text(one), self.text(two));
        plain.set_item("servers", self.table(segment.servers.iter(), one)?)?;
        plain.set_item("instances", self.table(segment.instances.iter(), two)?)?;
        plain.set_item("closed", self.table(segment.closed.iter(), one)?)?;
        plain.set_item("noted", self.table(segment.noted.iter(), one)?)?;
        plain.set_item("ciphers", self.table(segment.ciphers.iter(), two)?)?;
        plain.set_item("refused", self.table(segment.refused.iter(), two)?)?;
        plain.set_item("clear_binds", self.table(segment.clear_binds.iter(), two)?)?;
        plain.set_item("not_indexed", self.table(segment.not_indexed.iter(), two)?)?;
        plain.set_item("modified", self.table(segment.modified.iter(), one)?)?;
        plain.set_item("accounts", self.table(segment.accounts.iter(), one)?)?;
        let lookups = PyDict::new(self.py);
        for (key, &LookupCounts { count, most, least }) in segment.lookups.iter() {
            lookups.set_item(two(key), self.list((count, most, least))?)?;
        }
        plain.set_item("lookups", lookups)?;
        let attribution = PyDict::new(self.py);
        for (&(kind, text, client, account, err), cell) in segment.attribution.iter() {
            let key = (kind, self.text(text), self.text(client), self.text(account), err);
            attribution.set_item(key, self.cell(cell)?)?;
        }
        plain.set_item("attribution", attribution)?;
        self.rows(plain, segment)?;
        plain.set_item("full", full(segment))
    }

    fn rows(&self, plain: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let shapes = PyList::empty(self.py);
        for (&(shape, base, scope), row) in segment.shapes.iter() {
            shapes.append(self.shape((self.text(shape), self.text(base), scope), row)?)?;
        }
        plain.set_item("shapes", shapes)?;
        let targets = PyList::empty(self.py);
        for (&(kind, text), row) in segment.targets.iter() {
            targets.append(((kind, self.text(text)), self.operations(row)?))?;
        }
        plain.set_item("targets", targets)?;
        let clients = PyDict::new(self.py);
        for (&address, row) in segment.clients.iter() {
            clients.set_item(self.text(address), self.client(row)?)?;
        }
        plain.set_item("clients", clients)?;
        let idle_times = PyDict::new(self.py);
        for (&(client, account), row) in segment.idle_times.iter() {
            idle_times.set_item((self.text(client), self.text(account)), self.idle_row(row)?)?;
        }
        plain.set_item("idle_times", idle_times)
    }

    fn text(&self, text: Symbol) -> &Bound<'py, PyBytes> {
        &self.texts[text.index()]
    }

    fn table<'a, Key: 'a, PlainKey: IntoPyObject<'py>>(
        &self,
        table: impl Iterator<Item = (&'a Key, &'a u64)>,
        plain: impl Fn(&'a Key) -> PlainKey,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(self.py);
        for (key, &count) in table {
            counts.set_item(plain(key), count)?;
        }
        Ok(counts)
    }

    fn counts(&self, counts: impl Iterator<Item = (Symbol, u64)>) -> PyResult<Bound<'py, PyDict>> {
        let plain = PyDict::new(self.py);
        for (key, count) in counts {
            plain.set_item(self.text(key), count)?;
        }
        Ok(plain)
    }

    fn histogram(&self, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
        let plain = PyDict::new(self.py);
        for (number, count) in histogram.iter() {
            plain.set_item(number, count)?;
        }
        Ok(plain)
    }

    fn timeline(&self, timeline: &Timeline) -> PyResult<Object<'py>> {
        let intervals = PyList::empty(self.py);
        for (number, interval) in &timeline.intervals {
            intervals.append(self.interval(*number, interval)?)?;
        }
        (timeline.level, intervals).into_bound_py_any(self.py)
    }

    fn interval(&self, number: i64, interval: &Interval) -> PyResult<Object<'py>> {
        let counts = (
            interval.answered,
            interval.etime,
            interval.searches,
            interval.search_etime,
            interval.slow,
            interval.failed_binds,
            interval.writing,
            interval.opened,
            interval.closed,
        );
        let results = PyDict::new(self.py);
        for &(err, count) in &interval.results {
            results.set_item(err, count)?;
        }
        let idle = PyDict::new(self.py);
        for (timeout, &counts) in TIMEOUTS.iter().zip(&interval.idle).filter(|(_, counts)| **counts != [0; 3]) {
            idle.set_item(timeout, counts.to_vec())?;
        }
        let slots: Vec<u8> = interval.slots.iter().flat_map(|word| word.to_le_bytes()).collect();
        let slots = PyBytes::new(self.py, &slots);
        (number, counts, interval.most_busy, interval.longest_queue, results, idle, slots).into_bound_py_any(self.py)
    }

    fn operations(&self, row: &OperationRow) -> PyResult<Object<'py>> {
        let counts = (row.requests, row.answered, row.abandoned, row.unanswered, row.etime, row.wait, row.entries);
        let histograms =
            (self.histogram(&row.etimes.0)?, self.histogram(&row.waits.0)?, self.histogram(&row.optimes.0)?);
        let (etime, time, number, op) = row.worst.order;
        let worst = (etime, time, number, op, PyBytes::new(self.py, &row.worst.subject));
        let times = if row.answered == 0 { (NEVER, -NEVER) } else { (i128::from(row.first), i128::from(row.last)) };
        let cells = PyDict::new(self.py);
        for cell in &row.series.cells {
            cells.set_item(cell.number, self.list((cell.count, cell.etime))?)?;
        }
        (counts, &row.errors, histograms, worst, times, (row.series.shift, cells)).into_bound_py_any(self.py)
    }

    fn cell(&self, cell: &ResultCounts) -> PyResult<Bound<'py, PyList>> {
        self.list((cell.answered, cell.etime, cell.noted))
    }

    fn list(&self, numbers: impl IntoPyObject<'py, Target = PyTuple>) -> PyResult<Bound<'py, PyList>> {
        Ok(numbers.into_bound_py_any(self.py)?.cast::<PyTuple>()?.to_list())
    }

    fn idle_times(&self, idle_times: &IdleTimes) -> PyResult<Object<'py>> {
        let buckets = PyDict::new(self.py);
        for &(bucket, count, nanoseconds) in &idle_times.buckets {
            buckets.set_item(bucket, self.list((count, nanoseconds))?)?;
        }
        (buckets, idle_times.longest).into_bound_py_any(self.py)
    }

    fn idle_row(&self, row: &IdleRow) -> PyResult<Object<'py>> {
        let before_close = PyDict::new(self.py);
        for (code, idle_times) in &row.before_close {
            before_close.set_item(self.text(*code), self.idle_times(idle_times)?)?;
        }
        (self.idle_times(&row.used)?, before_close, self.idle_times(&row.open)?).into_bound_py_any(self.py)
    }

    fn shape(&self, key: impl IntoPyObject<'py>, row: &ShapeRow) -> PyResult<Object<'py>> {
        let nothing = Details::default();
        let details = row.details.as_deref().unwrap_or(&nothing);
        let by_lengths = PyDict::new(self.py);
        for (&lengths, &SubstringCounts { answered, etime, noted, most }) in details.substring_lengths.iter() {
            by_lengths.set_item(self.text(lengths), self.list((answered, etime, noted, most))?)?;
        }
        let stopped = PyDict::new(self.py);
        for (&(err, notes), &StoppedCounts { answered, etime, wait, entries, most }) in details.stopped.iter() {
            stopped.set_item((err, self.text(notes)), self.list((answered, etime, wait, entries, most))?)?;
        }
        let sorts = PyDict::new(self.py);
        for (&sorting, &SortCounts { answered, etime, unindexed, candidates, most }) in details.sorts.iter() {
            sorts.set_item(self.sorting(sorting), self.list((answered, etime, unindexed, candidates, most))?)?;
        }
        (
            key,
            self.operations(&row.operations)?,
            self.counts(details.noted.iter().map(|(&notes, &count)| (notes, count)))?,
            (row.most_entries, row.most_limited),
            (by_lengths, details.substring_lengths.full, sorts, details.sorts.full, stopped, details.stopped.full),
        )
            .into_bound_py_any(self.py)
    }

    fn client(&self, row: &ClientRow) -> PyResult<Object<'py>> {
        (
            row.opened,
            row.operations,
            self.counts(row.codes.iter().copied())?,
            self.counts(row.silent.iter().copied())?,
            self.histogram(&row.lifetimes)?,
            self.histogram(&row.per_connection)?,
            row.used.map_or((NEVER, -NEVER), |(first, last)| (i128::from(first), i128::from(last))),
        )
            .into_bound_py_any(self.py)
    }

    fn sorting(&self, sorting: Sorting) -> (&Bound<'py, PyBytes>, i64, i64) {
        (self.text(sorting.keys), sorting.candidates, sorting.vlv)
    }
}

/// The names of the tables whose cap was hit, each with the cost that a key of it may have had in addition to its row's.
fn full(segment: &Segment) -> Vec<(&'static str, i128)> {
    let tables = [
        ("servers", segment.servers.full, 0),
        ("instances", segment.instances.full, 0),
        ("closed", segment.closed.full, 0),
        ("noted", segment.noted.full, 0),
        ("ciphers", segment.ciphers.full, 0),
        ("refused", segment.refused.full, segment.refused.omitted),
        ("clear_binds", segment.clear_binds.full, segment.clear_binds.omitted),
        ("not_indexed", segment.not_indexed.full, segment.not_indexed.omitted),
        ("lookups", segment.lookups.full, segment.lookups.omitted),
        ("modified", segment.modified.full, segment.modified.omitted),
        ("shapes", segment.shapes.full, segment.shapes.omitted),
        ("targets", segment.targets.full, segment.targets.omitted),
        ("attribution", segment.attribution.full, segment.attribution.omitted),
        ("clients", segment.clients.full, segment.clients.omitted),
        ("accounts", segment.accounts.full, segment.accounts.omitted),
        ("idle_times", segment.idle_times.full, segment.idle_times.omitted),
    ];
    tables.iter().filter(|(_, full, _)| *full).map(|&(name, _, omitted)| (name, omitted)).collect()
}
