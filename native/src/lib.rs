//! The compiled access log scanner of ldapdiag: it counts a log into the Segments of the Python reference.
//!
//! A module has the name of its Python twin. A dialect (`ds389_text`, `openldap`, ...) calls [`scan::Scan`], which fills
//! a [`segment::Segment`]; chunks are merged in [`merge`]. Python calls the crate through `bindings`.

#![forbid(unsafe_code)]

pub mod bases;
pub mod border;
pub mod cached_rows;
pub mod client_row;
pub mod clients;
pub mod connection;
pub mod connection_numbers;
pub mod connection_scan;
pub mod counting;
pub mod dialects;
pub mod ds389_json;
pub mod ds389_lines;
pub mod ds389_text;
pub mod dsee;
pub mod durations;
pub mod fields;
pub mod filters;
pub mod histogram;
pub mod idle_counting;
pub mod idle_times;
pub mod interner;
pub mod joining;
mod json;
pub mod json_lines;
pub mod line_scan;
pub mod merge;
pub mod opendj_json;
pub mod opendj_text;
pub mod opends;
pub mod openldap;
pub mod operation_kinds;
pub mod operation_row;
pub mod pending_requests;
pub mod period;
pub mod ping_json;
pub mod ping_text;
pub mod processes;
pub mod prune;
pub mod ranked_rows;
pub mod ranked_table;
pub mod reading;
pub mod result_fields;
pub mod results;
pub mod row_cache;
pub mod runs;
pub mod scan;
pub mod segment;
pub mod series;
pub mod shape_row;
pub mod sort_lines;
pub mod sorting;
pub mod stamps;
pub mod substrings;
pub mod syslog;
pub mod syslog_clocks;
pub mod tables;
pub mod templates;
pub mod text_translation;
pub mod texts;
pub mod timeline;
pub mod translation;
pub mod words;
pub mod write_times;

#[cfg(feature = "python")]
mod bindings;
#[cfg(feature = "python")]
mod packing;
#[cfg(feature = "python")]
mod plain;

/// Raised here and in ldapdiag with every change to the Segment of a log: a scanner of another version is not used.
pub const GRAMMAR_VERSION: u32 = 18;
