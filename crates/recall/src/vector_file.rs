//! The vector file next to the database: written by the worker, mapped by searches.
//!
//! Four blocks after a header: document numbers in order, scales, signs, bytes. Replaced as a whole by
//! a rename, so that a reader sees a consistent state. Entries of deleted documents are ignored.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    ops::{Range, RangeInclusive},
    path::Path,
};

use backstory_embed::{DIMENSIONS, MODEL, SIGN_BYTES, Stored, sign_bits};
use backstory_model::DocumentId;
use backstory_store::StoredVector;
use backstory_system::{self as system, MappedFile, OwnerOnly as _, write_all_at};

const HEAD: usize = 64;
const MAGIC: &[u8; 8] = b"BSVEC\0\0\x01";

/// Mapped vectors of most memories.
#[derive(Debug)]
pub(crate) struct VectorFile {
    mapped: MappedFile,
    count: usize,
}

impl VectorFile {
    /// Opens the file; `None` if there is none, or none that this version can read.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let mapped = MappedFile::new(&File::open(path).ok()?).ok()?;
        let count = read_head(&mapped)?;
        (mapped.len() >= size(count)).then_some(Self { mapped, count })
    }

    /// Returns the document numbers, in order.
    pub(crate) fn documents(&self) -> impl ExactSizeIterator<Item = DocumentId> + '_ {
        self.block::<8>(0).iter().map(id)
    }

    /// Returns the positions of the documents in a range.
    pub(crate) fn positions(&self, range: &RangeInclusive<DocumentId>) -> Range<usize> {
        let documents = self.block::<8>(0);
        let start = documents.partition_point(|bytes| id(bytes) < *range.start());
        let end = documents.partition_point(|bytes| id(bytes) <= *range.end());
        start..end.max(start)
    }

    /// Returns the vectors at some positions.
    pub(crate) fn stored(&self, positions: Range<usize>) -> Stored<'_> {
        Stored {
            scales: &self.block(8)[positions.clone()],
            signs: &self.block(8 + 4)[positions.clone()],
            bytes: &self.block(8 + 4 + SIGN_BYTES)[positions],
        }
    }

    /// Returns the document number at a position.
    pub(crate) fn document(&self, position: usize) -> DocumentId {
        id(&self.block::<8>(0)[position])
    }

    fn vector(&self, position: usize) -> StoredVector {
        let stored = self.stored(position..position + 1);
        StoredVector {
            document: self.document(position),
            scale: f32::from_le_bytes(stored.scales[0]),
            bytes: stored.bytes[0].to_vec(),
        }
    }

    /// Returns the block that starts after `bytes_before` bytes per document.
    fn block<const SIZE: usize>(&self, bytes_before: usize) -> &[[u8; SIZE]] {
        let start = HEAD + bytes_before * self.count;
        self.mapped[start..start + SIZE * self.count].as_chunks().0
    }
}

fn id(bytes: &[u8; 8]) -> DocumentId {
    DocumentId::new(i64::from_le_bytes(*bytes))
}

/// Waits for exclusive access to the file. Held while it is rewritten or zeroed: otherwise a forgotten vector that was read
/// before could be written after.
pub(crate) fn lock_exclusive(path: &Path) -> io::Result<File> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .private()
        .open(path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Zeroes the vectors of forgotten documents in place; the next rewrite drops them.
pub fn zero_vectors(path: &Path, documents: &[DocumentId]) -> io::Result<()> {
    if documents.is_empty() || !path.exists() {
        return Ok(());
    }
    let _alone = lock_exclusive(path)?;
    let Some(vectors) = VectorFile::open(path) else {
        return Ok(());
    };
    let file = OpenOptions::new().write(true).open(path)?;
    for document in documents {
        for position in vectors.positions(&(*document..=*document)) {
            for (bytes_before, length) in [(8, 4), (8 + 4, SIGN_BYTES), (8 + 4 + SIGN_BYTES, DIMENSIONS)] {
                let at = HEAD + bytes_before * vectors.count + length * position;
                write_all_at(&file, &vec![0; length], at as u64)?;
            }
        }
    }
    file.sync_data()
}

/// Rewrites the file: keeps the vectors of `documents`, which are in order, and adds `fresh` ones, which take precedence.
/// Returns the documents whose vectors are missing.
pub(crate) fn write(
    path: &Path,
    documents: &[DocumentId],
    fresh: &[StoredVector],
) -> io::Result<Vec<DocumentId>> {
    let old = VectorFile::open(path);
    let mut vectors = Vec::with_capacity(documents.len());
    let mut lost = Vec::new();
    for document in documents {
        let is_fresh = fresh.binary_search_by_key(document, |vector| vector.document);
        let filed = old.as_ref().and_then(|old| {
            Some(Source::Filed(
                old,
                old.positions(&(*document..=*document)).next()?,
            ))
        });
        match (is_fresh, filed) {
            (Ok(index), _) => vectors.push(Source::Fresh(&fresh[index])),
            (Err(_), Some(filed)) => vectors.push(filed),
            (Err(_), None) => lost.push(*document),
        }
    }
    // The worker and a command may write at the same time.
    let unfinished = path.with_extension(format!("{}.new", std::process::id()));
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(&unfinished)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let read = |source: &Source<'_>| match source {
        Source::Filed(file, position) => file.vector(*position),
        Source::Fresh(vector) => (*vector).clone(),
    };
    out.write_all(&head(vectors.len()))?;
    for source in &vectors {
        out.write_all(&read(source).document.get().to_le_bytes())?;
    }
    for source in &vectors {
        out.write_all(&read(source).scale.to_le_bytes())?;
    }
    for source in &vectors {
        out.write_all(&signs(&read(source)))?;
    }
    for source in &vectors {
        out.write_all(&whole(&read(source).bytes))?;
    }
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_data()?;
    system::rename(unfinished, path)?;
    Ok(lost)
}

