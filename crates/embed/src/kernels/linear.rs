//! Matrix multiplication: most of the run time.
//!
//! Integers are multiplied and added up exactly, so that every processor gets the same sums. All kernels work on
//! sixteen rows of the matrix at a time: these are repacked once, and stay in the L1 cache while all tokens are
//! multiplied with them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod tile;
mod words;

use super::Activations;
use super::activations::WORDS;
use crate::cpu::{Isa, SimdLevel};
use crate::weights::Matrix;
use tile::ROWS;

/// Scratch space: repacked rows of a matrix.
#[derive(Default)]
pub(crate) struct Panel {
    #[cfg(target_arch = "x86_64")]
    lines: Vec<tile::Line>,
    words: words::Buffers,
}

/// Computes the product of each token with each row, token after token.
///
/// `output` has space for full groups of tokens.
pub(crate) fn linear(isa: Isa, input: &Activations, matrix: &Matrix, panel: &mut Panel, output: &mut [f32]) {
    check(input, matrix, output);
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of these levels proves that the processor has AVX-512 with BW, VL and VNNI.
        SimdLevel::Avx512 | SimdLevel::Avx512Count => unsafe {
            avx512::linear(input, matrix, &mut panel.lines, output);
        },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level proves that the processor has AVX2.
        SimdLevel::Avx2 => unsafe { avx2::linear(input, matrix, &mut panel.words, output) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE2 is part of the target's baseline.
        SimdLevel::Portable => unsafe { sse2::linear(input, matrix, &mut panel.words, output) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: NEON is part of the target's baseline.
        SimdLevel::Portable => unsafe { neon::linear(input, matrix, &mut panel.words, output) },
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        SimdLevel::Portable => portable::linear(input, matrix, &mut panel.words, output),
    }
}

fn check(input: &Activations, matrix: &Matrix, output: &[f32]) {
    assert!(
        input.columns == matrix.columns
            && input.words.len() * WORDS == input.tokens() * input.columns
            && output.len() == input.tokens() * matrix.rows()
            && matrix.rows().is_multiple_of(ROWS)
            && matrix.columns.is_multiple_of(64),
        "the buffers fit the matrix"
    );
}

#[cfg(test)]
mod tests {
    use super::super::Precision;
    use super::*;
    use crate::weights::{WEIGHTS, WIDTH};

    #[test]
    fn all_kernels_compute_the_same_numbers() {
        for (matrix, precision) in [
            (&WEIGHTS.table_matrix, Precision::Byte),
            (&WEIGHTS.layers[0].query, Precision::Word),
            (&WEIGHTS.layers[1].widen, Precision::Byte),
            (&WEIGHTS.layers[2].narrow, Precision::Byte),
        ] {
            for tokens in [1, 4, 7, 21] {
                let values: Vec<f32> = (0..tokens * matrix.columns)
                    .map(|index| ((index * 7919 % 1013) as f32 - 300.0) / 100.0)
                    .collect();
                let multiply = |isa: Option<Isa>| {
                    let mut input = Activations::default();
                    input.set(isa.unwrap_or(Isa::best()), &values, matrix.columns, precision);
                    let mut output = vec![f32::NAN; input.tokens() * matrix.rows()];
                    match isa {
                        Some(isa) => linear(isa, &input, matrix, &mut Panel::default(), &mut output),
                        None => portable::linear(&input, matrix, &mut words::Buffers::default(), &mut output),
                    }
                    output.truncate(tokens * matrix.rows());
                    output
                };
                let expected = multiply(None);
                for isa in Isa::available() {
                    assert!(multiply(Some(isa)) == expected, "{isa:?} with {tokens} tokens");
                }
            }
        }
    }

    #[test]
    fn a_product_is_close_to_that_of_unrounded_numbers() {
        let matrix = &WEIGHTS.layers[0].output;
        let values: Vec<f32> = (0..WIDTH).map(|index| (index as f32 / 9.0).sin()).collect();
        let mut input = Activations::default();
        input.set(Isa::best(), &values, WIDTH, Precision::Byte);
        let mut output = vec![0.0; input.tokens() * WIDTH];
        linear(Isa::best(), &input, matrix, &mut Panel::default(), &mut output);
        for (row, weights) in matrix.values.chunks_exact(WIDTH).enumerate() {
            let sum: f32 = weights
                .iter()
                .zip(&values)
                .map(|(weight, value)| f32::from(weight.cast_signed()) * value)
                .sum();
            let expected =
                sum * f32::from_le_bytes(matrix.scales[row]) + f32::from_le_bytes(matrix.biases[row]);
            assert!(
                (output[row] - expected).abs() < 0.02,
                "row {row}: {} is not {expected}",
                output[row]
            );
        }
    }
}
