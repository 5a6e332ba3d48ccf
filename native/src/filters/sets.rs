//! Parsing a reduced filter into its nested sets.

use super::assertions::{LONGEST_SHAPE, assertion as shape_of, up_to};
use crate::fields::is_space;

/// Nesting depth of sets; a line of nothing else would fill memory.
pub const DEEPEST: usize = 1000;

/// The members of an AND, an OR or a NOT (or, with no operator, of the whole text), as shapes.
pub struct Set {
    /// `&`, `|`, `!`.
    pub operator: Option<u8>,
    /// The members, up to the limit of a shape.
    pub members: Vec<u8>,
    /// The number of members.
    pub count: usize,
    /// The last member of an OR.
    pub last: Vec<u8>,
}

impl Set {
    fn new(operator: Option<u8>) -> Self {
        Set { operator, members: Vec::new(), count: 0, last: Vec::new() }
    }

    /// Adds a member. In an OR, a list of values may have any length, so equal neighbours are added once.
    pub fn add(&mut self, member: &[u8]) {
        self.count += 1;
        if self.is_full() {
            return;
        }
        if self.operator == Some(b'|') {
            if self.last == member {
                return;
            }
            self.last.clear();
            self.last.extend_from_slice(member);
        }
        self.members.extend_from_slice(member);
    }

    /// Returns whether further members change nothing but their number.
    fn is_full(&self) -> bool {
        self.members.len() > LONGEST_SHAPE
    }

    /// Appends the set up to the limit of a shape, without its closing parenthesis.
    pub fn begun(&self, out: &mut Vec<u8>) {
        if let Some(operator) = self.operator {
            out.extend_from_slice(&[b'(', operator]);
        }
        out.extend_from_slice(up_to(&self.members, LONGEST_SHAPE));
    }

    /// Appends the set.
    fn whole(&self, out: &mut Vec<u8>) {
        self.begun(out);
        out.push(b')');
    }
}

/// The sets still open, outermost first, and the end of what was read; `None` for an invalid filter.
pub fn read(reduced: &[u8]) -> Option<(Vec<Set>, usize)> {
    let mut open_sets = vec![Set::new(None)];
    let (mut at, mut shape) = (0, Vec::with_capacity(reduced.len().min(LONGEST_SHAPE)));
    while let Some((token, length)) = token(&reduced[at..]) {
        at += length;
        match token {
            Token::Opens(_) if open_sets.len() > DEEPEST => return None,
            Token::Opens(operator) => open_sets.push(Set::new(Some(operator))),
            Token::Assertion(attribute, value) => {
                let innermost = open_sets.last_mut()?;
                if !innermost.is_full() {
                    shape_of(attribute, value, &mut shape);
                }
                innermost.add(&shape);
            }
            Token::Closes => {
                let closed = open_sets.pop()?;
                if closed.operator == Some(b'!') && closed.count != 1 {
                    return None;
                }
                shape.clear();
                closed.whole(&mut shape);
                open_sets.last_mut()?.add(&shape);
            }
            Token::Blanks => {}
        }
    }
    Some((open_sets, at))
}

/// The shape of a filter that is one assertion.
pub fn only_assertion(reduced: &[u8]) -> Option<Vec<u8>> {
    let (Token::Assertion(attribute, value), length) = token(reduced)? else { return None };
    if length < reduced.len() {
        return None;
    }
    let mut shape = Vec::with_capacity(length.min(LONGEST_SHAPE) + 1);
    shape_of(attribute, value, &mut shape);
    Some(shape)
}

/// A token of a filter.
enum Token<'a> {
    /// A set opens.
    Opens(u8),
    /// An attribute and its value.
    Assertion(&'a [u8], &'a [u8]),
    /// A set closes.
    Closes,
    /// Blanks, as in filters of Active Directory.
    Blanks,
}

/// The token at the beginning of a text, and its end.
fn token(text: &[u8]) -> Option<(Token<'_>, usize)> {
    match text.first()? {
        b'(' => {
            let at = past_blanks(text, 1);
            if let operator @ (b'&' | b'|' | b'!') = text.get(at)? {
                return Some((Token::Opens(*operator), at + 1));
            }
            let (attribute, value, end) = assertion(text, at)?;
            (text.get(end) == Some(&b')')).then_some((Token::Assertion(attribute, value), end + 1))
        }
        b')' => Some((Token::Closes, 1)),
        byte => is_space(*byte).then(|| (Token::Blanks, past_blanks(text, 1))),
    }
}

/// The attribute and the value at a position, and their end.
fn assertion(text: &[u8], at: usize) -> Option<(&[u8], &[u8], usize)> {
    let equals = at + text.get(at..)?.iter().position(|byte| matches!(byte, b'(' | b')' | b'=' | b'*'))?;
    let (attribute, value) = (&text[at..equals], text[equals..].strip_prefix(b"=")?);
    let length = memchr::memchr2(b'(', b')', value).unwrap_or(value.len());
    Some((attribute, &value[..length], equals + 1 + length))
}

/// The last assertion of a filter that was cut, with an equals sign or without; `None` for anything else.
pub fn unfinished(text: &[u8]) -> Option<Option<(&[u8], &[u8])>> {
    let at = past_blanks(text, text.strip_prefix(b"(").map(|_| 1)?);
    if let Some((attribute, value, end)) = assertion(text, at) {
        return (end == text.len()).then_some(Some((attribute, value)));
    }
    text[at..].iter().all(|byte| !matches!(byte, b'(' | b')' | b'=' | b'*')).then_some(None)
}

fn past_blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| is_space(**byte)).count()
}
