//! The search for bytes that are a few bytes away, eight at a time: quicker than a call of a search for distant ones.

/// Each byte of a word.
pub const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * EACH;

/// The position of the first byte from `at` on that `marks` marks in a word; the length of the text if there is none.
#[inline(always)]
pub fn find(text: &[u8], mut at: usize, marks: impl Fn(u64) -> u64) -> usize {
    let place = |marked: u64| marked.trailing_zeros() as usize / 8;
    while let Some(word) = text[at..].first_chunk() {
        let marked = marks(u64::from_le_bytes(*word));
        if marked != 0 {
            return at + place(marked);
        }
        at += 8;
    }
    let marked = marks(last_word(text, text.len() - at));
    if marked == 0 { text.len() } else { at + place(marked) }
}

/// Marks a byte: not zero, since zeros stand behind the end of a text.
#[inline(always)]
pub fn is(byte: u8) -> impl Fn(u64) -> u64 {
    move |word| below(word ^ (EACH * u64::from(byte)), 1)
}

/// The high bit of each byte of a word that is below a limit, and no other: no byte borrows from its neighbour.
#[inline(always)]
pub fn below(word: u64, limit: u64) -> u64 {
    !((word | HIGH) - limit * EACH) & !word & HIGH
}

/// The last `count` bytes, fewer than eight, with zeros after them.
#[inline(always)]
fn last_word(text: &[u8], count: usize) -> u64 {
    match text.last_chunk() {
        _ if count == 0 => 0,
        Some(word) => u64::from_le_bytes(*word) >> (64 - 8 * count),
        None => text[text.len() - count..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_any_bytes_is_found_from_any_place() {
        for length in 0..20 {
            for place in 0..length {
                let mut text = vec![0x80 | b'"'; length];
                text[place] = b'"';
                for at in 0..=length {
                    let expected = if at <= place { place } else { length };
                    assert_eq!(find(&text, at, is(b'"')), expected);
                }
            }
        }
    }
}
