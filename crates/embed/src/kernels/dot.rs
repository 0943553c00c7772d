//! Exact comparison of a vector with stored ones, byte by byte.

use crate::DIMENSIONS;
use crate::cpu::{Isa, SimdLevel};

/// Query in integers: 15 bits and a sign, so that only the 7 bits of a stored vector are rounded.
#[derive(Debug)]
pub(crate) struct WordQuery {
    words: [i16; DIMENSIONS],
    /// Value of 1.
    pub(crate) step: f32,
}

impl WordQuery {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the numbers are scaled to fit, and NaN becomes 0"
    )]
    pub(crate) fn new(vector: &[f32; DIMENSIONS]) -> Self {
        let greatest = vector
            .iter()
            .fold(0.0_f32, |greatest, value| greatest.max(value.abs()));
        let factor = if greatest > 0.0 { 32_767.0 / greatest } else { 0.0 };
        Self {
            words: vector.map(|value| (value * factor).round() as i16),
            step: greatest / 32_767.0,
        }
    }
}

/// Computes the dot product of the query with each vector of `places`.
pub(crate) fn dots(
    isa: Isa,
    query: &WordQuery,
    vectors: &[[u8; DIMENSIONS]],
    positions: &[u32],
    products: &mut Vec<i32>,
) {
    products.clear();
    let chosen = positions.iter().map(|position| &vectors[*position as usize]);
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of these levels proves that the processor has AVX-512 with BW and VNNI.
        SimdLevel::Avx512 | SimdLevel::Avx512Count => unsafe {
            x86::dots_avx512(&query.words, chosen, products);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level proves that the processor has AVX2.
        SimdLevel::Avx2 => unsafe { x86::dots_avx2(&query.words, chosen, products) },
        SimdLevel::Portable => products.extend(chosen.map(|vector| dot(&query.words, vector))),
    }
}

/// Computes one dot product; the sum has at most 7 + 15 + 8 bits.
fn dot(words: &[i16; DIMENSIONS], bytes: &[u8; DIMENSIONS]) -> i32 {
    words
        .iter()
        .zip(bytes)
        .map(|(word, byte)| i32::from(*word) * i32::from(byte.cast_signed()))
        .sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::DIMENSIONS;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dots_avx512<'vectors>(
        words: &[i16; DIMENSIONS],
        vectors: impl Iterator<Item = &'vectors [u8; DIMENSIONS]>,
        products: &mut Vec<i32>,
    ) {
        for vector in vectors {
            // Two accumulators, because one would be limited by latency.
            let mut sums = [_mm512_setzero_si512(); 2];
            for chunk in 0..DIMENSIONS / 32 {
                // SAFETY: 32 of the vector's bytes.
                let bytes = unsafe { _mm256_loadu_si256(vector.as_ptr().add(32 * chunk).cast()) };
                // SAFETY: the 32 words that belong to them.
                let words = unsafe { _mm512_loadu_si512(words.as_ptr().add(32 * chunk).cast()) };
                sums[chunk % 2] = _mm512_dpwssd_epi32(sums[chunk % 2], _mm512_cvtepi8_epi16(bytes), words);
            }
            products.push(_mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1])));
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dots_avx2<'vectors>(
        words: &[i16; DIMENSIONS],
        vectors: impl Iterator<Item = &'vectors [u8; DIMENSIONS]>,
        products: &mut Vec<i32>,
    ) {
        for vector in vectors {
            let mut sums = [_mm256_setzero_si256(); 2];
            for chunk in 0..DIMENSIONS / 16 {
                // SAFETY: 16 of the vector's bytes.
                let bytes = unsafe { _mm_loadu_si128(vector.as_ptr().add(16 * chunk).cast()) };
                // SAFETY: the 16 words that belong to them.
                let words = unsafe { _mm256_loadu_si256(words.as_ptr().add(16 * chunk).cast()) };
                let pairs = _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), words);
                sums[chunk % 2] = _mm256_add_epi32(sums[chunk % 2], pairs);
            }
            let sums = _mm256_add_epi32(sums[0], sums[1]);
            let fours = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            let pairs = _mm_add_epi32(fours, _mm_shuffle_epi32::<0b01_00_11_10>(fours));
            let sum = _mm_add_epi32(pairs, _mm_shuffle_epi32::<0b10_11_00_01>(pairs));
            products.push(_mm_cvtsi128_si32(sum));
        }
    }
}
