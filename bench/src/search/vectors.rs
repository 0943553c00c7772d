//! Synthetic vectors for more memories than can be embedded in reasonable time: those of the first ones, with noise.
//!
//! The file format is that of `crates/recall/src/vector_file.rs`; keep both in step.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use backstory_embed::{DIMENSIONS, MODEL, Quantized, SIGN_BYTES, quantize, sign_bits};
use rusqlite::Connection;

use crate::random::Random;

const HEAD: usize = 64;
const MAGIC: &[u8; 8] = b"BSVEC\0\0\x01";

/// Reads the vectors that the product computed, in the order of the memories.
pub(super) fn read(path: &Path) -> Result<Vec<Quantized>> {
    let file = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    let count = file.get(8..16).context("the vector file has no header")?;
    let count = usize::try_from(u64::from_le_bytes(count.try_into()?))?;
    ensure!(
        file[..HEAD] == head(count),
        "the vector file has another format than the benchmark expects"
    );
    let scales = HEAD + 8 * count;
    let bytes = scales + (4 + SIGN_BYTES) * count;
    (0..count)
        .map(|index| {
            let scale = scales + 4 * index;
            let start = bytes + DIMENSIONS * index;
            Ok(Quantized {
                scale: f32::from_le_bytes(file[scale..scale + 4].try_into()?),
                bytes: file[start..start + DIMENSIONS].try_into()?,
            })
        })
        .collect()
}

/// Writes a vector for every document of a database.
pub(super) fn write(path: &Path, database: &Path, real: &[Quantized]) -> Result<()> {
    let connection = Connection::open(database)?;
    let documents: Vec<i64> = connection
        .prepare("select id from document order by id")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut random = Random::new(13);
    let mut blocks = [Vec::new(), Vec::new(), Vec::new()];
    for index in 0..documents.len() {
        let vector = match real.get(index) {
            Some(real) => *real,
            None => noisy(&real[index % real.len()], &mut random),
        };
        blocks[0].extend(vector.scale.to_le_bytes());
        blocks[1].extend(sign_bits(&numbers(&vector)));
        blocks[2].extend(vector.bytes);
    }
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&head(documents.len()))?;
    for document in &documents {
        out.write_all(&document.to_le_bytes())?;
    }
    for block in &blocks {
        out.write_all(block)?;
    }
    out.into_inner()?.sync_all()?;
    connection.execute("update document set embedded = 1", [])?;
    connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
    Ok(())
}

fn numbers(vector: &Quantized) -> [f32; DIMENSIONS] {
    vector.bytes.map(|byte| f32::from(byte.cast_signed()))
}

/// Returns a similar vector, at a cosine of about 0.85.
fn noisy(vector: &Quantized, random: &mut Random) -> Quantized {
    const MAX_NOISE: u16 = 80;
    let mut moved = numbers(vector);
    for number in &mut moved {
        let noise = u16::try_from(random.below(usize::from(MAX_NOISE) + 1)).unwrap_or(0);
        *number += f32::from(noise) - f32::from(MAX_NOISE / 2);
    }
    let length = moved.iter().map(|number| number * number).sum::<f32>().sqrt();
    quantize(&moved.map(|number| number / length))
}

fn head(count: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&(count as u64).to_le_bytes());
    head[16..16 + MODEL.len()].copy_from_slice(MODEL.as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_vector_is_similar_and_has_unit_length() {
        let mut random = Random::new(1);
        let mut numbers = [0.0; DIMENSIONS];
        for number in &mut numbers {
            *number = f32::from(u8::try_from(random.below(200)).unwrap()) - 100.0;
        }
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        let one = quantize(&numbers.map(|number| number / length));
        let other = noisy(&one, &mut random);
        assert!((other.dot(&other) - 1.0).abs() < 0.02);
        assert!((0.7..0.98).contains(&one.dot(&other)), "{}", one.dot(&other));
    }
}
