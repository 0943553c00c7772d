//! Sixteen rows of a matrix, the unit of work of every kernel: their layouts and their scaling.

use crate::kernels::activations::Range;
use crate::weights::Matrix;

/// Number of rows that are processed at a time.
pub(super) const ROWS: usize = 16;

/// Four consecutive numbers of each of sixteen rows.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; 4 * ROWS]);

/// Factors that turn integer sums into results, for sixteen rows.
pub(super) struct Scaling {
    scales: [f32; ROWS],
    biases: [f32; ROWS],
    /// Sum of each row times its scale: the minimum of a token counts once for each number of the row.
    sums: [f32; ROWS],
}

impl Scaling {
    #[inline(always)]
    pub(super) fn new(matrix: &Matrix, first_row: usize, sums: &[i32; ROWS]) -> Self {
        let mut scaling = Self {
            scales: [0.0; ROWS],
            biases: [0.0; ROWS],
            sums: [0.0; ROWS],
        };
        for (row, sum) in sums.iter().enumerate() {
            scaling.scales[row] = f32::from_le_bytes(matrix.scales[first_row + row]);
            scaling.biases[row] = f32::from_le_bytes(matrix.biases[first_row + row]);
            scaling.sums[row] = *sum as f32 * scaling.scales[row];
        }
        scaling
    }

    /// Writes the results of a token, of which `products` are the sums, into `output`.
    #[inline(always)]
    pub(super) fn apply(&self, products: &[i32; ROWS], range: Range, output: &mut [f32]) {
        // Via a local, which cannot alias anything: else the compiler would not use vectors.
        let mut results = [0.0; ROWS];
        for (row, (result, product)) in results.iter_mut().zip(products).enumerate() {
            *result = *product as f32 * self.scales[row] * range.step
                + self.sums[row] * range.least
                + self.biases[row];
        }
        output[..ROWS].copy_from_slice(&results);
    }
}
