//! Search filters (RFC 4515): the shape of a filter is the filter without its values.