enum Source<'v> {
    Filed(&'v VectorFile, usize),
    Fresh(&'v StoredVector),
}

fn signs(vector: &StoredVector) -> [u8; SIGN_BYTES] {
    sign_bits(&whole(&vector.bytes).map(|byte| f32::from(byte.cast_signed())))
}

/// Returns the bytes of a row; a damaged one becomes zero, which is similar to nothing.
fn whole(bytes: &[u8]) -> [u8; DIMENSIONS] {
    bytes.try_into().unwrap_or([0; DIMENSIONS])
}

fn head(count: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&(count as u64).to_le_bytes());
    head[16..16 + MODEL.len()].copy_from_slice(MODEL.as_bytes());
    head
}

/// Returns the number of vectors in a file; `None` if it is not a vector file of this encoder.
fn read_head(bytes: &[u8]) -> Option<usize> {
    let count = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    let count = usize::try_from(count).ok().filter(|count| *count < 1 << 40)?;
    (bytes.get(..HEAD)? == head(count)).then_some(count)
}

fn size(count: usize) -> usize {
    HEAD + count * (8 + 4 + SIGN_BYTES + DIMENSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(document: i64, byte: u8) -> StoredVector {
        StoredVector {
            document: DocumentId::new(document),
            scale: 0.5,
            bytes: vec![byte; DIMENSIONS],
        }
    }

    fn ids<const N: usize>(numbers: [i64; N]) -> [DocumentId; N] {
        numbers.map(DocumentId::new)
    }

    fn contents(path: &Path) -> Vec<(i64, u8)> {
        let file = VectorFile::open(path).unwrap();
        (0..file.count)
            .map(|position| (file.document(position).get(), file.vector(position).bytes[0]))
            .collect()
    }

    #[test]
    fn a_rewrite_keeps_old_vectors_adds_fresh_ones_and_reports_missing_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors");
        assert_eq!(
            write(&path, &ids([1, 3, 9]), &[vector(1, 10), vector(3, 30)]).unwrap(),
            ids([9])
        );
        assert_eq!(contents(&path), [(1, 10), (3, 30)]);
        // 1 was forgotten, 3 embedded again.
        assert_eq!(
            write(&path, &ids([3, 5]), &[vector(3, 31), vector(5, 50)]).unwrap(),
            []
        );
        assert_eq!(contents(&path), [(3, 31), (5, 50)]);
        let file = VectorFile::open(&path).unwrap();
        assert_eq!(file.positions(&(DocumentId::new(4)..=DocumentId::new(9))), 1..2);
        assert_eq!(file.positions(&(DocumentId::new(6)..=DocumentId::new(9))), 2..2);

        zero_vectors(&path, &ids([5, 7])).unwrap();
        assert_eq!(contents(&path), [(3, 31), (5, 0)]);
    }

    #[test]
    fn a_truncated_or_foreign_file_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors");
        write(&path, &ids([1]), &[vector(1, 10)]).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(300).unwrap();
        assert!(VectorFile::open(&path).is_none());
        file.set_len(10).unwrap();
        assert!(VectorFile::open(&path).is_none());
        file.set_len(0).unwrap();
        assert!(VectorFile::open(&path).is_none());
        assert!(VectorFile::open(folder.path()).is_none());
    }
}
