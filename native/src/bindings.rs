//! The Python bindings: the module `ldapdiag_native` (see ldapdiag_native.pyi).

use std::cell::RefCell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::dialects::{DIALECTS, Dialect, named};
use crate::packing::{from_bytes, to_bytes};
use crate::period::{Period, Place};
use crate::plain::plain_of;
use crate::reading::{Progress, Reached, Reading};
use crate::scan::{Hints, Offset, Scan};
use crate::segment::Segment;
use crate::tables::Caps;

/// The progress of several reads, and the request to stop them.
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

    /// Stop every read that shares this watch.
    fn stop(&self) {
        self.progress.stopped.store(true, Ordering::Relaxed);
    }

    /// Bytes read so far.
    #[getter]
    fn read(&self) -> u64 {
        self.progress.read.load(Ordering::Relaxed)
    }
}

/// The outcome of a read.
#[pyclass(frozen, get_all, module = "ldapdiag_native")]
struct Read {
    /// The position of the first byte not scanned; None: the file has been replaced.
    to: Option<u64>,
    /// The file ended before the byte range did.
    shrunk: bool,
    /// The positions of records too long for the buffer; only their beginnings were scanned.
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

/// A scan of one chunk of one stream, fed in order.
#[pyclass(name = "Scan", module = "ldapdiag_native")]
struct PyScan {
    dialect: &'static Dialect,
    scan: Scan,
    /// An exception from the zone's callback.
    zone_error: ZoneError,
}

type ZoneError = Arc<Mutex<Option<PyErr>>>;

/// The counts of a chunk of a stream, or of all chunks so far.
#[pyclass(name = "Segment", module = "ldapdiag_native")]
struct PySegment(Option<Segment>);

#[pymethods]
impl PySegment {
    /// Begin a stream.
    #[new]
    fn new(caps: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(PySegment(Some(Segment::start(caps_of(caps)?))))
    }

    /// Add the chunk that follows, which is empty then.
    fn merge(&mut self, py: Python<'_>, later: &mut PySegment) -> PyResult<()> {
        let later = later.0.take().ok_or_else(taken)?;
        let segment = self.there()?;
        py.detach(|| with_location(|| segment.merge(later)));
        Ok(())
    }

    /// Forget all counts, and keep the state of the open connections.
    fn reset_counts(&mut self, py: Python<'_>) -> PyResult<()> {
        let segment = self.there()?;
        py.detach(|| with_location(|| segment.reset_counts()));
        Ok(())
    }

    /// Keep the zones and the resolution of records that are not counted.
    fn add_clock(&mut self, later: &PySegment) -> PyResult<()> {
        let later = later.0.as_ref().ok_or_else(taken)?;
        let segment = self.there()?;
        segment.zones.extend(later.zones.iter().cloned());
        segment.resolution = segment.resolution.max(later.resolution);
        Ok(())
    }

    /// Return the plain form of the stream, as if it ended here; more can be added.
    fn finished<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let segment = self.0.as_ref().ok_or_else(taken)?;
        let finished = py.detach(|| {
            with_location(|| {
                let mut copy = segment.clone();
                copy.finish();
                copy
            })
        });
        plain_of(py, &finished)
    }

    /// The number of lines.
    #[getter]
    fn lines(&self) -> PyResult<u64> {
        Ok(self.0.as_ref().ok_or_else(taken)?.lines)
    }

    /// The time of the first record; None if there is none.
    #[getter]
    fn first_time(&self) -> PyResult<Option<i64>> {
        let segment = self.0.as_ref().ok_or_else(taken)?;
        Ok(segment.last_time_or_none().map(|_| segment.first_time))
    }

    /// The time of the last record; None if there is none.
    #[getter]
    fn last_time(&self) -> PyResult<Option<i64>> {
        Ok(self.0.as_ref().ok_or_else(taken)?.last_time_or_none())
    }

    /// What `pickle` restores it from.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let packed = to_bytes(self.0.as_ref().ok_or_else(taken)?).map_err(PyRuntimeError::new_err)?;
        let from_bytes = py.get_type::<PySegment>().getattr("from_bytes")?;
        Ok((from_bytes, (PyBytes::new(py, &packed),)))
    }

    /// Return the Segment that was packed, by this version.
    #[staticmethod]
    fn from_bytes(packed: &[u8]) -> PyResult<Self> {
        from_bytes(packed).map(|segment| PySegment(Some(segment))).map_err(PyValueError::new_err)
    }
}

