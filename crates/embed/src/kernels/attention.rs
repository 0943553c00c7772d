//! Attention: each token becomes a mean of the values of all tokens, weighted by how well its query matches their keys.

use std::ops::Range;

use super::{exponential, for_each_level, multiply_add, sum};
use crate::weights::{HEAD, WIDTH};

/// Number of columns of a product that are computed at a time.
const COLUMNS: usize = 16;

/// Buffers of attention, one row of [`WIDTH`] numbers per token.
#[derive(Default)]
pub(crate) struct Attention {
    pub(crate) queries: Vec<f32>,
    pub(crate) keys: Vec<f32>,
    pub(crate) values: Vec<f32>,
    /// Keys of one head, in blocks of [`COLUMNS`] tokens: the first number of all of them, then the second.
    transposed: Vec<f32>,
    /// Values of one head. Next to each other, because lines that are [`WIDTH`] numbers apart share a few cache sets.
    gathered: Vec<f32>,
    /// Attention weights for the current queries.
    shares: Vec<f32>,
}

for_each_level! {
    /// Writes the attention output of `tokens`, which are those of one text, into their rows of `output`.
    fn attend(work: &mut Attention, tokens: Range<usize>, output: &mut [f32]) = attend_body
}

/// Takes as many queries at a time as there are registers for their sums: vectors with fused operations are wider.
#[inline(always)]
fn attend_body<const FUSED: bool>(work: &mut Attention, tokens: Range<usize>, output: &mut [f32]) {
    if FUSED {
        attend_in_groups::<FUSED, 4>(work, tokens, output);
    } else {
        attend_in_groups::<FUSED, 2>(work, tokens, output);
    }
}

#[inline(always)]
fn attend_in_groups<const FUSED: bool, const QUERIES: usize>(
    work: &mut Attention,
    tokens: Range<usize>,
    output: &mut [f32],
) {
    let rows = tokens.start * WIDTH..tokens.end * WIDTH;
    let (queries, keys, values) = (
        &work.queries[rows.clone()],
        &work.keys[rows.clone()],
        &work.values[rows.clone()],
    );
    let output = &mut output[rows];
    let room = tokens.len().next_multiple_of(COLUMNS);
    work.transposed.resize(HEAD * room, 0.0);
    work.gathered.resize(HEAD * tokens.len(), 0.0);
    work.shares.resize(QUERIES * room, 0.0);
    for first in (0..WIDTH).step_by(HEAD) {
        transpose(keys, first, &mut work.transposed);
        for (gathered, value) in work
            .gathered
            .chunks_exact_mut(HEAD)
            .zip(values.chunks_exact(WIDTH))
        {
            gathered.copy_from_slice(&value[first..first + HEAD]);
        }
        let groups = queries.chunks(QUERIES * WIDTH);
        for (queries, output) in groups.zip(output.chunks_mut(QUERIES * WIDTH)) {
            compare::<FUSED, QUERIES>(queries, first, &work.transposed, &mut work.shares);
            for shares in work.shares.chunks_exact_mut(room) {
                share::<FUSED>(shares, tokens.len());
            }
            mix::<FUSED, QUERIES>(&work.shares, &work.gathered, first, output);
        }
    }
}

/// Transposes the keys of the head that begins at column `first`, so that neighbors are compared at once.
#[inline(always)]
fn transpose(keys: &[f32], first: usize, transposed: &mut [f32]) {
    let blocks = keys.chunks(COLUMNS * WIDTH);
    for (keys, block) in blocks.zip(transposed.chunks_exact_mut(COLUMNS * HEAD)) {
        for (token, key) in keys.chunks_exact(WIDTH).enumerate() {
            for (value, column) in key[first..first + HEAD]
                .iter()
                .zip(block.chunks_exact_mut(COLUMNS))
            {
                column[token] = *value;
            }
        }
    }
}

/// Computes the dot product of each key with each of a group of queries; the last group may be smaller.
#[inline(always)]
fn compare<const FUSED: bool, const QUERIES: usize>(
    queries: &[f32],
    first: usize,
    transposed: &[f32],
    fits: &mut [f32],
) {
    let room = transposed.len() / HEAD;
    let scale = 1.0 / (HEAD as f32).sqrt();
    let mut scaled = [[0.0; HEAD]; QUERIES];
    for (scaled, query) in scaled.iter_mut().zip(queries.chunks_exact(WIDTH)) {
        for (scaled, value) in scaled.iter_mut().zip(&query[first..first + HEAD]) {
            *scaled = value * scale;
        }
    }
    for (block, keys) in transposed.chunks_exact(COLUMNS * HEAD).enumerate() {
        let sums = product::<FUSED, QUERIES>(scaled.as_flattened(), keys, COLUMNS);
        for (fits, sums) in fits.chunks_exact_mut(room).zip(&sums) {
            fits[block * COLUMNS..][..COLUMNS].copy_from_slice(sums);
        }
    }
}

/// Applies softmax: turns the first `tokens` scores into positive weights with sum 1.
#[inline(always)]
fn share<const FUSED: bool>(fits: &mut [f32], tokens: usize) {
    // The padding is exponentiated too, so that all is done in whole vectors; it adds less than is rounded off.
    fits[tokens..].fill(f32::NEG_INFINITY);
    let (chunks, _) = fits.as_chunks_mut::<COLUMNS>();
    let mut best = [f32::NEG_INFINITY; COLUMNS];
    for chunk in chunks.iter() {
        for (best, fit) in best.iter_mut().zip(chunk) {
            *best = if *fit > *best { *fit } else { *best };
        }
    }
    let best = best.into_iter().fold(f32::NEG_INFINITY, f32::max);
    for fit in chunks.as_flattened_mut() {
        let below = *fit - best;
        *fit = exponential::<FUSED>(if below > -87.0 { below } else { -87.0 });
    }
    let factor = 1.0 / sum(fits, |share| share);
    for share in fits {
        *share *= factor;
    }
}

/// Writes the weighted means of the values for a group of queries, from column `first` on; the last group may be
/// smaller.
#[inline(always)]
fn mix<const FUSED: bool, const QUERIES: usize>(
    shares: &[f32],
    values: &[f32],
    first: usize,
    output: &mut [f32],
) {
    for column in (0..HEAD).step_by(COLUMNS) {
        let sums = product::<FUSED, QUERIES>(shares, &values[column..], HEAD);
        for (output, sums) in output.chunks_exact_mut(WIDTH).zip(&sums) {
            output[first + column..][..COLUMNS].copy_from_slice(sums);
        }
    }
}

/// Multiplies `ROWS` rows of factors with the first columns of a matrix, of which each row has `stride` numbers.
///
/// There may be more factors than rows of the matrix: the remaining ones are padding.
#[inline(always)]
fn product<const FUSED: bool, const ROWS: usize>(
    factors: &[f32],
    matrix: &[f32],
    stride: usize,
) -> [[f32; COLUMNS]; ROWS] {
    let length = factors.len() / ROWS;
    let depth = matrix.len().div_ceil(stride).min(length);
    let mut rows: [&[f32]; ROWS] = [&[]; ROWS];
    for (row, factors) in rows.iter_mut().zip(factors.chunks_exact(length)) {
        *row = &factors[..depth];
    }
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for index in 0..depth {
        let row = &matrix[index * stride..][..COLUMNS];
        for (sums, factors) in sums.iter_mut().zip(&rows) {
            let factor = factors[index];
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum = multiply_add::<FUSED>(factor, *value, *sum);
            }
        }
    }
    sums
}
