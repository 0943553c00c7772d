//! Quantizes activations to the integers that matrices are multiplied with.
//!
//! Each token gets its own range: level 0 is its minimum, the highest level its maximum. That gains one bit
//! over a range around zero, because the numbers of most tokens are skewed to one side.

use super::{TOKEN_GROUP, for_each_level};
use crate::cpu::{Isa, SimdLevel};

/// Bits per number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// 8 bits.
    Byte,
    /// 15 bits, for inputs with a few outliers: those of attention.
    Word,
}

/// Numbers in one of [`Words`].
pub(crate) const WORDS: usize = 32;

/// Consecutive numbers of a token or of a row, a cache line of them.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Words(pub(crate) [i16; WORDS]);

/// Quantized tokens.
#[derive(Default)]
pub(crate) struct Activations {
    pub(crate) columns: usize,
    /// Levels, 0 to 255 or 0 to 32,767: the input of most kernels.
    pub(crate) words: Vec<Words>,
    /// Low eight bits of each level, for kernels that multiply bytes.
    pub(crate) low: Vec<u8>,
    /// Upper bits, empty if there are none.
    pub(crate) high: Vec<u8>,
    pub(crate) ranges: Vec<Range>,
}

/// Maps the levels of a token to values: `least + step * level`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) least: f32,
    pub(crate) step: f32,
}

impl Activations {
    /// Quantizes tokens of `columns` numbers each.
    pub(crate) fn set(&mut self, isa: Isa, values: &[f32], columns: usize, precision: Precision) {
        let tokens = values.len() / columns;
        let room = tokens.next_multiple_of(TOKEN_GROUP);
        self.columns = columns;
        self.words.resize(room * columns / WORDS, Words::default());
        self.ranges.resize(room, Range::default());
        let highest = match precision {
            Precision::Byte => 255.0,
            Precision::Word => 32_767.0,
        };
        quantize(isa, values, columns, highest, &mut self.words, &mut self.ranges);
        // The padding of the last group is multiplied too, and the sums of stale values might overflow.
        self.words[tokens * columns / WORDS..].fill(Words::default());
        let (with_low, with_high) = match isa.level() {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 | SimdLevel::Avx512Count => (true, precision == Precision::Word),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => (false, false),
            SimdLevel::Portable => (false, false),
        };
        for (bytes, is_used, shift) in [(&mut self.low, with_low, 0), (&mut self.high, with_high, 8)] {
            bytes.resize(if is_used { room * columns } else { 0 }, 0);
            take_bytes(isa, &self.words, shift, bytes);
        }
    }

    /// Returns the number of tokens that kernels work on: full groups.
    pub(crate) fn tokens(&self) -> usize {
        self.ranges.len()
    }
}

for_each_level! {
    fn quantize(values: &[f32], columns: usize, highest: f32, words: &mut [Words], ranges: &mut [Range]) = quantize_body
}

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "levels have fifteen bits, and they are the lowest ones"
)]
fn quantize_body<const FUSED: bool>(
    values: &[f32],
    columns: usize,
    highest: f32,
    words: &mut [Words],
    ranges: &mut [Range],
) {
    /// Adding it to a number from 0 to 2^22 leaves the nearest integer in the lowest bits.
    const ROUND: f32 = 8_388_608.0;
    let rows = values
        .chunks_exact(columns)
        .zip(words.chunks_exact_mut(columns / WORDS));
    for ((row, words), range) in rows.zip(ranges) {
        let (least, greatest) = min_and_max(row);
        let width = greatest - least;
        let factor = if width > 0.0 { highest / width } else { 0.0 };
        *range = Range {
            least,
            step: width / highest,
        };
        for (words, row) in words.iter_mut().zip(row.as_chunks::<WORDS>().0) {
            for (word, value) in words.0.iter_mut().zip(row) {
                // Never fused: some numbers would be rounded differently.
                *word = ((*value - least) * factor + ROUND).to_bits() as i16;
            }
        }
    }
}

/// Computes both in separate passes: in one, the compiler generates extra shuffles.
#[inline(always)]
fn min_and_max(row: &[f32]) -> (f32, f32) {
    (
        extreme(row, f32::INFINITY, |value, least| value < least),
        extreme(row, f32::NEG_INFINITY, |value, greatest| value > greatest),
    )
}

#[inline(always)]
fn extreme(row: &[f32], start: f32, is_beyond: impl Fn(f32, f32) -> bool) -> f32 {
    let pick = |so_far: f32, value: f32| if is_beyond(value, so_far) { value } else { so_far };
    let mut lanes = [start; 16];
    for chunk in row.as_chunks::<16>().0 {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = pick(*lane, *value);
        }
    }
    lanes.into_iter().fold(start, pick)
}

for_each_level! {
    fn take_bytes(words: &[Words], shift: u32, bytes: &mut [u8]) = take_bytes_body
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "only the lowest byte is needed")]
fn take_bytes_body<const FUSED: bool>(words: &[Words], shift: u32, bytes: &mut [u8]) {
    for (bytes, words) in bytes.as_chunks_mut::<WORDS>().0.iter_mut().zip(words) {
        for (byte, word) in bytes.iter_mut().zip(&words.0) {
            *byte = (word >> shift) as u8;
        }
    }
}
