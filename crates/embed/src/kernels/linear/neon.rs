//! Innermost loop with NEON, which every 64-bit ARM processor has: eight numbers of four tokens and two rows at a time.

use std::arch::aarch64::*;

use super::words::{Buffers, Sums, multiply};
use crate::kernels::activations::Words;
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

#[target_feature(enable = "neon")]
pub(super) fn linear(input: &Activations, matrix: &Matrix, buffers: &mut Buffers, output: &mut [f32]) {
    multiply(input, matrix, buffers, output, |tokens, rows, sums| {
        add_products(tokens, rows, sums);
    });
}

#[target_feature(enable = "neon")]
fn add_products(tokens: &[&[Words]; TOKEN_GROUP], rows: &[Words], sums: &mut Sums) {
    let depth = tokens[0].len();
    for (pair, rows) in rows.chunks_exact(2 * depth).enumerate() {
        let (first, second) = rows.split_at(depth);
        let mut lanes = [[vdupq_n_s32(0); 2]; TOKEN_GROUP];
        for index in 0..depth {
            for quarter in 0..4 {
                let rows = [load(&first[index], quarter), load(&second[index], quarter)];
                for (lanes, token) in lanes.iter_mut().zip(tokens) {
                    let token = load(&token[index], quarter);
                    for (lanes, row) in lanes.iter_mut().zip(rows) {
                        *lanes = vmlal_s16(*lanes, vget_low_s16(token), vget_low_s16(row));
                        *lanes = vmlal_high_s16(*lanes, token, row);
                    }
                }
            }
        }
        for (sums, lanes) in sums.iter_mut().zip(lanes) {
            sums[2 * pair] += vaddvq_s32(lanes[0]);
            sums[2 * pair + 1] += vaddvq_s32(lanes[1]);
        }
    }
}

/// Loads one quarter.
#[target_feature(enable = "neon")]
fn load(words: &Words, quarter: usize) -> int16x8_t {
    let quarter = &words.0.as_chunks::<8>().0[quarter];
    // SAFETY: the array has eight numbers.
    unsafe { vld1q_s16(quarter.as_ptr()) }
}
