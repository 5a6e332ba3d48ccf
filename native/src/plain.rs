//! The plain form of a Segment, which `ldapdiag/evidence/log/plain.py` reads: dicts, lists, tuples, numbers and bytes.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rustc_hash::FxHashMap;

use crate::connection::{Account, Connection, RareState, SearchCounts};
use crate::idle_times::IdleTimes;
use crate::interner::{ANONYMOUS, Symbol};
use crate::pending_requests::Pending;
use crate::runs::Run;
use crate::segment::Segment;
use crate::sorting::Sorting;
use crate::tables::{
    CappedTable, ClientRow, Histogram, LookupCounts, ShapeRow, SortCounts, StoppedCounts, SubstringCounts,
};

type Object<'py> = Bound<'py, PyAny>;

/// The conversion of a Segment, with each of its texts already a Python object.
struct Converter<'py> {
    py: Python<'py>,
    texts: Vec<Bound<'py, PyBytes>>,
}

/// Returns the plain form of a Segment.
pub fn plain_of<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let texts = segment.texts.iter().map(|text| PyBytes::new(py, text)).collect();
    let converter = Converter { py, texts };
    let plain = PyDict::new(py);
    converter.numbers(&plain, segment)?;
    converter.tables(&plain, segment)?;
    let runs = segment.runs.iter().map(|run| converter.run(run)).collect::<PyResult<Vec<_>>>()?;
    plain.set_item("runs", runs)?;
    Ok(plain)
}

impl<'py> Converter<'py> {
    fn numbers(&self, plain: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let bytes = |text: &Vec<u8>| PyBytes::new(self.py, text);
        plain.set_item("lines", segment.lines)?;
        plain.set_item("misread", segment.misread)?;
        plain.set_item("samples", segment.samples.iter().map(bytes).collect::<Vec<_>>())?;
        plain.set_item("passed_over", segment.passed_over)?;
        plain.set_item("lost", segment.lost)?;
        let timed = segment.first_time <= segment.last_time;
        plain.set_item("first_time", timed.then_some(segment.first_time))?;
        plain.set_item("last_time", timed.then_some(segment.last_time))?;
        plain.set_item("zones", segment.zones.iter().map(bytes).collect::<Vec<_>>())?;
        plain.set_item("resolution", segment.resolution)?;
        plain.set_item("operations", segment.operations.to_vec())?;
        plain.set_item("internal", segment.internal)?;
        plain.set_item("results", segment.results.iter().collect::<FxHashMap<_, _>>())?;
        plain.set_item("continued", segment.continued)?;
        plain.set_item("holes", segment.holes)?;
        plain.set_item("waits", self.histogram(&segment.waits)?)?;
        plain.set_item("longest_wait", segment.longest_wait)?;
        plain.set_item("waited", segment.waited)?;
        plain.set_item("took", segment.took)?;
        plain.set_item("opened", segment.opened)?;
        plain.set_item("cut_short", segment.cut_short.iter().copied().collect::<Vec<_>>())
    }

    fn tables(&self, plain: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let one = |&text: &Symbol| self.text(text);
        let two = |&(one, two): &(Symbol, Symbol)| (self.text(one), self.text(two));
        plain.set_item("servers", self.table(&segment.servers, one)?)?;
        plain.set_item("instances", self.table(&segment.instances, two)?)?;
        plain.set_item("closed", self.table(&segment.closed, one)?)?;
        plain.set_item("noted", self.table(&segment.noted, one)?)?;
        plain.set_item("not_indexed", self.table(&segment.not_indexed, two)?)?;
        plain.set_item("modified", self.table(&segment.modified, one)?)?;
        let lookups = PyDict::new(self.py);
        for (key, &LookupCounts { count, most, least }) in segment.lookups.iter() {
            lookups.set_item(two(key), self.list((count, most, least))?)?;
        }
        plain.set_item("lookups", lookups)?;
        plain.set_item("accounts", self.table(&segment.accounts, one)?)?;
        let failure = |&(dn, client, err): &(Symbol, Symbol, i64)| (self.text(dn), self.text(client), err);
        plain.set_item("failures", self.table(&segment.failures, failure)?)?;
        let attribution = PyDict::new(self.py);
        for (&(shape, client, account), cell) in segment.attribution.iter() {
            attribution.set_item((self.text(shape), self.text(client), self.text(account)), self.cell(cell)?)?;
        }
        plain.set_item("attribution", attribution)?;
        let shapes = segment.shapes.iter().map(|(_, row)| self.shape(row)).collect::<PyResult<Vec<_>>>()?;
        plain.set_item("shapes", shapes)?;
        let clients = PyDict::new(self.py);
        for (&address, row) in segment.clients.iter() {
            clients.set_item(self.text(address), self.client(row)?)?;
        }
        plain.set_item("clients", clients)?;
        plain.set_item("full", full(segment))
    }

