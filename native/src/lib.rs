//! The access log scanner of ldapdiag, compiled. SCAFFOLD: `door` records calls until the core lands.

#![forbid(unsafe_code)]

pub mod bases;
pub mod clients;
pub mod dialects;
pub mod ds389_json;
pub mod ds389_lines;
pub mod ds389_text;
pub mod filters;
pub mod kinds;
pub mod openldap;
pub mod scan;
pub mod stamps;
pub mod syslog;

#[cfg(feature = "python")]
mod door;
