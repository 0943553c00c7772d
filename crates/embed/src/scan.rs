//! Search among stored vectors: exact, with a fast pre-selection by signs when there are many.

use crate::DIMENSIONS;
use crate::cpu::Isa;
use crate::kernels::{MAX_DISTANCE, SignQuery, WordQuery, distances, dots, positions_between};
use crate::quantized::{SIGN_BYTES, rotated};

/// Stored vectors, as three blocks of a mapped file: `as_chunks` converts its bytes.
///
/// If the blocks differ in length, the shortest counts: a file may be read while it grows.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'file> {
    /// The signs of each vector, from [`sign_bits`](crate::sign_bits).
    pub signs: &'file [[u8; SIGN_BYTES]],
    /// The bytes of each vector, from [`quantize`](crate::quantize).
    pub bytes: &'file [[u8; DIMENSIONS]],
    /// The scale of each vector as a little-endian number, from [`quantize`](crate::quantize).
    pub scales: &'file [[u8; 4]],
}

/// Returns the `wanted` vectors most similar to `query` among those that `keep` accepts, best first, each with its
/// position and cosine similarity.
///
/// `keep` is called at most twice per vector: when it accepts many, only for those with similar signs.
pub fn nearest(
    query: &[f32; DIMENSIONS],
    stored: Stored<'_>,
    wanted: usize,
    keep: impl Fn(usize) -> bool,
) -> Vec<(usize, f32)> {
    let search = Search {
        isa: Isa::best(),
        few: FEW,
    };
    search.nearest(query, stored, wanted, keep)
}

/// Maximum number of eligible vectors for which all are compared exactly.
const FEW: usize = 60_000;

/// Number of candidates by sign that are compared exactly. Of a million vectors of developers' texts, 99.5 to 99.8 % of
/// the true best fifty were found with these (99.8 % of the best ten), and 98.8 % with a third of them.
const CANDIDATES: usize = 3_000;

/// Minimum number of candidates per wanted vector.
const CANDIDATES_PER_RESULT: usize = 20;

/// Signs are compared in blocks whose distances stay in the L1 cache until they are counted.
const BLOCK: usize = 4_096;

/// Search parameters: fixed except in tests, which try all code paths.
struct Search {
    isa: Isa,
    few: usize,
}

impl Search {
    fn nearest(
        &self,
        query: &[f32; DIMENSIONS],
        stored: Stored<'_>,
        wanted: usize,
        keep: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let count = stored
            .signs
            .len()
            .min(stored.bytes.len())
            .min(stored.scales.len());
        let positions = if expected(count, &keep) <= self.few {
            (0_u32..)
                .take(count)
                .filter(|position| keep(*position as usize))
                .collect()
        } else {
            let enough = CANDIDATES.max(wanted.saturating_mul(CANDIDATES_PER_RESULT));
            self.candidates(query, &stored.signs[..count], enough, keep)
        };
        let query = WordQuery::new(query);
        let mut products = Vec::with_capacity(positions.len());
        dots(self.isa, &query, stored.bytes, &positions, &mut products);
        let scored = positions.iter().zip(products).map(|(position, product)| {
            let position = *position as usize;
            (
                position,
                product as f32 * query.step * f32::from_le_bytes(stored.scales[position]),
            )
        });
        best(scored.collect(), wanted)
    }

    /// Lists the positions of at least `enough` vectors with the most similar signs.
    fn candidates(
        &self,
        query: &[f32; DIMENSIONS],
        signs: &[[u8; SIGN_BYTES]],
        enough: usize,
        keep: impl Fn(usize) -> bool,
    ) -> Vec<u32> {
        let query = SignQuery::new(&rotated(query));
        let mut all = vec![0; signs.len()];
        let mut counts = [0_u32; MAX_DISTANCE as usize + 1];
        for (signs, block) in signs.chunks(BLOCK).zip(all.chunks_mut(BLOCK)) {
            distances(self.isa, &query, signs, block);
            for distance in block {
                counts[usize::from(*distance)] += 1;
            }
        }
        let mut kept = Vec::new();
        let mut positions = Vec::new();
        let mut next = Some(0);
        let mut step = enough;
        // Outwards ring by ring, because the number that `keep` accepts is unknown; each ring is larger than the last,
        // because each costs a pass over all distances.
        while let Some(from) = next.filter(|_| kept.len() < enough) {
            let to = ring_end(&counts, from, step);
            positions.clear();
            positions_between(self.isa, &all, from, to, &mut positions);
            kept.extend(
                positions
                    .iter()
                    .copied()
                    .filter(|position| keep(*position as usize)),
            );
            next = (to < MAX_DISTANCE).then(|| to + 1);
            step = step.saturating_mul(4);
        }
        kept
    }
}

