//! The access log scanner of ldapdiag, compiled: it adds a log up into the Segments of the Python reference.
//!
//! Modules are named as the Python ones whose twins they are: a dialect (`ds389_text`, `openldap`, ...) calls
//! [`scan::Scan`], which fills a [`segment::Segment`]; pieces are merged in Python, to which [`door`](self) hands them.

#![forbid(unsafe_code)]

pub mod bases;
pub mod border;
pub mod clients;
pub mod connection;
pub mod counting;
pub mod dialects;
pub mod ds389_json;
pub mod ds389_lines;
pub mod ds389_text;
pub mod fields;
pub mod filters;
pub mod joining;
pub mod kinds;
pub mod lives;
pub mod numbers;
pub mod openldap;
pub mod pieces;
pub mod reading;
pub mod rests;
pub mod results;
pub mod rows;
pub mod runs;
pub mod scan;
pub mod segment;
pub mod stamps;
pub mod syslog;
pub mod syslog_clocks;
pub mod tables;
pub mod tally;
pub mod texts;
pub mod waiting;

#[cfg(feature = "python")]
mod door;
#[cfg(feature = "python")]
mod plain;

/// Rises with every change of what a log means, here and in ldapdiag: a scanner of another version is not used.
pub const GRAMMAR_VERSION: u32 = 2;
