//! Matrix multiplication with sixteen-bit numbers: all of it but the innermost loop, which is up to a kernel.
//!
//! Sixteen rows and up to [`DEPTH`] columns of the matrix are widened at a time. These, and the same columns of a
//! group of tokens, stay in the L1 cache.

use super::tile::{ROWS, Scaling};
use crate::kernels::activations::{WORDS, Words};
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

/// Number of columns that are processed at a time, in units of [`Words`].
pub(super) const DEPTH: usize = 384 / WORDS;

/// Sums of products of a group of tokens with sixteen rows.
pub(super) type Sums = [[i32; ROWS]; TOKEN_GROUP];

/// Scratch space of [`multiply`].
#[derive(Default)]
pub(super) struct Buffers {
    /// Widened part of sixteen rows, row after row.
    rows: Vec<Words>,
    /// Sums so far of all tokens.
    sums: Vec<Sums>,
}

/// Multiplies each token with each row. `add_products(tokens, rows, sums)` adds the products of a group of tokens,
/// of which all have the same number of words, with the same columns of sixteen rows.
#[inline(always)]
pub(super) fn multiply(
    input: &Activations,
    matrix: &Matrix,
    buffers: &mut Buffers,
    output: &mut [f32],
    add_products: impl Fn(&[&[Words]; TOKEN_GROUP], &[Words], &mut Sums),
) {
    let columns = matrix.columns / WORDS;
    let group = TOKEN_GROUP * columns;
    for (block, values) in matrix.values.chunks_exact(ROWS * matrix.columns).enumerate() {
        buffers.sums.clear();
        buffers
            .sums
            .resize(input.words.len() / group, [[0; ROWS]; TOKEN_GROUP]);
        let mut row_sums = [0; ROWS];
        for first in (0..columns).step_by(DEPTH) {
            let depth = DEPTH.min(columns - first);
            buffers.rows.resize(ROWS * depth, Words::default());
            widen(values, matrix.columns, first, &mut buffers.rows, &mut row_sums);
            for (words, sums) in input.words.chunks_exact(group).zip(&mut buffers.sums) {
                let mut tokens: [&[Words]; TOKEN_GROUP] = [&[]; TOKEN_GROUP];
                for (token, words) in tokens.iter_mut().zip(words.chunks_exact(columns)) {
                    *token = &words[first..first + depth];
                }
                add_products(&tokens, &buffers.rows, sums);
            }
        }
        let scaling = Scaling::new(matrix, block * ROWS, &row_sums);
        let tokens = buffers.sums.as_flattened().iter().zip(&input.ranges);
        for ((sums, range), output) in tokens.zip(output.chunks_exact_mut(matrix.rows())) {
            scaling.apply(sums, *range, &mut output[block * ROWS..]);
        }
    }
}

/// Widens the columns of sixteen rows that begin at `first`, in units of [`Words`], and adds up each row.
#[inline(always)]
fn widen(values: &[u8], columns: usize, first: usize, rows: &mut [Words], sums: &mut [i32; ROWS]) {
    let depth = rows.len() / ROWS;
    let values = values.chunks_exact(columns).zip(rows.chunks_exact_mut(depth));
    for ((values, row), sum) in values.zip(sums) {
        // A lane adds up DEPTH signed bytes, so that it cannot overflow.
        let mut lanes = [0_i16; WORDS];
        for (words, values) in row.iter_mut().zip(&values.as_chunks::<WORDS>().0[first..]) {
            // Via a local, which cannot alias anything: else the compiler would not use vectors.
            let mut wide = [0; WORDS];
            for (word, value) in wide.iter_mut().zip(values) {
                *word = i16::from(value.cast_signed());
            }
            for (lane, word) in lanes.iter_mut().zip(&wide) {
                *lane += *word;
            }
            words.0 = wide;
        }
        *sum += lanes.iter().map(|lane| i32::from(*lane)).sum::<i32>();
    }
}
