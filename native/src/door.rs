//! What Python sees: `ldapdiag_native` (see ldapdiag_native.pyi).

use std::cell::RefCell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::border::Period;
use crate::dialects::{DIALECTS, Dialect, named};
use crate::plain::plain_of;
use crate::reading::{Progress, Reached, Reading};
use crate::scan::{Hints, Offset, Scan as Scanning};
use crate::segment::Segment;
use crate::tables::Caps;

/// How far those are who read, and whether they are to stop.
#[pyclass(frozen, module = "ldapdiag_native")]
#[derive(Default)]
struct Watch {
    progress: Arc<Progress>,
}

#[pymethods]
impl Watch {
    #[new]
    fn new() -> Self {
        Watch::default()
    }

    /// End every reading that has this watch soon.
    fn stop(&self) {
        self.progress.stopped.store(true, Ordering::Relaxed);
    }

    /// Bytes read so far.
    #[getter]
    fn read(&self) -> u64 {
        self.progress.read.load(Ordering::Relaxed)
    }
}

/// Where a reading came to.
#[pyclass(frozen, get_all, module = "ldapdiag_native")]
struct Read {
    /// The first byte that was not scanned; None: another file is there by now.
    to: Option<u64>,
    /// The file ended before the stretch did.
    shrunk: bool,
    /// Where records began that are longer than can be held; only their beginning was scanned.
    too_long: Vec<u64>,
}

impl From<Option<Reached>> for Read {
    fn from(reached: Option<Reached>) -> Self {
        match reached {
            Some(Reached { to, shrunk, too_long }) => Read { to: Some(to), shrunk, too_long },
            None => Read { to: None, shrunk: false, too_long: Vec::new() },
        }
    }
}

/// One piece of one stream, fed in order.
#[pyclass(module = "ldapdiag_native")]
struct Scan {
    dialect: &'static Dialect,
    scan: Scanning,
    /// What went wrong where a zone was asked for.
    trouble: Trouble,
}

type Trouble = Arc<Mutex<Option<PyErr>>>;
type Pieces<'py> = (Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>);

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (dialect, *, caps, since = None, until = None, latest = 0, offset = None, heavy = None))]
    fn new(
        dialect: &str,
        caps: &Bound<'_, PyDict>,
        since: Option<i64>,
        until: Option<i64>,
        latest: i64,
        offset: Option<Bound<'_, PyAny>>,
        heavy: Option<usize>,
    ) -> PyResult<Self> {
        let dialect = named(dialect).ok_or_else(|| PyKeyError::new_err(dialect.to_owned()))?;
        let trouble = Trouble::default();
        let hints = Hints { latest, offset: offset_of(offset, &trouble)? };
        let mut scan = Scanning::new(hints, caps_of(caps)?, Period { since, until });
        scan.heavy = heavy.unwrap_or(scan.heavy);
        Ok(Scan { dialect, scan, trouble })
    }

    /// Scan whole records.
    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        if !self.scan.is_over() {
            py.detach(|| placed(|| (self.dialect.scan)(data, &mut self.scan)));
        }
        self.untroubled()
    }

    /// Scan the records of a file from `start` to `end`, or less: see `Read`.
    fn read(
        &mut self,
        py: Python<'_>,
        location: PathBuf,
        inode: Option<(u64, u64)>,
        start: u64,
        end: u64,
        watch: &Watch,
    ) -> PyResult<Read> {
        let progress = Arc::clone(&watch.progress);
        let reached = py.detach(|| -> std::io::Result<Option<Reached>> {
            let file = File::open(location)?;
            if inode.is_some_and(|inode| !is_same(&file, inode)) {
                return Ok(None);
            }
            placed(|| Reading::new(&file, self.dialect, start, end).scan(&mut self.scan, &progress)).map(Some)
        });
        self.untroubled()?;
        Ok(reached?.into())
    }

    /// So much waits at the edges that it is better taken now.
    #[getter]
    fn is_heavy(&self) -> bool {
        self.scan.is_heavy()
    }

    /// A record past `until` came.
    #[getter]
    fn is_over(&self) -> bool {
        self.scan.is_over()
    }

    /// Hand over what was read before `since` and from then on, in plain form, and begin anew.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Pieces<'py>> {
        let (before, within) = self.scan.take();
        let plain = |segment: Option<Segment>| segment.map(|segment| plain_of(py, &segment)).transpose();
        Ok((plain(before)?, plain(within)?))
    }
}

impl Scan {
    fn untroubled(&self) -> PyResult<()> {
        self.trouble.lock().ok().and_then(|mut trouble| trouble.take()).map_or(Ok(()), Err)
    }
}

thread_local! {
    /// Where and why this thread panicked.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does some work; a panic goes on with its place in its message, for Python hears nothing else of it.
fn placed<Done>(work: impl FnOnce() -> Done) -> Done {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panic::resume_unwind(Box::new(PANIC.take())))
}

fn offset_of(offset: Option<Bound<'_, PyAny>>, trouble: &Trouble) -> PyResult<Offset> {
    let Some(offset) = offset else { return Ok(Offset::Fixed(0)) };
    if !offset.is_callable() {
        return Ok(Offset::Fixed(offset.extract()?));
    }
    let (asked, trouble) = (offset.unbind(), Arc::clone(trouble));
    Ok(Offset::At(Box::new(move |year, month, day, hour, minute| {
        Python::attach(|py| {
            let told = asked.call1(py, (year, month, day, hour, minute)).and_then(|told| told.extract(py));
            told.unwrap_or_else(|error: PyErr| {
                if let Ok(mut first) = trouble.lock() {
                    first.get_or_insert(error);
                }
                0
            })
        })
    })))
}

fn caps_of(caps: &Bound<'_, PyDict>) -> PyResult<Caps> {
    let most = |name: &str| -> PyResult<usize> {
        caps.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?.extract()
    };
    Ok(Caps {
        shapes: most("shapes")?,
        clients: most("clients")?,
        accounts: most("accounts")?,
        attribution: most("attribution")?,
        owed: most("owed")?,
        failures: most("failures")?,
        codes: most("codes")?,
        notes: most("notes")?,
        pages: most("pages")?,
    })
}

#[cfg(unix)]
fn is_same(file: &File, inode: (u64, u64)) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|status| (status.dev(), status.ino()) == inode)
}

#[cfg(not(unix))]
fn is_same(_: &File, _: (u64, u64)) -> bool {
    true // Windows lets nobody replace a file that is open, and Python holds it open
}

#[pymodule]
mod ldapdiag_native {
    #[pymodule_export]
    use super::{Read, Scan, Watch};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use pyo3::types::{PyModuleMethods, PyTuple};

        std::panic::set_hook(Box::new(|panic| super::PANIC.set(panic.to_string())));
        let names = super::DIALECTS.iter().map(|dialect| dialect.name);
        module.add("DIALECTS", PyTuple::new(module.py(), names)?)?;
        module.add("GRAMMAR_VERSION", crate::GRAMMAR_VERSION)
    }
}
