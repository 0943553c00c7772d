//! Storage format of vectors: one byte per number, one scale, and the signs separately.

use crate::DIMENSIONS;
use crate::kernels::bits;

/// Size of the signs of one vector, in bytes.
pub const SIGN_BYTES: usize = DIMENSIONS / 8;

/// Quantized vector, a fourth of the size: number `i` is `bytes[i]`, as a signed byte, times `scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantized {
    /// Two's complement.
    pub bytes: [u8; DIMENSIONS],
    /// Value of 1.
    pub scale: f32,
}

/// Quantizes a vector: the largest absolute value becomes 127 or -127.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are scaled to fit, and NaN becomes 0"
)]
pub fn quantize(vector: &[f32; DIMENSIONS]) -> Quantized {
    let greatest = vector
        .iter()
        .fold(0.0_f32, |greatest, value| greatest.max(value.abs()));
    let factor = if greatest > 0.0 { 127.0 / greatest } else { 0.0 };
    Quantized {
        bytes: vector.map(|value| ((value * factor).round() as i8).cast_unsigned()),
        scale: greatest / 127.0,
    }
}

/// Packs the signs of a rotated vector: bit `i % 8` of byte `i / 8` is set if number `i` is negative after the rotation.
pub fn sign_bits(vector: &[f32; DIMENSIONS]) -> [u8; SIGN_BYTES] {
    let rotated = rotated(vector);
    bits(|index| rotated[index].is_sign_negative())
}

/// Rotates a vector, all vectors in the same way, which preserves angles.
///
/// A few numbers of an encoder are large for every text, so that their signs carry no information. After the rotation
/// each number is a mix of all of them, and fewer candidates are needed for the same recall.
pub(crate) fn rotated(vector: &[f32; DIMENSIONS]) -> [f32; DIMENSIONS] {
    let mut mixed = *vector;
    for (index, value) in (0..).zip(&mut mixed) {
        if is_flipped(index) {
            *value = -*value;
        }
    }
    // Fast Walsh-Hadamard transform: sums and differences of all pairs at distance 1, 2, 4 and so on.
    let mut half = 1;
    while half < DIMENSIONS {
        for pair in mixed.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    mixed
}

/// Returns a pseudo-random bit. Without random flips the transform would preserve regularities. Stored signs depend on it.
fn is_flipped(index: u32) -> bool {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b1);
    (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 31 == 1
}

impl Quantized {
    /// Returns the dot product with another vector: their cosine similarity, because both have length 1.
    pub fn dot(&self, other: &Self) -> f32 {
        let sum: i32 = self
            .bytes
            .iter()
            .zip(&other.bytes)
            .map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed()))
            .sum();
        sum as f32 * self.scale * other.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(step: f32) -> [f32; DIMENSIONS] {
        let vector: [f32; DIMENSIONS] = std::array::from_fn(|index| (index as f32 * step).sin());
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.map(|value| value / length)
    }

    fn product(a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn stored_vectors_have_nearly_the_same_angle() {
        let (a, b) = (vector(0.7), vector(0.71));
        let stored = quantize(&a).dot(&quantize(&b));
        assert!(
            (stored - product(&a, &b)).abs() < 0.003,
            "{stored} is not {}",
            product(&a, &b)
        );
        assert!((quantize(&a).dot(&quantize(&a)) - 1.0).abs() < 0.003);
    }

    #[test]
    fn any_vector_can_be_stored() {
        assert_eq!(quantize(&[0.0; DIMENSIONS]).bytes, [0; DIMENSIONS]);
        let odd = quantize(&std::array::from_fn(
            |index| if index == 3 { f32::NAN } else { 2.0 },
        ));
        assert_eq!((odd.bytes[3], odd.bytes[4]), (0, 127));
        assert_eq!(sign_bits(&[f32::NAN; DIMENSIONS]).len(), SIGN_BYTES);
    }

    #[test]
    fn rotation_preserves_angles() {
        let (a, b) = (vector(0.7), vector(0.71));
        let product_after = product(&rotated(&a), &rotated(&b)) / DIMENSIONS as f32;
        assert!((product_after - product(&a, &b)).abs() < 1e-5);
    }

    /// Files contain these bits: a change requires a new format name.
    #[test]
    fn sign_bits_are_stable() {
        let signs = sign_bits(&std::array::from_fn(|index| (index * 37 % 101) as f32 - 49.5));
        assert_eq!(signs[..8], [249, 243, 52, 86, 241, 129, 34, 83]);
    }
}
