//! Time stamps of access logs as integers: nanoseconds since 1970-01-01 UTC.
