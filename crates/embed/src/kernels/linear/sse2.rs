//! Innermost loop with SSE2, which every x86-64 processor has: eight numbers of four tokens and two rows at a time.

use std::arch::x86_64::*;

use super::words::{Buffers, Sums, multiply};
use crate::kernels::activations::Words;
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

#[target_feature(enable = "sse2")]
pub(super) fn linear(input: &Activations, matrix: &Matrix, buffers: &mut Buffers, output: &mut [f32]) {
    multiply(input, matrix, buffers, output, |tokens, rows, sums| {
        add_products(tokens, rows, sums);
    });
}

#[target_feature(enable = "sse2")]
fn add_products(tokens: &[&[Words]; TOKEN_GROUP], rows: &[Words], sums: &mut Sums) {
    let depth = tokens[0].len();
    for (pair, rows) in rows.chunks_exact(2 * depth).enumerate() {
        let (first, second) = rows.split_at(depth);
        let mut lanes = [[_mm_setzero_si128(); 2]; TOKEN_GROUP];
        for index in 0..depth {
            for quarter in 0..4 {
                let rows = [load(&first[index], quarter), load(&second[index], quarter)];
                for (lanes, token) in lanes.iter_mut().zip(tokens) {
                    let token = load(&token[index], quarter);
                    lanes[0] = _mm_add_epi32(lanes[0], _mm_madd_epi16(token, rows[0]));
                    lanes[1] = _mm_add_epi32(lanes[1], _mm_madd_epi16(token, rows[1]));
                }
            }
        }
        for (sums, lanes) in sums.iter_mut().zip(lanes) {
            sums[2 * pair] += sum(lanes[0]);
            sums[2 * pair + 1] += sum(lanes[1]);
        }
    }
}

#[target_feature(enable = "sse2")]
fn sum(lanes: __m128i) -> i32 {
    let pairs = _mm_add_epi32(lanes, _mm_shuffle_epi32::<0b01_00_11_10>(lanes));
    _mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32::<0b10_11_00_01>(pairs)))
}

/// Loads one quarter.
#[target_feature(enable = "sse2")]
fn load(words: &Words, quarter: usize) -> __m128i {
    let quarter = &words.0.as_chunks::<8>().0[quarter];
    // SAFETY: 16 bytes at a multiple of 16, because [`Words`] are aligned to their size.
    unsafe { _mm_load_si128(quarter.as_ptr().cast()) }
}
