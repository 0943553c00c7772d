//! Matrix multiplication with AVX-512 VNNI: bytes, up to eight tokens and sixteen rows at a time.

use std::arch::x86_64::*;

use super::tile::{Line, ROWS, Scaling};
use crate::kernels::activations::Range;
use crate::kernels::{Activations, TOKEN_GROUP};
use crate::weights::Matrix;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn linear(input: &Activations, matrix: &Matrix, panel: &mut Vec<Line>, output: &mut [f32]) {
    panel.resize(matrix.columns / 4, Line([0; 4 * ROWS]));
    /// Tokens per pass: enough to hide the latency of a multiplication, with registers to spare.
    const TOKENS_PER_PASS: usize = 2 * TOKEN_GROUP;
    for (block, rows) in matrix.values.chunks_exact(ROWS * matrix.columns).enumerate() {
        let sums = lay_out(rows, matrix.columns, panel);
        let block = Block {
            panel,
            scaling: Scaling::new(matrix, block * ROWS, &sums),
            first_row: block * ROWS,
            stride: matrix.rows(),
        };
        let mut first = 0;
        while first + TOKENS_PER_PASS <= input.tokens() {
            block.multiply::<TOKENS_PER_PASS>(input, first, output);
            first += TOKENS_PER_PASS;
        }
        if first < input.tokens() {
            block.multiply::<TOKEN_GROUP>(input, first, output);
        }
    }
}

struct Block<'panel> {
    panel: &'panel [Line],
    scaling: Scaling,
    first_row: usize,
    stride: usize,
}

impl Block<'_> {
    /// Computes the results of `TOKENS` tokens, starting at `first`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn multiply<const TOKENS: usize>(&self, input: &Activations, first: usize, output: &mut [f32]) {
        let columns = input.columns;
        let position = first * columns..(first + TOKENS) * columns;
        let mut sums = [_mm512_setzero_si512(); TOKENS];
        if !input.high.is_empty() {
            add_products(&mut sums, &input.high[position.clone()], self.panel);
            sums = sums.map(|sum| _mm512_slli_epi32::<8>(sum));
        }
        add_products(&mut sums, &input.low[position], self.panel);
        for (token, sum) in sums.into_iter().enumerate() {
            let range: Range = input.ranges[first + token];
            let output = &mut output[(first + token) * self.stride + self.first_row..];
            self.scaling.apply(&to_array(sum), range, output);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn add_products<const TOKENS: usize>(sums: &mut [__m512i; TOKENS], bytes: &[u8], panel: &[Line]) {
    let columns = bytes.len() / TOKENS;
    assert!(panel.len() * 4 == columns, "a line for four columns");
    for (group, line) in panel.iter().enumerate() {
        // SAFETY: a line has 64 bytes and is aligned to 64.
        let rows = unsafe { _mm512_load_si512(line.0.as_ptr().cast()) };
        for (token, sum) in sums.iter_mut().enumerate() {
            // SAFETY: four bytes from a column that is a multiple of four, in a row of `columns`.
            let four = unsafe {
                bytes
                    .as_ptr()
                    .add(token * columns + 4 * group)
                    .cast::<i32>()
                    .read_unaligned()
            };
            *sum = _mm512_dpbusd_epi32(*sum, _mm512_set1_epi32(four), rows);
        }
    }
}

/// Repacks sixteen rows for [`add_products`] and returns the sum of each.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn lay_out(rows: &[u8], columns: usize, panel: &mut [Line]) -> [i32; ROWS] {
    assert!(
        rows.len() == ROWS * columns && panel.len() * 4 == columns,
        "sixteen rows fit"
    );
    let mut sums = _mm512_setzero_si512();
    for (chunk, lines) in panel.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
        let mut square = [_mm512_setzero_si512(); ROWS];
        for (row, values) in square.iter_mut().enumerate() {
            // SAFETY: sixteen lines are 64 columns, which all rows have from here on.
            *values = unsafe { _mm512_loadu_si512(rows.as_ptr().add(row * columns + chunk * 64).cast()) };
        }
        for (line, values) in lines.iter_mut().zip(transpose(square)) {
            sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), values);
            // SAFETY: a line has 64 bytes and is aligned to 64.
            unsafe { _mm512_store_si512(line.0.as_mut_ptr().cast(), values) };
        }
    }
    to_array(sums)
}

/// Transposes sixteen rows of sixteen 32-bit numbers.
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; ROWS]) -> [__m512i; ROWS] {
    let mut pairs = rows;
    for index in (0..ROWS).step_by(2) {
        pairs[index] = _mm512_unpacklo_epi32(rows[index], rows[index + 1]);
        pairs[index + 1] = _mm512_unpackhi_epi32(rows[index], rows[index + 1]);
    }
    // Each quarter of `fours[4 * i + c]` has one column (c, c + 4, c + 8, c + 12) of the rows 4 * i to 4 * i + 3.
    let mut fours = rows;
    for index in (0..ROWS).step_by(4) {
        fours[index] = _mm512_unpacklo_epi64(pairs[index], pairs[index + 2]);
        fours[index + 1] = _mm512_unpackhi_epi64(pairs[index], pairs[index + 2]);
        fours[index + 2] = _mm512_unpacklo_epi64(pairs[index + 1], pairs[index + 3]);
        fours[index + 3] = _mm512_unpackhi_epi64(pairs[index + 1], pairs[index + 3]);
    }
    let mut columns = rows;
    for column in 0..4 {
        let [a, b, c, d] = [0, 4, 8, 12].map(|first| fours[first + column]);
        let (even_ab, odd_ab) = (
            _mm512_shuffle_i32x4::<0x88>(a, b),
            _mm512_shuffle_i32x4::<0xdd>(a, b),
        );
        let (even_cd, odd_cd) = (
            _mm512_shuffle_i32x4::<0x88>(c, d),
            _mm512_shuffle_i32x4::<0xdd>(c, d),
        );
        columns[column] = _mm512_shuffle_i32x4::<0x88>(even_ab, even_cd);
        columns[column + 4] = _mm512_shuffle_i32x4::<0x88>(odd_ab, odd_cd);
        columns[column + 8] = _mm512_shuffle_i32x4::<0xdd>(even_ab, even_cd);
        columns[column + 12] = _mm512_shuffle_i32x4::<0xdd>(odd_ab, odd_cd);
    }
    columns
}

#[target_feature(enable = "avx512f")]
fn to_array(vector: __m512i) -> [i32; ROWS] {
    let mut array = [0; ROWS];
    // SAFETY: the array has the vector's 64 bytes.
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), vector) };
    array
}
