//! The address of a client as one text.
