//! The plain form of a Segment: what `ldapdiag/evidence/log/plain.py` reads. Dicts, lists, tuples, numbers and bytes.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use rustc_hash::FxHashMap;

use crate::connection::{Account, Aside, Cell, Connection, Pending};
use crate::rests::Rests;
use crate::runs::Run;
use crate::segment::Segment;
use crate::tables::{ClientRow, Histogram, Lookups, Measured, ShapeRow, Table};
use crate::texts::{ANONYMOUS, Text};

type Object<'py> = Bound<'py, PyAny>;

/// A Segment on its way to Python: its texts are there already, each once.
struct Plain<'py> {
    py: Python<'py>,
    texts: Vec<Bound<'py, PyBytes>>,
}

/// Returns the plain form of a Segment.
pub fn plain_of<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let texts = segment.texts.iter().map(|text| PyBytes::new(py, text)).collect();
    let plain = Plain { py, texts };
    let told = PyDict::new(py);
    plain.numbers(&told, segment)?;
    plain.tables(&told, segment)?;
    let runs = segment.runs.iter().map(|run| plain.run(run)).collect::<PyResult<Vec<_>>>()?;
    told.set_item("runs", runs)?;
    Ok(told)
}

impl<'py> Plain<'py> {
    fn numbers(&self, told: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let bytes = |text: &Vec<u8>| PyBytes::new(self.py, text);
        told.set_item("lines", segment.lines)?;
        told.set_item("misread", segment.misread)?;
        told.set_item("samples", segment.samples.iter().map(bytes).collect::<Vec<_>>())?;
        told.set_item("passed_over", segment.passed_over)?;
        told.set_item("lost", segment.lost)?;
        let timed = segment.first_time <= segment.last_time;
        told.set_item("first_time", timed.then_some(segment.first_time))?;
        told.set_item("last_time", timed.then_some(segment.last_time))?;
        told.set_item("zones", segment.zones.iter().map(bytes).collect::<Vec<_>>())?;
        told.set_item("resolution", segment.resolution)?;
        told.set_item("operations", segment.operations.to_vec())?;
        told.set_item("internal", segment.internal)?;
        told.set_item("results", segment.results.iter().collect::<FxHashMap<_, _>>())?;
        told.set_item("continued", segment.continued)?;
        told.set_item("holes", segment.holes)?;
        told.set_item("waits", self.histogram(&segment.waits)?)?;
        told.set_item("longest_wait", segment.longest_wait)?;
        told.set_item("waited", segment.waited)?;
        told.set_item("took", segment.took)?;
        told.set_item("opened", segment.opened)?;
        told.set_item("cut_short", segment.cut_short.iter().copied().collect::<Vec<_>>())
    }

    fn tables(&self, told: &Bound<'py, PyDict>, segment: &Segment) -> PyResult<()> {
        let one = |&text: &Text| self.text(text);
        let two = |&(one, two): &(Text, Text)| (self.text(one), self.text(two));
        told.set_item("servers", self.table(&segment.servers, one)?)?;
        told.set_item("instances", self.table(&segment.instances, two)?)?;
        told.set_item("closed", self.table(&segment.closed, one)?)?;
        told.set_item("noted", self.table(&segment.noted, one)?)?;
        told.set_item("not_indexed", self.table(&segment.not_indexed, two)?)?;
        told.set_item("modified", self.table(&segment.modified, one)?)?;
        let lookups = PyDict::new(self.py);
        for (key, &Lookups { count, most, least }) in segment.lookups.iter() {
            lookups.set_item(two(key), self.list((count, most, least))?)?;
        }
        told.set_item("lookups", lookups)?;
        told.set_item("accounts", self.table(&segment.accounts, one)?)?;
        let failure = |&(dn, client, err): &(Text, Text, i64)| (self.text(dn), self.text(client), err);
        told.set_item("failures", self.table(&segment.failures, failure)?)?;
        let askers = PyDict::new(self.py);
        for (&(shape, client, account), cell) in segment.attribution.iter() {
            askers.set_item((self.text(shape), self.text(client), self.text(account)), self.cell(cell)?)?;
        }
        told.set_item("attribution", askers)?;
        let shapes = segment.shapes.iter().map(|(_, row)| self.shape(row)).collect::<PyResult<Vec<_>>>()?;
        told.set_item("shapes", shapes)?;
        let clients = PyDict::new(self.py);
        for (&address, row) in segment.clients.iter() {
            clients.set_item(self.text(address), self.client(row)?)?;
        }
        told.set_item("clients", clients)?;
        told.set_item("full", full(segment))
    }