    fn text(&self, text: Symbol) -> &Bound<'py, PyBytes> {
        &self.texts[text.index()]
    }

    fn table<'a, Key: Copy + Eq + std::hash::Hash, PlainKey: IntoPyObject<'py>>(
        &'a self,
        table: &'a CappedTable<Key, u64>,
        plain: impl Fn(&'a Key) -> PlainKey,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(self.py);
        for (key, &count) in table.iter() {
            counts.set_item(plain(key), count)?;
        }
        Ok(counts)
    }

    fn counts(&self, counts: &FxHashMap<Symbol, u64>) -> PyResult<Bound<'py, PyDict>> {
        let plain = PyDict::new(self.py);
        for (&key, &count) in counts {
            plain.set_item(self.text(key), count)?;
        }
        Ok(plain)
    }

    fn histogram(&self, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
        let plain = PyDict::new(self.py);
        for (length, &count) in histogram.0.iter().enumerate().filter(|&(_, &count)| count > 0) {
            plain.set_item(length, count)?;
        }
        Ok(plain)
    }

    fn cell(&self, cell: &SearchCounts) -> PyResult<Bound<'py, PyList>> {
        self.list((cell.count, cell.etime, cell.noted, cell.refused))
    }

    fn list(&self, numbers: impl IntoPyObject<'py, Target = PyTuple>) -> PyResult<Bound<'py, PyList>> {
        Ok(numbers.into_bound_py_any(self.py)?.cast::<PyTuple>()?.to_list())
    }

    fn idle_times(&self, idle_times: &IdleTimes) -> PyResult<Object<'py>> {
        (&idle_times.buckets, idle_times.longest).into_bound_py_any(self.py)
    }

    fn shape(&self, row: &ShapeRow) -> PyResult<Object<'py>> {
        let (shape, base, scope) = row.key;
        let (etime, time, number, op) = row.worst.order;
        let worst = (etime, time, number, op, PyBytes::new(self.py, &row.worst.filter));
        let by_lengths = PyDict::new(self.py);
        for (&lengths, &SubstringCounts { answered, etime, noted, most }) in row.substring_lengths.iter() {
            by_lengths.set_item(self.text(lengths), self.list((answered, etime, noted, most))?)?;
        }
        let stopped = PyDict::new(self.py);
        for (&(err, notes), &StoppedCounts { answered, etime, wait, entries, most }) in row.stopped.iter() {
            stopped.set_item((err, self.text(notes)), self.list((answered, etime, wait, entries, most))?)?;
        }
        let sorts = PyDict::new(self.py);
        for (&sorting, &SortCounts { answered, etime, unindexed, candidates, most }) in row.sorts.iter() {
            sorts.set_item(self.sorting(sorting), self.list((answered, etime, unindexed, candidates, most))?)?;
        }
        (
            (self.text(shape), self.text(base), scope),
            row.searches,
            row.answered,
            row.etime,
            row.wait,
            row.entries,
            self.counts(&row.noted)?,
            &row.errors,
            self.histogram(&row.histogram)?,
            worst,
            (row.most_entries, row.most_limited),
            (by_lengths, row.substring_lengths.full, sorts, row.sorts.full, stopped, row.stopped.full),
        )
            .into_bound_py_any(self.py)
    }

    fn client(&self, row: &ClientRow) -> PyResult<Object<'py>> {
        let idle_before_close = PyDict::new(self.py);
        for (&code, idle_times) in &row.idle_before_close {
            idle_before_close.set_item(self.text(code), self.idle_times(idle_times)?)?;
        }
        (
            row.opened,
            row.operations,
            self.counts(&row.codes)?,
            self.counts(&row.silent)?,
            self.histogram(&row.lifetimes)?,
            self.histogram(&row.per_connection)?,
            self.idle_times(&row.idle_times)?,
            idle_before_close,
        )
            .into_bound_py_any(self.py)
    }

    fn run(&self, run: &Run) -> PyResult<Object<'py>> {
        let connections = PyDict::new(self.py);
        for (number, connection) in run.connections.in_order() {
            connections.set_item(number, self.connection(connection)?)?;
        }
        let late_requests = PyDict::new(self.py);
        for (&number, connection) in &run.late_requests {
            late_requests.set_item(number, self.connection(connection)?)?;
        }
        let numbers: Vec<_> = run.numbers.intervals().collect();
        (run.explicit_start, run.first, run.last, run.latest, numbers, connections, late_requests, run.delta, run.top)
            .into_bound_py_any(self.py)
    }

    fn connection(&self, connection: &Connection) -> PyResult<Bound<'py, PyTuple>> {
        let pending =
            connection.pending.in_order().into_iter().map(|one| self.pending(one)).collect::<PyResult<Vec<_>>>()?;
        let rare = connection.rare.as_ref().map(|rare| self.rare(rare)).transpose()?;
        let first_request = connection
            .first_request
            .map(|first_request| (first_request.op, first_request.time, first_request.epoch, first_request.idle_since));
        let idle_at_close = connection
            .idle_at_close
            .map(|idle_at_close| (idle_at_close.idle_since, idle_at_close.epoch, idle_at_close.quiet));
        let fields = [
            connection.first.into_bound_py_any(self.py)?,
            connection.opened.into_bound_py_any(self.py)?,
            connection.client.map(|client| self.text(client)).into_bound_py_any(self.py)?,
            self.account(connection.account)?,
            connection.confirmed_dn.map(|named| self.text(named)).into_bound_py_any(self.py)?,
            connection.bind_dn.map(|binding| self.text(binding)).into_bound_py_any(self.py)?,
            connection.operations.into_bound_py_any(self.py)?,
            connection.last_op.into_bound_py_any(self.py)?,
            connection.requests.into_bound_py_any(self.py)?,
            first_request.into_bound_py_any(self.py)?,
            connection.idle_since.into_bound_py_any(self.py)?,
            connection.continued.into_bound_py_any(self.py)?,
            connection.closed.into_bound_py_any(self.py)?,
            self.text(connection.code).into_bound_py_any(self.py)?,
            idle_at_close.into_bound_py_any(self.py)?,
            pending.into_bound_py_any(self.py)?,
            rare.into_bound_py_any(self.py)?,
        ];
        PyTuple::new(self.py, fields)
    }

    fn sorting(&self, sorting: Sorting) -> (&Bound<'py, PyBytes>, i64, i64) {
        (self.text(sorting.keys), sorting.candidates, sorting.vlv)
    }

    fn account(&self, account: Account) -> PyResult<Object<'py>> {
        match account {
            Account::Inherited => self.py.None().into_bound_py_any(self.py),
            Account::OfBind(op) => op.into_bound_py_any(self.py),
            Account::Dn(text) => self.text(text).into_bound_py_any(self.py),
        }
    }

    fn pending(&self, pending: &Pending) -> PyResult<Object<'py>> {
        let subject = if pending.dn == ANONYMOUS {
            PyBytes::new(self.py, &pending.filter)
        } else {
            self.text(pending.dn).clone()
        };
        let sorting = pending.sorting.as_ref().map(|sorting| self.sorting(**sorting));
        (pending.op, pending.time, pending.kind, pending.row, subject, sorting).into_bound_py_any(self.py)
    }

    /// Unmatched results, unattributed searches, failed BINDs, idle times, pages, and uncertain pages.
    fn rare(&self, rare: &RareState) -> PyResult<Object<'py>> {
        let mut unmatched = Vec::new();
        for one in &rare.unmatched {
            let account = one.account.map(|account| self.text(account));
            let (notes, bound_as) = (self.text(one.notes), self.account(one.bound_as)?);
            let sorting = one.sorting.map(|sorting| self.sorting(sorting));
            let plain =
                (one.op, one.time, one.kind, one.err, one.etime, one.wait, one.entries, notes, account, bound_as);
            let plain = (plain, sorting);
            unmatched.push(plain.into_bound_py_any(self.py)?);
        }
        let unattributed = PyDict::new(self.py);
        for (&(shape, account), cell) in &rare.unattributed {
            unattributed.set_item((self.text(shape), self.account(account)?), self.cell(cell)?)?;
        }
        let failures = PyDict::new(self.py);
        for (&(dn, err), &count) in &rare.failures {
            failures.set_item((self.text(dn), err), count)?;
        }
        let idle_times = PyDict::new(self.py);
        for (&epoch, one) in &rare.idle_times {
            idle_times.set_item(epoch, self.idle_times(one)?)?;
        }
        let uncertain_pages: Vec<_> = rare.uncertain_pages.iter().copied().collect();
        (unmatched, unattributed, failures, idle_times, &rare.pages, uncertain_pages).into_bound_py_any(self.py)
    }
}

/// The names of the tables whose cap was hit.
fn full(segment: &Segment) -> Vec<&'static str> {
    let tables = [
        ("servers", segment.servers.full),
        ("instances", segment.instances.full),
        ("closed", segment.closed.full),
        ("noted", segment.noted.full),
        ("not_indexed", segment.not_indexed.full),
        ("lookups", segment.lookups.full),
        ("modified", segment.modified.full),
        ("accounts", segment.accounts.full),
        ("failures", segment.failures.full),
        ("attribution", segment.attribution.full),
        ("shapes", segment.shapes.full),
        ("clients", segment.clients.full),
    ];
    tables.iter().filter(|(_, full)| *full).map(|(name, _)| *name).collect()
}
