//! SCAFFOLD: what Python sees.
use pyo3::prelude::*;

use crate::scan::{Hints, Offset, Scan};

/// The calls that a dialect makes, for development.
#[pyfunction]
#[pyo3(signature = (dialect, data, latest = 94_694_400_000_000_000, offset = None))]
fn calls(dialect: &str, data: &[u8], latest: i64, offset: Option<Py<PyAny>>) -> Vec<String> {
    let offset = match offset {
        None => Offset::Fixed(0),
        Some(asked) => Offset::At(Box::new(move |y, mo, d, h, mi| {
            Python::attach(|py| asked.call1(py, (y, mo, d, h, mi)).unwrap().extract(py).unwrap())
        })),
    };
    let mut scan = Scan::new(Hints { latest, offset });
    (crate::dialects::named(dialect).unwrap().scan)(data, &mut scan);
    scan.calls
}

#[pymodule]
mod ldapdiag_native {
    #[pymodule_export]
    use super::calls;
}
