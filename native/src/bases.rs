//! Classes of base DNs.
