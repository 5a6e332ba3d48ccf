//! What stands before slapd's own message, and the time it tells.
