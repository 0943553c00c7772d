//! Matrix multiplication with AVX2: sixteen-bit numbers, four tokens and eight rows at a time.

use std::arch::x86_64::*;

use super::tile::{Line, ROWS, Scaling};
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

#[target_feature(enable = "avx2")]
pub(super) fn linear(input: &Activations, matrix: &Matrix, panel: &mut [Line], output: &mut [f32]) {
    let columns = matrix.columns;
    for (block, rows) in matrix.values.chunks_exact(ROWS * columns).enumerate() {
        let sums = lay_out(rows, columns, panel);
        let scaling = Scaling::new(matrix, block * ROWS, &sums);
        let groups = input
            .words
            .chunks_exact(TOKEN_GROUP * columns)
            .zip(input.ranges.as_chunks::<TOKEN_GROUP>().0);
        for ((words, ranges), output) in groups.zip(output.chunks_exact_mut(TOKEN_GROUP * matrix.rows())) {
            let left = products::<0>(words, panel);
            let right = products::<32>(words, panel);
            for (token, range) in ranges.iter().enumerate() {
                let mut products = [0; ROWS];
                products[..8].copy_from_slice(&left[token]);
                products[8..].copy_from_slice(&right[token]);
                output[token * matrix.rows() + block * ROWS..][..ROWS]
                    .copy_from_slice(&scaling.apply(&products, *range));
            }
        }
    }
}

/// Computes the products of four tokens with the eight rows that start at byte `HALF` of each line.
#[target_feature(enable = "avx2")]
fn products<const HALF: usize>(words: &[i16], panel: &[Line]) -> [[i32; 8]; TOKEN_GROUP] {
    let columns = words.len() / TOKEN_GROUP;
    assert!(panel.len() * 4 == columns, "a line for four columns");
    // Rows 0 to 3 and 4 to 7, two partial sums each.
    let mut sums = [[_mm256_setzero_si256(); 2]; TOKEN_GROUP];
    for (group, line) in panel.iter().enumerate() {
        // SAFETY: a line has 64 bytes, of which these are the first or the last 32.
        let rows = unsafe { _mm256_load_si256(line.0.as_ptr().add(HALF).cast()) };
        let rows = [
            _mm256_cvtepi8_epi16(_mm256_castsi256_si128(rows)),
            _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(rows)),
        ];
        for (token, sums) in sums.iter_mut().enumerate() {
            // SAFETY: four words from a column that is a multiple of four, in a row of `columns`.
            let four = unsafe {
                words
                    .as_ptr()
                    .add(token * columns + 4 * group)
                    .cast::<i64>()
                    .read_unaligned()
            };
            let four = _mm256_set1_epi64x(four);
            sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(four, rows[0]));
            sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(four, rows[1]));
        }
    }
    sums.map(|[first, second]| {
        let pairs = _mm256_hadd_epi32(first, second);
        to_array(_mm256_permute4x64_epi64::<0b11_01_10_00>(pairs))
    })
}

/// Repacks sixteen rows for [`products`] and returns the sum of each.
#[target_feature(enable = "avx2")]
fn lay_out(rows: &[u8], columns: usize, panel: &mut [Line]) -> [i32; ROWS] {
    assert!(
        rows.len() == ROWS * columns && panel.len() * 4 == columns,
        "sixteen rows fit"
    );
    let mut sums = [_mm256_setzero_si256(); 2];
    for (chunk, lines) in panel.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        for (half, sum) in sums.iter_mut().enumerate() {
            let mut square = [_mm256_setzero_si256(); 8];
            for (row, values) in square.iter_mut().enumerate() {
                let position = (half * 8 + row) * columns + chunk * 32;
                // SAFETY: eight lines are 32 columns, which all rows have from here on.
                *values = unsafe { _mm256_loadu_si256(rows.as_ptr().add(position).cast()) };
            }
            for (line, values) in lines.iter_mut().zip(transpose(square)) {
                let pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), values);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
                // SAFETY: a line has 64 bytes, of which these are the first or the last 32.
                unsafe { _mm256_store_si256(line.0.as_mut_ptr().add(half * 32).cast(), values) };
            }
        }
    }
    let mut all = [0; ROWS];
    all[..8].copy_from_slice(&to_array(sums[0]));
    all[8..].copy_from_slice(&to_array(sums[1]));
    all
}

/// Transposes eight rows of eight 32-bit numbers.
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let mut pairs = rows;
    for index in 0..4 {
        pairs[2 * index] = _mm256_unpacklo_epi32(rows[2 * index], rows[2 * index + 1]);
        pairs[2 * index + 1] = _mm256_unpackhi_epi32(rows[2 * index], rows[2 * index + 1]);
    }
    // Columns 0 to 3 (and 4 to 7 in the upper half) of rows 0 to 3, then of rows 4 to 7.
    let mut fours = rows;
    for half in [0, 4] {
        fours[half] = _mm256_unpacklo_epi64(pairs[half], pairs[half + 2]);
        fours[half + 1] = _mm256_unpackhi_epi64(pairs[half], pairs[half + 2]);
        fours[half + 2] = _mm256_unpacklo_epi64(pairs[half + 1], pairs[half + 3]);
        fours[half + 3] = _mm256_unpackhi_epi64(pairs[half + 1], pairs[half + 3]);
    }
    let mut columns = rows;
    for index in 0..4 {
        columns[index] = _mm256_permute2x128_si256::<0x20>(fours[index], fours[index + 4]);
        columns[index + 4] = _mm256_permute2x128_si256::<0x31>(fours[index], fours[index + 4]);
    }
    columns
}

#[target_feature(enable = "avx2")]
fn to_array(vector: __m256i) -> [i32; 8] {
    let mut array = [0; 8];
    // SAFETY: the array has the vector's 32 bytes.
    unsafe { _mm256_storeu_si256(array.as_mut_ptr().cast(), vector) };
    array
}
