//! Embeds memories in the background and moves their vectors into the vector file.

use std::{path::Path, thread};

use backstory_embed::{Encoder, Quantized, quantize};
use backstory_model::DocumentId;
use backstory_store::{EmbedOrder, Store, StoreError, StoredVector};

use crate::vector_file;

/// Maximum number of tokens that are embedded: the limit of the encoder.
const MAX_TOKENS: usize = 256;

/// Number of vectors that may be in the database only; a search reads those one by one.
const MAX_FRESH: u64 = 1_000;

/// Error of indexing.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The vector file could not be written.
    #[error("could not write the file of vectors")]
    File(#[from] std::io::Error),
}

/// Embeds the next memories, most important kinds first, with one thread per encoder; returns their number.
pub fn embed_next(
    store: &mut Store,
    encoders: &mut [Encoder],
    begin: EmbedOrder,
    most: usize,
) -> Result<usize, IndexError> {
    let next = store.documents_to_embed(begin, most)?;
    let mut texts = Vec::with_capacity(next.len());
    for one in &next {
        texts.push((one.document, store.fields(one.handle)?.unwrap_or_default().text()));
    }
    let share = texts.len().div_ceil(encoders.len().max(1)).max(1);
    let vectors: Vec<StoredVector> = thread::scope(|scope| {
        let threads: Vec<_> = texts
            .chunks(share)
            .zip(encoders)
            .map(|(texts, encoder)| scope.spawn(|| embed(texts, encoder)))
            .collect();
        // A bug in the encoder costs these vectors: without them the memories are still found lexically.
        let made = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default());
        made.flatten().collect()
    });
    store.put_vectors(&vectors)?;
    Ok(vectors.len())
}

/// Embeds the text of a memory.
pub fn embed_document(encoder: &mut Encoder, text: &str) -> Quantized {
    quantize(&encoder.encode(text, MAX_TOKENS))
}

fn embed(documents: &[(DocumentId, String)], encoder: &mut Encoder) -> Vec<StoredVector> {
    let texts: Vec<&str> = documents.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = encoder.encode_all(&texts, MAX_TOKENS);
    let stored = documents.iter().zip(vectors).map(|((document, _), vector)| {
        let vector = quantize(&vector);
        StoredVector {
            document: *document,
            scale: vector.scale,
            bytes: vector.bytes.to_vec(),
        }
    });
    stored.collect()
}

/// Condition for moving vectors into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushPolicy {
    /// Many are in the database, and more are being made.
    Enough,
    /// Some are in the database, and no more are being made.
    Settled,
    /// There are any.
    Now,
}

/// Moves vectors into the file. A crash in between leaves them in both places, which is harmless.
pub fn file_vectors(store: &mut Store, path: &Path, when: FlushPolicy) -> Result<(), IndexError> {
    let pending = store.fresh_vector_count()?;
    let filed = vector_file::VectorFile::open(path).map_or(0, |file| file.documents().len() as u64);
    // Rewriting the whole file for a few vectors pays off only while it is small.
    let enough = MAX_FRESH.max((filed / 20).min(20 * MAX_FRESH));
    let least = match when {
        FlushPolicy::Enough => enough,
        FlushPolicy::Settled => enough / 10,
        FlushPolicy::Now => 1,
    };
    if pending < least {
        return Ok(());
    }
    let _alone = vector_file::lock_exclusive(path)?;
    let fresh = store.fresh_vectors()?;
    let documents = store.embedded_documents()?;
    let lost = vector_file::write(path, &documents, &fresh)?;
    store.mark_missing(&lost)?;
    let filed: Vec<DocumentId> = fresh.iter().map(|vector| vector.document).collect();
    store.mark_filed(&filed)?;
    Ok(())
}

/// Checks that every vector that the store expects is in the file; missing ones are computed again.
pub fn repair_vectors(store: &mut Store, path: &Path) -> Result<(), IndexError> {
    let fresh = store.fresh_vectors()?;
    let file = vector_file::VectorFile::open(path);
    let is_filed = |document: DocumentId| {
        file.as_ref()
            .is_some_and(|file| !file.positions(&(document..=document)).is_empty())
    };
    let is_fresh = |document: DocumentId| {
        fresh
            .binary_search_by_key(&document, |vector| vector.document)
            .is_ok()
    };
    let lost: Vec<DocumentId> = store
        .embedded_documents()?
        .into_iter()
        .filter(|document| !is_filed(*document) && !is_fresh(*document))
        .collect();
    Ok(store.mark_missing(&lost)?)
}
