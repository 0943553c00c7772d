//! Fast approximate comparison of a vector with stored ones, by their signs.
//!
//! The distance adds up the query's magnitudes, three bits each, where the signs differ. That is one bit count
//! for each of the three, on any processor, and much more precise than the plain Hamming distance.

use super::for_each_level;
use crate::DIMENSIONS;
use crate::cpu::{Isa, SimdLevel};

/// Signs of one vector, one bit each, set for negative numbers.
pub(crate) type Signs = [u8; DIMENSIONS / 8];

const BITS: usize = 3;

/// Maximum magnitude.
const TOP: u8 = (1 << BITS) - 1;

/// Ratio of the maximum magnitude to the mean; larger numbers are clamped: they are few, and finer steps for the others
/// are worth more.
const TOP_OVER_MEAN: f32 = 3.0;

/// Maximum distance.
pub(crate) const MAX_DISTANCE: u16 = 1_792;
const _: () = assert!(MAX_DISTANCE as usize == DIMENSIONS * TOP as usize);

/// Signs and magnitudes of a query, lowest bits first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignQuery {
    signs: Signs,
    magnitudes: [Signs; BITS],
}

impl SignQuery {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "limited to three bits, and NaN becomes 0"
    )]
    pub(crate) fn new(vector: &[f32; DIMENSIONS]) -> Self {
        let mean = vector.iter().map(|value| value.abs()).sum::<f32>() / DIMENSIONS as f32;
        let factor = if mean > 0.0 {
            f32::from(TOP) / (TOP_OVER_MEAN * mean)
        } else {
            0.0
        };
        let levels = vector.map(|value| ((value.abs() * factor).round() as u8).min(TOP));
        Self {
            signs: bits(|index| vector[index].is_sign_negative()),
            magnitudes: std::array::from_fn(|bit| bits(|index| levels[index] >> bit & 1 == 1)),
        }
    }
}

/// Packs one bit per dimension.
pub(crate) fn bits(is_set: impl Fn(usize) -> bool) -> Signs {
    std::array::from_fn(|byte| (0..8).fold(0, |bits, bit| bits | u8::from(is_set(byte * 8 + bit)) << bit))
}

