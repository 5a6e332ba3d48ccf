//! A cursor over JSON. Its methods read one token or value; `None`: the text is not JSON.

use super::texts::plain;
use super::value::Value;

/// Nesting depth of objects and lists.
const DEEPEST: u32 = 32;
/// Digits of an integer; one with more has no value.
const DIGITS: usize = 18;

/// A position in a text.
pub struct Cursor<'a> {
    text: &'a [u8],
    /// Never past the end of the text.
    pub at: usize,
    /// The last string read contains a backslash.
    pub has_escapes: bool,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0, has_escapes: false }
    }

    #[inline]
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips this byte, which must be the next.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Skips white space, and this byte if it is next; returns whether it was.
    #[inline]
    pub fn has(&mut self, byte: u8) -> bool {
        self.blanks();
        self.expect(byte).is_some()
    }

    #[inline]
    fn blanks(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Skips the separator behind a value; returns true for a comma, false for `end`.
    #[inline]
    pub fn goes_on(&mut self, end: u8) -> Option<bool> {
        if self.has(b',') {
            self.blanks();
            return Some(true);
        }
        self.expect(end).map(|()| false)
    }

    /// Reads a name, the colon and the white space around it.
    #[inline]
    pub fn name(&mut self) -> Option<&'a [u8]> {
        let name = self.string()?;
        self.blanks();
        self.expect(b':')?;
        self.blanks();
        Some(name)
    }

    /// Reads a value; the text it refers to is valid.
    #[inline(always)] // else each value is passed in memory, which takes longer than reading it
    pub fn value(&mut self) -> Option<Value<'a>> {
        let from = self.at;
        match self.next()? {
            b'"' => {
                let raw = self.string()?;
                Some(if self.has_escapes { Value::Escaped(raw) } else { Value::Symbol(raw) })
            }
            b'{' => self.nested().map(|()| Value::Object(&self.text[from..self.at])),
            b'[' => self.nested().map(|()| Value::List(&self.text[from..self.at])),
            b't' => self.word(b"true", Value::True),
            b'f' => self.word(b"false", Value::False),
            b'n' => self.word(b"null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Value<'a>) -> Option<Value<'a>> {
        self.text[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    /// Reads a string, and sets `has_escapes`.
    #[inline]
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let rest = &self.text[self.at..];
        let length = plain(rest);
        if rest.get(length)? != &b'"' {
            return self.string_with_escapes();
        }
        self.has_escapes = false;
        self.at += length + 1;
        Some(&rest[..length])
    }

    #[cold]
    fn string_with_escapes(&mut self) -> Option<&'a [u8]> {
        let from = self.at;
        self.has_escapes = true;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.next()? {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
        self.at += 1;
        Some(&self.text[from..self.at - 1])
    }

    /// Skips an escape sequence.
    fn escape(&mut self) -> Option<()> {
        match self.text.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' if self.text.get(self.at + 2..self.at + 6)?.iter().all(u8::is_ascii_hexdigit) => self.at += 6,
            _ => return None,
        }
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<Value<'a>> {
        let begin = self.at;
        let is_negative = self.expect(b'-').is_some();
        let (from, mut number) = (self.at, 0_i64);
        while let Some(digit @ b'0'..=b'9') = self.next() {
            // The value of a number with more digits is not used.
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - from;
        if digits == 0 || (digits > 1 && self.text[from] == b'0') {
            return None;
        }
        if matches!(self.next(), Some(b'.' | b'e' | b'E')) {
            return self.fraction().map(|()| Value::Number(&self.text[begin..self.at]));
        }
        if digits > DIGITS {
            return Some(Value::Number(&self.text[begin..self.at]));
        }
        Some(Value::Whole(if is_negative { -number } else { number }))
    }

    /// Skips fraction and exponent.
    fn fraction(&mut self) -> Option<()> {
        if self.expect(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.next(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.next(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Skips at least one digit.
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while matches!(self.next(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// Skips an object or a list in the outermost object.
    #[inline(never)]
    fn nested(&mut self) -> Option<()> {
        // A bit for each open one, the innermost lowest: 1 for an object. The outermost has none.
        let (mut objects, mut depth) = (0_u32, 1);
        loop {
            let opening = self.next()?;
            let goes_on = if matches!(opening, b'{' | b'[') {
                self.at += 1;
                depth += 1;
                objects = objects << 1 | u32::from(opening == b'{');
                if depth > DEEPEST {
                    return None;
                }
                !self.has(end_of(objects))
            } else {
                self.value()?;
                self.goes_on(end_of(objects))?
            };
            if !goes_on && self.leaves(&mut objects, &mut depth)? {
                return Some(());
            }
            if objects & 1 == 1 {
                self.name()?;
            }
        }
    }

    /// Leaves the objects and lists that end here; returns whether the outermost skipped one has ended.
    fn leaves(&mut self, objects: &mut u32, depth: &mut u32) -> Option<bool> {
        loop {
            *objects >>= 1;
            *depth -= 1;
            if *depth == 1 {
                return Some(true);
            }
            if self.goes_on(end_of(*objects))? {
                return Some(false);
            }
        }
    }
}

/// The closing bracket of the innermost open object or list.
fn end_of(objects: u32) -> u8 {
    if objects & 1 == 1 { b'}' } else { b']' }
}
