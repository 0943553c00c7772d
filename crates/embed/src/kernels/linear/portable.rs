//! Portable matrix multiplication, vectorized by the compiler.

use super::tile::{ROWS, Scaling};
use crate::kernels::Activations;
use crate::weights::{INNER, Matrix};

pub(super) fn linear(input: &Activations, matrix: &Matrix, output: &mut [f32]) {
    let columns = matrix.columns;
    let mut wide = [[0_i16; INNER]; ROWS];
    for (block, rows) in matrix.values.chunks_exact(ROWS * columns).enumerate() {
        let mut sums = [0; ROWS];
        for ((row, wide), sum) in rows.chunks_exact(columns).zip(&mut wide).zip(&mut sums) {
            for (wide, value) in wide.iter_mut().zip(row) {
                *wide = i16::from(value.cast_signed());
                *sum += i32::from(*wide);
            }
        }
        let scaling = Scaling::new(matrix, block * ROWS, &sums);
        let tokens = input.words.chunks_exact(columns).zip(&input.ranges);
        for ((words, range), output) in tokens.zip(output.chunks_exact_mut(matrix.rows())) {
            let products = std::array::from_fn(|row| product(words, &wide[row][..columns]));
            output[block * ROWS..][..ROWS].copy_from_slice(&scaling.apply(&products, *range));
        }
    }
}

fn product(words: &[i16], row: &[i16]) -> i32 {
    words
        .iter()
        .zip(row)
        .map(|(a, b)| i32::from(*a) * i32::from(*b))
        .sum()
}