/// Computes the distance of each vector.
pub(crate) fn distances(isa: Isa, query: &SignQuery, signs: &[Signs], distances: &mut [u16]) {
    match isa.level() {
        SimdLevel::Portable => distances_portable(query, signs, distances),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of these levels proves that the processor has AVX2.
        SimdLevel::Avx2 | SimdLevel::Avx512 => unsafe { x86::distances_avx2(query, signs, distances) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level proves that the processor has AVX-512 with BW, VL and VPOPCNTDQ.
        SimdLevel::Avx512Count => unsafe { x86::distances_avx512(query, signs, distances) },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most MAX_DISTANCE")]
fn distances_portable(query: &SignQuery, signs: &[Signs], distances: &mut [u16]) {
    let words = |bytes: &Signs| -> [u64; DIMENSIONS / 64] {
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|index| u64::from_le_bytes(words[index]))
    };
    let query_signs = words(&query.signs);
    let magnitudes = query.magnitudes.each_ref().map(words);
    for (signs, distance) in signs.iter().zip(distances) {
        let signs = words(signs);
        let mut sum = 0;
        for word in 0..DIMENSIONS / 64 {
            let differ = signs[word] ^ query_signs[word];
            for (bit, magnitudes) in magnitudes.iter().enumerate() {
                sum += (differ & magnitudes[word]).count_ones() << bit;
            }
        }
        *distance = sum as u16;
    }
}

for_each_level! {
    /// Appends the positions with a distance from `from` to `to`.
    fn positions_between(distances: &[u16], from: u16, to: u16, positions: &mut Vec<u32>) = positions_between_body
}

#[inline(always)]
fn positions_between_body<const FUSED: bool>(
    distances: &[u16],
    from: u16,
    to: u16,
    positions: &mut Vec<u32>,
) {
    let width = to - from;
    for (chunk, position) in distances.chunks(32).zip((0_u32..).step_by(32)) {
        // Most chunks have none, which is a cheap check.
        let least = chunk
            .iter()
            .fold(u16::MAX, |least, distance| least.min(distance.wrapping_sub(from)));
        if least <= width {
            let near = chunk
                .iter()
                .zip(position..)
                .filter(|(distance, _)| distance.wrapping_sub(from) <= width);
            positions.extend(near.map(|(_, position)| position));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BITS, SignQuery, Signs};

    /// Processes eight vectors at a time, two in each register.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
    pub(super) fn distances_avx512(query: &SignQuery, signs: &[Signs], distances: &mut [u16]) {
        // SAFETY: both have 32 bytes.
        let twice =
            |bits: &Signs| unsafe { _mm512_broadcast_i64x4(_mm256_loadu_si256(bits.as_ptr().cast())) };
        let query_signs = twice(&query.signs);
        let magnitudes = [0, 1, 2].map(|bit| twice(&query.magnitudes[bit]));
        let (eights, rest) = signs.as_chunks::<8>();
        let (outputs, _) = distances.as_chunks_mut::<8>();
        for (eight, output) in eights.iter().zip(outputs) {
            let [a, b, c, d] = [0, 2, 4, 6].map(|first| {
                // SAFETY: two neighbors of the eight, 64 bytes.
                let pair = unsafe { _mm512_loadu_si512(eight.as_ptr().add(first).cast()) };
                let differ = _mm512_xor_si512(pair, query_signs);
                let mut sum = _mm512_setzero_si512();
                for bit in (0..BITS).rev() {
                    let count = _mm512_popcnt_epi64(_mm512_and_si512(differ, magnitudes[bit]));
                    sum = _mm512_add_epi64(_mm512_add_epi64(sum, sum), count);
                }
                sum
            });
            // Each register has four sums for each of two vectors. Added up in pairs, then in fours.
            let ab = _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
            let cd = _mm512_add_epi64(_mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d));
            let fours = _mm512_add_epi64(
                _mm512_shuffle_i64x2::<0x88>(ab, cd),
                _mm512_shuffle_i64x2::<0xdd>(ab, cd),
            );
            // The first of a, of b, the second of a, of b, then the same of c and d.
            let order = _mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7);
            let sums = _mm512_cvtepi64_epi16(_mm512_permutexvar_epi64(order, fours));
            // SAFETY: eight 16-bit numbers.
            unsafe { _mm_storeu_si128(output.as_mut_ptr().cast(), sums) };
        }
        let done = eights.len() * 8;
        super::distances_portable(query, rest, &mut distances[done..]);
    }

    /// Processes one vector at a time. Bits are counted by table lookup of nibbles; three counts, doubled in between, still
    /// fit into a byte.
    #[target_feature(enable = "avx2")]
    #[expect(clippy::cast_possible_truncation, reason = "at most MAX_DISTANCE")]
    pub(super) fn distances_avx2(query: &SignQuery, signs: &[Signs], distances: &mut [u16]) {
        // SAFETY: both have 32 bytes.
        let load = |bits: &Signs| unsafe { _mm256_loadu_si256(bits.as_ptr().cast()) };
        let query_signs = load(&query.signs);
        let magnitudes = [0, 1, 2].map(|bit| load(&query.magnitudes[bit]));
        let low_half = _mm256_set1_epi8(15);
        let counts =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        for (signs, distance) in signs.iter().zip(distances) {
            let differ = _mm256_xor_si256(load(signs), query_signs);
            let mut sums = _mm256_setzero_si256();
            for bit in (0..BITS).rev() {
                let set = _mm256_and_si256(differ, magnitudes[bit]);
                let low = _mm256_shuffle_epi8(counts, _mm256_and_si256(set, low_half));
                let high =
                    _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16::<4>(set), low_half));
                sums = _mm256_add_epi8(_mm256_add_epi8(sums, sums), _mm256_add_epi8(low, high));
            }
            let fours = _mm256_sad_epu8(sums, _mm256_setzero_si256());
            let pairs = _mm_add_epi64(
                _mm256_castsi256_si128(fours),
                _mm256_extracti128_si256::<1>(fours),
            );
            let sum = _mm_add_epi64(pairs, _mm_unpackhi_epi64(pairs, pairs));
            *distance = _mm_cvtsi128_si32(sum) as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kernels_compute_the_same_distances() {
        let vector = std::array::from_fn(|index| (index as f32 * 0.7).sin() / 16.0);
        let query = SignQuery::new(&vector);
        let signs: Vec<Signs> = (0..37_usize)
            .map(|vector| bits(|index| (index * 31 + vector * vector * 17) % 7 < 3))
            .collect();
        for isa in Isa::available() {
            let mut found = vec![u16::MAX; signs.len()];
            distances(isa, &query, &signs, &mut found);
            let mut expected = vec![u16::MAX; signs.len()];
            distances_portable(&query, &signs, &mut expected);
            assert_eq!(found, expected, "{isa:?}");
        }
    }

    #[test]
    fn the_distance_is_zero_to_own_signs_and_maximal_to_the_opposite() {
        let vector = std::array::from_fn(|index| if index % 3 == 0 { -1.0 } else { 1.0 });
        let query = SignQuery::new(&vector);
        let same = bits(|index| index % 3 == 0);
        let mut found = [0; 2];
        distances(Isa::best(), &query, &[same, same.map(|byte| !byte)], &mut found);
        // All numbers equal the mean, which is a third of the maximum magnitude.
        assert_eq!(found, [0, 256 * 2]);
    }
}
