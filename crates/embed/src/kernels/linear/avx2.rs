//! Innermost loop with AVX2: sixteen numbers of four tokens and two rows at a time.

use std::arch::x86_64::*;

use super::words::{Buffers, Sums, multiply};
use crate::kernels::activations::Words;
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

#[target_feature(enable = "avx2")]
pub(super) fn linear(input: &Activations, matrix: &Matrix, buffers: &mut Buffers, output: &mut [f32]) {
    multiply(input, matrix, buffers, output, |tokens, rows, sums| {
        add_products(tokens, rows, sums);
    });
}

#[target_feature(enable = "avx2")]
fn add_products(tokens: &[&[Words]; TOKEN_GROUP], rows: &[Words], sums: &mut Sums) {
    let depth = tokens[0].len();
    for (pair, rows) in rows.chunks_exact(2 * depth).enumerate() {
        let (first, second) = rows.split_at(depth);
        let mut lanes = [[_mm256_setzero_si256(); 2]; TOKEN_GROUP];
        for index in 0..depth {
            for half in 0..2 {
                let rows = [load(&first[index], half), load(&second[index], half)];
                for (lanes, token) in lanes.iter_mut().zip(tokens) {
                    let token = load(&token[index], half);
                    lanes[0] = _mm256_add_epi32(lanes[0], _mm256_madd_epi16(token, rows[0]));
                    lanes[1] = _mm256_add_epi32(lanes[1], _mm256_madd_epi16(token, rows[1]));
                }
            }
        }
        for (sums, lanes) in sums
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(lanes.as_chunks::<2>().0)
        {
            let [[a, b], [c, d]] = *lanes;
            let eighths = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
            let four = _mm_add_epi32(
                _mm256_castsi256_si128(eighths),
                _mm256_extracti128_si256::<1>(eighths),
            );
            sums[0][2 * pair] += _mm_extract_epi32::<0>(four);
            sums[0][2 * pair + 1] += _mm_extract_epi32::<1>(four);
            sums[1][2 * pair] += _mm_extract_epi32::<2>(four);
            sums[1][2 * pair + 1] += _mm_extract_epi32::<3>(four);
        }
    }
}

/// Loads the lower or upper half.
#[target_feature(enable = "avx2")]
fn load(words: &Words, half: usize) -> __m256i {
    let half = &words.0.as_chunks::<16>().0[half];
    // SAFETY: 32 bytes at a multiple of 32, because [`Words`] are aligned to their size.
    unsafe { _mm256_load_si256(half.as_ptr().cast()) }
}
