//! Assertions in a filter shape, that is without their values.

/// Bytes of a shape.
pub const LONGEST_SHAPE: usize = 1024;
const LONGEST_CLASS_NAME: usize = 64;
/// The attribute whose values stay, in lower case.
pub const OBJECT_CLASS: &[u8] = b"objectclass";

/// Writes an assertion without its value. Object classes stay: they are few, and they distinguish applications.
pub fn assertion(attribute: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let attribute = up_to(attribute, LONGEST_SHAPE);
    out.clear();
    out.push(b'(');
    out.extend_from_slice(attribute);
    out.push(b'=');
    if attribute.eq_ignore_ascii_case(OBJECT_CLASS) && is_object_class(value) {
        out.extend_from_slice(value);
    } else if value.is_empty() {
        out.push(b'?');
    } else {
        reduce_value(up_to(value, LONGEST_SHAPE), out);
    }
    out.push(b')');
}

/// Appends a value with `?` for each substring between its asterisks.
pub fn reduce_value(value: &[u8], out: &mut Vec<u8>) {
    for (at, &byte) in value.iter().enumerate() {
        if byte == b'*' {
            out.push(b'*');
        } else if at == 0 || value[at - 1] == b'*' {
            out.push(b'?');
        }
    }
}

/// Returns whether this is the name of an object class, or its OID (RFC 4512, 1.4).
fn is_object_class(value: &[u8]) -> bool {
    if value.len() > LONGEST_CLASS_NAME {
        return false;
    }
    if value.first().is_some_and(u8::is_ascii_alphabetic) {
        return value.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-');
    }
    value.split(|&byte| byte == b'.').all(|arc| !arc.is_empty() && arc.iter().all(u8::is_ascii_digit))
}

pub fn up_to(text: &[u8], length: usize) -> &[u8] {
    text.get(..length).unwrap_or(text)
}
