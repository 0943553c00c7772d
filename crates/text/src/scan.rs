//! Finds bytes in long text, without detecting the features of the processor.
//!
//! The usual entry points of `memchr` run `cpuid` on first use. On virtual machines that traps about a dozen times, which
//! takes 40 µs, a tenth of a hook's time. The functions here use only instructions that every processor of the target has.

#[cfg(not(target_arch = "x86_64"))]
use memchr::arch::all::memchr::One;
#[cfg(target_arch = "x86_64")]
use memchr::arch::x86_64::sse2::memchr::One;

/// Returns the position of the first occurrence of a byte.
#[cfg(target_arch = "x86_64")]
pub fn find_byte(text: &[u8], byte: u8) -> Option<usize> {
    // Never `None`: SSE2 is part of x86-64.
    One::new(byte)?.find(text)
}

/// Returns the position of the first occurrence of a byte.
#[cfg(not(target_arch = "x86_64"))]
pub fn find_byte(text: &[u8], byte: u8) -> Option<usize> {
    One::new(byte).find(text)
}

/// Returns the positions of all occurrences of a byte.
pub fn positions(text: &[u8], byte: u8) -> impl Iterator<Item = usize> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + find_byte(&text[from..], byte)?;
        from = at + 1;
        Some(at)
    })
}

/// The number of pairs that are compared at once.
const BLOCK: usize = 64;

/// Returns the position of the first occurrence of two consecutive bytes.
pub fn find_pair(text: &[u8], pair: [u8; 2]) -> Option<usize> {
    let seconds = text.get(1..)?;
    let (blocks, rest) = seconds.as_chunks::<BLOCK>();
    let (first_blocks, _) = text.as_chunks::<BLOCK>();
    let is_pair = |(&a, &b): (&u8, &u8)| (a == pair[0]) & (b == pair[1]);
    for (index, (first, second)) in first_blocks.iter().zip(blocks).enumerate() {
        if first
            .iter()
            .zip(second)
            .fold(false, |found, both| found | is_pair(both))
        {
            return first
                .iter()
                .zip(second)
                .position(is_pair)
                .map(|at| index * BLOCK + at);
        }
    }
    let done = blocks.len() * BLOCK;
    text[done..]
        .iter()
        .zip(rest)
        .position(is_pair)
        .map(|at| done + at)
}

/// Returns the position of the first occurrence of a word of at least two bytes.
pub fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    let pair = *word.first_chunk::<2>()?;
    let mut at = 0;
    loop {
        at += find_pair(text.get(at..)?, pair)?;
        if text[at..].starts_with(word) {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns the positions of all occurrences of a word of at least two bytes, without overlaps.
pub fn find_all<'t>(text: &'t [u8], word: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + find(text.get(at..)?, word)?;
        at = start + word.len();
        Some(start)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn results_agree_with_the_standard_library(text in "[ab]{0,150}", word in "[ab]{2,5}") {
            let bytes = text.as_bytes();
            prop_assert_eq!(find_byte(bytes, b'b'), text.find('b'));
            let all: Vec<usize> = text.match_indices('b').map(|(at, _)| at).collect();
            prop_assert_eq!(positions(bytes, b'b').collect::<Vec<_>>(), all);
            prop_assert_eq!(find_pair(bytes, *b"ba"), text.find("ba"));
            prop_assert_eq!(find(bytes, word.as_bytes()), text.find(&word));
        }
    }
}