    fn text(&self, text: Text) -> &Bound<'py, PyBytes> {
        &self.texts[text.place()]
    }

    fn table<'a, Key: Copy + Eq + std::hash::Hash, Told: IntoPyObject<'py>>(
        &'a self,
        table: &'a Table<Key, u64>,
        told: impl Fn(&'a Key) -> Told,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(self.py);
        for (key, &count) in table.iter() {
            counts.set_item(told(key), count)?;
        }
        Ok(counts)
    }

    fn counts(&self, counts: &FxHashMap<Text, u64>) -> PyResult<Bound<'py, PyDict>> {
        let told = PyDict::new(self.py);
        for (&key, &count) in counts {
            told.set_item(self.text(key), count)?;
        }
        Ok(told)
    }

    fn histogram(&self, histogram: &Histogram) -> PyResult<Bound<'py, PyDict>> {
        let told = PyDict::new(self.py);
        for (length, &count) in histogram.0.iter().enumerate().filter(|&(_, &count)| count > 0) {
            told.set_item(length, count)?;
        }
        Ok(told)
    }

    fn cell(&self, cell: &Cell) -> PyResult<Bound<'py, PyList>> {
        self.list((cell.count, cell.etime, cell.noted))
    }

    fn list(&self, numbers: impl IntoPyObject<'py, Target = PyTuple>) -> PyResult<Bound<'py, PyList>> {
        Ok(numbers.into_bound_py_any(self.py)?.cast::<PyTuple>()?.to_list())
    }

    fn rests(&self, rests: &Rests) -> PyResult<Object<'py>> {
        (&rests.buckets, rests.longest).into_bound_py_any(self.py)
    }

    fn shape(&self, row: &ShapeRow) -> PyResult<Object<'py>> {
        let (shape, base, scope) = row.key;
        let (etime, time, number, op) = row.worst.order;
        let worst = (etime, time, number, op, PyBytes::new(self.py, &row.worst.filter));
        let pieces = PyDict::new(self.py);
        for (&lengths, &Measured { answered, etime, noted, most }) in row.pieces.iter() {
            pieces.set_item(self.text(lengths), self.list((answered, etime, noted, most))?)?;
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
            (pieces, row.pieces.full),
        )
            .into_bound_py_any(self.py)
    }

    fn client(&self, row: &ClientRow) -> PyResult<Object<'py>> {
        let tails = PyDict::new(self.py);
        for (&code, rests) in &row.tails {
            tails.set_item(self.text(code), self.rests(rests)?)?;
        }
        (
            row.opened,
            row.operations,
            self.counts(&row.codes)?,
            self.counts(&row.silent)?,
            self.histogram(&row.lifetimes)?,
            self.histogram(&row.per_connection)?,
            self.rests(&row.rests)?,
            tails,
        )
            .into_bound_py_any(self.py)
    }

    fn run(&self, run: &Run) -> PyResult<Object<'py>> {
        let connections = PyDict::new(self.py);
        for (number, connection) in run.connections.in_order() {
            connections.set_item(number, self.connection(connection)?)?;
        }
        let gone = PyDict::new(self.py);
        for (&number, connection) in &run.gone {
            gone.set_item(number, self.connection(connection)?)?;
        }
        let numbers: Vec<_> = run.numbers.intervals().collect();
        (run.certain, run.first, run.last, run.latest, numbers, connections, gone, run.delta, run.top)
            .into_bound_py_any(self.py)
    }

    fn connection(&self, connection: &Connection) -> PyResult<Bound<'py, PyTuple>> {
        let it = connection;
        let pending = it.pending.in_order().into_iter().map(|one| self.pending(one)).collect::<PyResult<Vec<_>>>()?;
        let aside = it.aside.as_ref().map(|aside| self.aside(aside)).transpose()?;
        let asked = it.asked.map(|asked| (asked.op, asked.time, asked.epoch, asked.rested));
        let tail = it.tail.map(|tail| (tail.rested, tail.epoch, tail.quiet));
        let fields = [
            it.first.into_bound_py_any(self.py)?,
            it.opened.into_bound_py_any(self.py)?,
            it.client.map(|client| self.text(client)).into_bound_py_any(self.py)?,
            self.account(it.account)?,
            it.named.map(|named| self.text(named)).into_bound_py_any(self.py)?,
            it.binding.map(|binding| self.text(binding)).into_bound_py_any(self.py)?,
            it.operations.into_bound_py_any(self.py)?,
            it.last_op.into_bound_py_any(self.py)?,
            it.requests.into_bound_py_any(self.py)?,
            asked.into_bound_py_any(self.py)?,
            it.rested.into_bound_py_any(self.py)?,
            it.continued.into_bound_py_any(self.py)?,
            it.closed.into_bound_py_any(self.py)?,
            self.text(it.code).into_bound_py_any(self.py)?,
            tail.into_bound_py_any(self.py)?,
            pending.into_bound_py_any(self.py)?,
            aside.into_bound_py_any(self.py)?,
        ];
        PyTuple::new(self.py, fields)
    }

    fn account(&self, account: Account) -> PyResult<Object<'py>> {
        match account {
            Account::Untold => self.py.None().into_bound_py_any(self.py),
            Account::Of(op) => op.into_bound_py_any(self.py),
            Account::Named(text) => self.text(text).into_bound_py_any(self.py),
        }
    }

    fn pending(&self, pending: &Pending) -> PyResult<Object<'py>> {
        let subject = if pending.dn == ANONYMOUS {
            PyBytes::new(self.py, &pending.filter)
        } else {
            self.text(pending.dn).clone()
        };
        (pending.op, pending.time, pending.kind, pending.row, subject).into_bound_py_any(self.py)
    }

    /// Results that wait, what an unknown client is owed, its failed BINDs and rests, pages, and those left of them.
    fn aside(&self, aside: &Aside) -> PyResult<Object<'py>> {
        let mut held = Vec::new();
        for one in &aside.held {
            let account = one.account.map(|account| self.text(account));
            let (notes, who) = (self.text(one.notes), self.account(one.who)?);
            let told = (one.op, one.time, one.kind, one.err, one.etime, one.wait, one.entries, notes, account, who);
            held.push(told.into_bound_py_any(self.py)?);
        }
        let owed = PyDict::new(self.py);
        for (&(shape, account), cell) in &aside.owed {
            owed.set_item((self.text(shape), self.account(account)?), self.cell(cell)?)?;
        }
        let failures = PyDict::new(self.py);
        for (&(dn, err), &count) in &aside.failures {
            failures.set_item((self.text(dn), err), count)?;
        }
        let rests = PyDict::new(self.py);
        for (&epoch, one) in &aside.rests {
            rests.set_item(epoch, self.rests(one)?)?;
        }
        let left: Vec<_> = aside.pages_left.iter().copied().collect();
        (held, owed, failures, rests, &aside.pages, left).into_bound_py_any(self.py)
    }
}

/// The names of the tables in which something did not fit.
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
