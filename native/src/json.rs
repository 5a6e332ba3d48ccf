//! JSON (RFC 8259) in one pass over bytes, without allocation: values refer to the text, all of it is validated.
//!
//! The grammar is that of Python's `json`, as `json_lines.py` and `ds389_json.py` use it:
//!
//! ```text
//! object  {"name": value, ...}     at most 32 objects and lists in one another
//! text    "..."                    any bytes but " \ and control characters; \" \\ \/ \b \f \n \r \t \uXXXX
//! number  -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?      no NaN, no Infinity
//! ```
//!
//! Bytes that are not UTF-8 are kept. The stack does not grow with the depth of an object.

mod cursor;
pub mod fields;
mod texts;
mod value;

use cursor::Cursor;
use texts::unescaped;
pub use value::Value;

/// Calls `take` for each name and value of the object at the beginning of a text.
///
/// Returns the end of the object; `None` if it is invalid, and then the caller discards what it took.
pub fn members<'a>(text: &'a [u8], mut take: impl FnMut(&[u8], Value<'a>)) -> Option<usize> {
    let mut cursor = Cursor::new(text);
    cursor.expect(b'{')?;
    if cursor.has(b'}') {
        return Some(cursor.at);
    }
    loop {
        let name = cursor.name()?;
        if cursor.has_escapes {
            take(&unescaped(name), cursor.value()?);
        } else {
            take(name, cursor.value()?);
        }
        if !cursor.goes_on(b'}')? {
            return Some(cursor.at);
        }
    }
}

/// A text without JSON's white space around it.
pub fn without_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = text {
        text = rest;
    }
    text
}

/// Calls `take` for each value of a list.
pub fn elements<'a>(list: &'a [u8], mut take: impl FnMut(Value<'a>)) -> Option<()> {
    let mut cursor = Cursor::new(list);
    cursor.expect(b'[')?;
    if cursor.has(b']') {
        return Some(());
    }
    loop {
        take(cursor.value()?);
        if !cursor.goes_on(b']')? {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members_of(text: &[u8]) -> Option<Vec<(Vec<u8>, Value<'_>)>> {
        let mut found = Vec::new();
        let end = members(text, |name, value| found.push((name.to_vec(), value)))?;
        assert!(text[..end].ends_with(b"}"));
        Some(found)
    }

    #[test]
    fn each_kind_of_value_is_recognised() {
        let object =
            br#"{"a":-7, "b" : true,"c":{"d":[1,{"}":"]"}]},"e":[], "f":1.5e+3,"g":null,"h":"x", "\u0069":0} "#;
        let values: Vec<_> = members_of(object).unwrap().into_iter().map(|(_, value)| value).collect();

        assert_eq!(values[..3], [Value::Whole(-7), Value::True, Value::Object(br#"{"d":[1,{"}":"]"}]}"#)]);
        assert_eq!(values[3..6], [Value::List(b"[]"), Value::Number(b"1.5e+3"), Value::Null]);
        assert_eq!(members_of(object).unwrap()[7], (b"i".to_vec(), Value::Whole(0)));
    }

    #[test]
    fn invalid_json_is_refused() {
        let values = r#"  1, 01 - 1. 1e NaN -Infinity tru [1,] [1 {"b":1] {"b"} {b:1} "\x" "\u12" "a"#;
        for broken in
            values.split(' ').map(|value| format!("{{\"a\":{value}}}")).chain(["[]".into(), "{\"a\":\"\n\"}".into()])
        {
            assert_eq!(members_of(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn depth_and_digits_have_an_end() {
        let nested = |depth: usize| ["{\"a\":", &"[".repeat(depth), &"]".repeat(depth), "}"].concat();

        assert!(members_of(nested(31).as_bytes()).is_some());
        assert!(members_of(nested(32).as_bytes()).is_none());
        assert_eq!(members_of(b"{\"a\":-999999999999999999}").unwrap()[0].1, Value::Whole(-999_999_999_999_999_999));
        assert_eq!(members_of(b"{\"a\":1000000000000000000}").unwrap()[0].1, Value::Number(b"1000000000000000000"));
    }
}