/// Estimates the number of vectors that `keep` accepts.
///
/// If they are few, comparing all of them is cheaper than scanning their neighbors' signs.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share of `count` is no greater than it"
)]
fn expected(count: usize, keep: impl Fn(usize) -> bool) -> usize {
    const SAMPLES: u32 = 512;
    if count <= SAMPLES as usize {
        return count;
    }
    // Multiples of the golden ratio: evenly spread, without resonating with patterns in the positions.
    let accepted = (1..=SAMPLES)
        .filter(|sample| {
            let share = f64::from(sample.wrapping_mul(0x9e37_79b1)) / f64::from(u32::MAX);
            keep(((share * count as f64) as usize).min(count - 1))
        })
        .count();
    accepted * count / SAMPLES as usize
}

/// Returns the minimum distance up to which there are `wanted` vectors, starting at `from`.
fn ring_end(counts: &[u32], from: u16, wanted: usize) -> u16 {
    let mut seen = 0;
    (from..MAX_DISTANCE)
        .find(|distance| {
            seen += counts[usize::from(*distance)] as usize;
            seen >= wanted
        })
        .unwrap_or(MAX_DISTANCE)
}

/// Returns the highest scores in descending order; ties keep the stored order.
fn best(mut scored: Vec<(usize, f32)>, wanted: usize) -> Vec<(usize, f32)> {
    let order = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if wanted < scored.len() {
        scored.select_nth_unstable_by(wanted, order);
        scored.truncate(wanted);
    }
    scored.sort_unstable_by(order);
    scored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quantized, quantize, sign_bits};

    struct File {
        signs: Vec<[u8; SIGN_BYTES]>,
        bytes: Vec<[u8; DIMENSIONS]>,
        scales: Vec<[u8; 4]>,
    }

    impl File {
        fn new(vectors: &[[f32; DIMENSIONS]]) -> Self {
            let quantized: Vec<Quantized> = vectors.iter().map(quantize).collect();
            Self {
                signs: vectors.iter().map(sign_bits).collect(),
                bytes: quantized.iter().map(|vector| vector.bytes).collect(),
                scales: quantized
                    .iter()
                    .map(|vector| vector.scale.to_le_bytes())
                    .collect(),
            }
        }

        fn stored(&self) -> Stored<'_> {
            Stored {
                signs: &self.signs,
                bytes: &self.bytes,
                scales: &self.scales,
            }
        }
    }

    /// Returns unit vectors in loose clusters of forty with a common direction, as vectors of texts have.
    fn vectors(count: usize) -> Vec<[f32; DIMENSIONS]> {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let shared: [f32; DIMENSIONS] = std::array::from_fn(|_| random());
        let mut center = shared;
        (0..count)
            .map(|index| {
                if index % 40 == 0 {
                    center = shared.map(|value| value * 0.3 + random());
                }
                let vector = center.map(|value| value + random());
                let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
                vector.map(|value| value / length)
            })
            .collect()
    }

    fn search(isa: Isa, few: usize) -> Search {
        Search { isa, few }
    }

    #[test]
    fn all_kernels_and_code_paths_find_the_same() {
        let vectors = vectors(9_000);
        let file = File::new(&vectors);
        for few in [0, usize::MAX] {
            let mut answers = Isa::available().map(|isa| {
                search(isa, few).nearest(&vectors[77], file.stored(), 20, |position| position % 5 != 0)
            });
            let expected = answers.next().unwrap();
            assert_eq!(expected[0].0, 77);
            assert!((expected[0].1 - 1.0).abs() < 0.01);
            for answer in answers {
                assert_eq!(answer, expected);
            }
        }
    }

    #[test]
    fn the_preselection_finds_99_percent() {
        let vectors = vectors(100_000);
        let file = File::new(&vectors);
        let (mut same, mut all) = (0, 0);
        for query in vectors.iter().step_by(5_003) {
            let exact = search(Isa::best(), usize::MAX).nearest(query, file.stored(), 50, |_| true);
            let quick = search(Isa::best(), 0).nearest(query, file.stored(), 50, |_| true);
            all += exact.len();
            same += exact.iter().filter(|found| quick.contains(found)).count();
        }
        assert!(same * 100 >= all * 99, "{same} of {all}");
    }

    #[test]
    fn a_narrow_filter_finds_all_matches() {
        let vectors = vectors(9_000);
        let file = File::new(&vectors);
        let query = vectors[4_000].map(|value| -value);
        for few in [0, usize::MAX] {
            let found =
                search(Isa::best(), few).nearest(&query, file.stored(), 50, |position| position % 1_000 == 0);
            let mut positions: Vec<usize> = found.iter().map(|(position, _)| *position).collect();
            positions.sort_unstable();
            assert_eq!(
                positions,
                [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000]
            );
        }
    }

    #[test]
    fn an_empty_search_finds_nothing() {
        let vectors = vectors(3);
        let file = File::new(&vectors);
        let empty = Stored {
            scales: &[],
            ..file.stored()
        };
        assert!(nearest(&vectors[0], empty, 5, |_| true).is_empty());
        assert!(nearest(&vectors[0], file.stored(), 0, |_| true).is_empty());
        assert_eq!(nearest(&vectors[0], file.stored(), 5, |_| true).len(), 3);
        assert!(
            search(Isa::best(), 0)
                .nearest(&vectors[0], file.stored(), usize::MAX, |_| false)
                .is_empty()
        );
    }
}
