//! Innermost loop without intrinsics, for targets that have no other, and what tests compare the others with.

use super::words::{Buffers, Sums, multiply};
use crate::kernels::activations::Words;
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

pub(super) fn linear(input: &Activations, matrix: &Matrix, buffers: &mut Buffers, output: &mut [f32]) {
    multiply(input, matrix, buffers, output, add_products);
}

fn add_products(tokens: &[&[Words]; TOKEN_GROUP], rows: &[Words], sums: &mut Sums) {
    for (sums, token) in sums.iter_mut().zip(tokens) {
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(token.len())) {
            let pairs = token.iter().zip(row);
            *sum += pairs.map(|(a, b)| product(a, b)).sum::<i32>();
        }
    }
}

fn product(a: &Words, b: &Words) -> i32 {
    let pairs = a.0.iter().zip(&b.0);
    pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}
