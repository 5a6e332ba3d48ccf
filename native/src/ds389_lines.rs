//! What the lines of 389-ds say of one operation, and of one connection.