impl PySegment {
    fn there(&mut self) -> PyResult<&mut Segment> {
        self.0.as_mut().ok_or_else(taken)
    }
}

fn taken() -> PyErr {
    PyRuntimeError::new_err("the counts were taken before")
}

#[pymethods]
impl PyScan {
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
        let zone_error = ZoneError::default();
        let hints = Hints { latest, offset: offset_of(offset, &zone_error)? };
        let mut scan = Scan::new(hints, caps_of(caps)?, Period { since, until });
        scan.heavy = heavy.unwrap_or(scan.heavy);
        Ok(PyScan { dialect, scan, zone_error })
    }

    /// Scan whole records.
    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| with_location(|| (self.dialect.scan)(data, &mut self.scan)));
        self.check()
    }

    /// Scan the records of a file from `start` to `end`, or fewer: see `Read`.
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
            with_location(|| Reading::new(&file, self.dialect, start, end).scan(&mut self.scan, &progress)).map(Some)
        });
        self.check()?;
        Ok(reached?.into())
    }

    /// The Segment is so large that it should be taken now.
    #[getter]
    fn is_heavy(&self) -> bool {
        self.scan.is_heavy()
    }

    /// Return the parts of the chunk in their order, with their places, and reset the scan.
    fn take(&mut self) -> Vec<(&'static str, PySegment)> {
        self.scan.take().into_iter().map(|(place, segment)| (name_of(place), PySegment(Some(segment)))).collect()
    }
}

impl PyScan {
    fn check(&self) -> PyResult<()> {
        self.zone_error.lock().ok().and_then(|mut zone_error| zone_error.take()).map_or(Ok(()), Err)
    }
}

fn name_of(place: Place) -> &'static str {
    match place {
        Place::Untimed => "untimed",
        Place::Before => "before",
        Place::Within => "within",
        Place::Later => "later",
    }
}

thread_local! {
    /// The location and message of this thread's panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`; a panic continues with its location in the message, which is all that reaches Python.
fn with_location<Done>(work: impl FnOnce() -> Done) -> Done {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| panic::resume_unwind(Box::new(PANIC.take())))
}

fn offset_of(offset: Option<Bound<'_, PyAny>>, zone_error: &ZoneError) -> PyResult<Offset> {
    let Some(offset) = offset else { return Ok(Offset::Fixed(0)) };
    if !offset.is_callable() {
        return Ok(Offset::Fixed(offset.extract()?));
    }
    let (callback, zone_error) = (offset.unbind(), Arc::clone(zone_error));
    Ok(Offset::At(Box::new(move |year, month, day, hour, minute| {
        Python::attach(|py| {
            let seconds = callback.call1(py, (year, month, day, hour, minute)).and_then(|value| value.extract(py));
            seconds.unwrap_or_else(|error: PyErr| {
                if let Ok(mut first) = zone_error.lock() {
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
        targets: most("targets")?,
        clients: most("clients")?,
        accounts: most("accounts")?,
        attribution: most("attribution")?,
        idle_times: most("idle_times")?,
        owed: most("owed")?,
        codes: most("codes")?,
        notes: most("notes")?,
        results: most("results")?,
        pending: most("pending")?,
        pages: most("pages")?,
        connections: most("connections")?,
    })
}

#[cfg(unix)]
fn is_same(file: &File, inode: (u64, u64)) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|status| (status.dev(), status.ino()) == inode)
}

#[cfg(not(unix))]
fn is_same(_: &File, _: (u64, u64)) -> bool {
    true // an open file cannot be replaced on Windows, and Python keeps it open
}

#[pymodule]
mod ldapdiag_native {
    #[pymodule_export]
    use super::{PyScan, PySegment, Read, Watch};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use pyo3::types::{PyModuleMethods, PyTuple};

        std::panic::set_hook(Box::new(|panic| super::PANIC.set(panic.to_string())));
        let names = super::DIALECTS.iter().map(|dialect| dialect.name);
        module.add("DIALECTS", PyTuple::new(module.py(), names)?)?;
        module.add("GRAMMAR_VERSION", crate::GRAMMAR_VERSION)
    }
}
