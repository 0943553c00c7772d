//! Sixteen rows of a matrix, the unit of work of every kernel: their layout and their scaling.

use crate::kernels::activations::Range;
use crate::weights::Matrix;

/// Number of rows that are processed at a time.
pub(super) const ROWS: usize = 16;

/// Four consecutive numbers of each of sixteen rows.
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
        let scales = std::array::from_fn(|row| f32::from_le_bytes(matrix.scales[first_row + row]));
        Self {
            scales,
            biases: std::array::from_fn(|row| f32::from_le_bytes(matrix.biases[first_row + row])),
            sums: std::array::from_fn(|row| sums[row] as f32 * scales[row]),
        }
    }

    #[inline(always)]
    pub(super) fn apply(&self, products: &[i32; ROWS], range: Range) -> [f32; ROWS] {
        std::array::from_fn(|row| {
            products[row] as f32 * self.scales[row] * range.step
                + self.sums[row] * range.least
                + self.biases[row]
        })
    }
}
