//! The close of a connection, and its close code.

use memchr::memmem::{find, rfind};

use crate::fields::{signed, starts_with_word};

const LONGEST_CODE: usize = 64;
/// The close code, chosen here, of a close without one because the client reset the connection.
const RESET: &[u8] = b"reset";

/// `fd=-?\d{1,10} (closed|Disconnect)\b`: the text from that word on.
pub fn close(text: &[u8]) -> Option<&[u8]> {
    let (_, text) = signed(text.strip_prefix(b"fd=")?, 10)?;
    let text = text.strip_prefix(b" ")?;
    (starts_with_word(text, b"closed") || starts_with_word(text, b"Disconnect")).then_some(text)
}

/// U1 of `Disconnect - Cleanly Closed Connection - U1`; for a close without a code its text.
pub fn close_code(text: &[u8]) -> &[u8] {
    let code = rfind(text, b" - ").map_or(text, |end| &text[end + 3..]);
    if let [b'A'..=b'Z', b'0'..=b'9'] | [b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9'] = code {
        return code;
    }
    if find(text, b"onnection reset by peer").is_some() {
        return RESET;
    }
    let text = text.strip_prefix(b"Disconnect").unwrap_or(text);
    let text = text.strip_prefix(b"closed").unwrap_or(text);
    let begin = text.iter().position(|byte| !b" -".contains(byte)).unwrap_or(text.len());
    &text[begin..text.len().min(begin + LONGEST_CODE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_without_a_code_is_its_text() {
        assert_eq!(close_code(b"Disconnect - Cleanly Closed Connection - U1"), b"U1");
        assert_eq!(close_code(b"closed error 104 (Connection reset by peer)"), RESET);
        assert_eq!(close_code(b"closed - - what"), b"what");
        assert_eq!(close_code(b"closed"), b"");
    }
}
