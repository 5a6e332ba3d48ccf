//! Packing: a Segment as bytes, for the workers of a cluster, which have the same version.

use crate::segment::Segment;

/// Returns a Segment as bytes; the error in words.
pub fn to_bytes(segment: &Segment) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(segment).map_err(|error| error.to_string())
}

/// Returns the Segment of such bytes; the error in words.
pub fn from_bytes(packed: &[u8]) -> Result<Segment, String> {
    postcard::from_bytes(packed).map_err(|error| error.to_string())
}
