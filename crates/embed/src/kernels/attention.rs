//! Attention: each token becomes a mean of the values of all tokens, weighted by how well its query matches their keys.

use super::{TOKEN_GROUP, exponential, for_each_level, multiply_add, sum};
use crate::weights::{HEAD, WIDTH};

/// Number of keys that are compared at a time.
const KEYS: usize = 16;

/// Buffers of attention, one row of [`WIDTH`] numbers per token, in full groups of tokens.
#[derive(Default)]
pub(crate) struct Attention {
    pub(crate) queries: Vec<f32>,
    pub(crate) keys: Vec<f32>,
    pub(crate) values: Vec<f32>,
    /// Transposed keys of one head: the first number of all tokens, then the second.
    transposed: Vec<f32>,
    /// Attention weights for the current queries.
    shares: Vec<f32>,
}

for_each_level! {
    /// Writes the attention output of the first `tokens` tokens into `output`.
    fn attend(work: &mut Attention, tokens: usize, output: &mut [f32]) = attend_body
}

#[inline(always)]
fn attend_body<const FUSED: bool>(work: &mut Attention, tokens: usize, output: &mut [f32]) {
    let room = tokens.next_multiple_of(KEYS);
    work.transposed.resize(HEAD * room, 0.0);
    work.shares.resize(TOKEN_GROUP * room, 0.0);
    for first in (0..WIDTH).step_by(HEAD) {
        transpose(&work.keys, first, tokens, &mut work.transposed);
        let groups = work.queries.chunks_exact(TOKEN_GROUP * WIDTH);
        for (queries, output) in groups.zip(output.chunks_exact_mut(TOKEN_GROUP * WIDTH)) {
            compare::<FUSED>(queries, first, &work.transposed, &mut work.shares);
            for shares in work.shares.chunks_exact_mut(room) {
                share::<FUSED>(&mut shares[..tokens]);
            }
            mix::<FUSED>(&work.shares, &work.values[..tokens * WIDTH], first, output);
        }
    }
}

/// Transposes the keys of the head that begins at column `first`, so that neighbors are compared at once.
#[inline(always)]
fn transpose(keys: &[f32], first: usize, tokens: usize, transposed: &mut [f32]) {
    let room = transposed.len() / HEAD;
    for (token, key) in keys.chunks_exact(WIDTH).take(tokens).enumerate() {
        for (column, value) in key[first..first + HEAD].iter().enumerate() {
            transposed[column * room + token] = *value;
        }
    }
}

/// Computes the dot product of each key with each of a group of queries.
#[inline(always)]
fn compare<const FUSED: bool>(queries: &[f32], first: usize, transposed: &[f32], fits: &mut [f32]) {
    let room = transposed.len() / HEAD;
    let scale = 1.0 / (HEAD as f32).sqrt();
    let queries: [[f32; HEAD]; TOKEN_GROUP] = std::array::from_fn(|query| {
        std::array::from_fn(|column| queries[query * WIDTH + first + column] * scale)
    });
    for key in (0..room).step_by(KEYS) {
        let mut sums = [[0.0; KEYS]; TOKEN_GROUP];
        for column in 0..HEAD {
            let keys = &transposed[column * room + key..][..KEYS];
            for (sums, query) in sums.iter_mut().zip(&queries) {
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = multiply_add::<FUSED>(query[column], *key, *sum);
                }
            }
        }
        for (query, sums) in sums.iter().enumerate() {
            fits[query * room + key..][..KEYS].copy_from_slice(sums);
        }
    }
}

/// Applies softmax: turns scores into positive weights with sum 1.
#[inline(always)]
fn share<const FUSED: bool>(fits: &mut [f32]) {
    let mut best = [f32::NEG_INFINITY; KEYS];
    let (chunks, rest) = fits.as_chunks::<KEYS>();
    for chunk in chunks {
        for (best, fit) in best.iter_mut().zip(chunk) {
            *best = if *fit > *best { *fit } else { *best };
        }
    }
    let best = best.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
    for fit in fits.iter_mut() {
        let below = *fit - best;
        *fit = exponential::<FUSED>(if below > -87.0 { below } else { -87.0 });
    }
    let factor = 1.0 / sum(fits, |share| share);
    for share in fits {
        *share *= factor;
    }
}

/// Computes the weighted mean of the values for a group of queries.
#[inline(always)]
fn mix<const FUSED: bool>(shares: &[f32], values: &[f32], first: usize, output: &mut [f32]) {
    let room = shares.len() / TOKEN_GROUP;
    let mut sums = [[0.0; HEAD]; TOKEN_GROUP];
    for (token, value) in values.chunks_exact(WIDTH).enumerate() {
        let value = &value[first..first + HEAD];
        for (query, sums) in sums.iter_mut().enumerate() {
            let share = shares[query * room + token];
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = multiply_add::<FUSED>(share, *value, *sum);
            }
        }
    }
    for (output, sums) in output.chunks_exact_mut(WIDTH).zip(&sums) {
        output[first..first + HEAD].copy_from_slice(sums);
    }
}
