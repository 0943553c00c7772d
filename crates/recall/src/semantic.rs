//! Semantic search: finds documents by the similarity of their vectors.

use std::{collections::HashMap, ops::RangeInclusive, path::Path};

use backstory_embed::{DIMENSIONS, Encoder, Quantized, nearest, quantize};
use backstory_model::DocumentId;
use backstory_store::{Store, StoreError, StoredVector};

use crate::vector_file::VectorFile;

/// Maximum number of tokens of a query that are embedded; the rest is detail.
const MAX_TOKENS: usize = 64;

/// Embeds a query.
pub fn embed_query(encoder: &mut Encoder, query: &str) -> Quantized {
    quantize(&encoder.encode(query, MAX_TOKENS))
}

/// All vectors, and the encoder for queries.
#[derive(Debug)]
pub(crate) struct SemanticIndex {
    encoder: Encoder,
    file: Option<VectorFile>,
    /// Vectors that are not in the file yet.
    fresh: Vec<StoredVector>,
}

/// Similarity of documents to a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct SemanticMatches {
    /// Most similar documents with their cosine similarity.
    pub(crate) nearest: Vec<(DocumentId, f32)>,
    /// Mean cosine similarity of unrelated documents.
    pub(crate) usual: f32,
    /// Vector of the query.
    question: Option<Quantized>,
}

impl SemanticIndex {
    pub(crate) fn open(store: &Store, path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            encoder: Encoder::new(),
            file: VectorFile::open(path),
            fresh: store.fresh_vectors()?,
        })
    }

    fn is_empty(&self) -> bool {
        self.file.is_none() && self.fresh.is_empty()
    }

    /// Finds the documents that are most similar to a query.
    pub(crate) fn nearest(
        &mut self,
        question: &str,
        ranges: &[RangeInclusive<DocumentId>],
        wanted: usize,
    ) -> SemanticMatches {
        if self.is_empty() || question.trim().is_empty() {
            return SemanticMatches::default();
        }
        let vector = self.encoder.encode(question, MAX_TOKENS);
        let question = quantize(&vector);
        let mut found: HashMap<DocumentId, f32> = HashMap::new();
        if let Some(file) = &self.file {
            for range in ranges {
                let positions = file.positions(range);
                let first = positions.start;
                for (position, cosine) in nearest(&vector, file.stored(positions), wanted, |_| true) {
                    found.insert(file.document(first + position), cosine);
                }
            }
        }
        for fresh in &self.fresh {
            if ranges.iter().any(|range| range.contains(&fresh.document)) {
                // Embedded again since it was filed: the newer vector counts.
                found.insert(fresh.document, as_quantized(fresh).dot(&question));
            }
        }
        let mut found: Vec<(DocumentId, f32)> = found.into_iter().collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
        found.truncate(wanted);
        SemanticMatches {
            nearest: found,
            usual: self.usual(&question, ranges),
            question: Some(question),
        }
    }

    /// Returns the similarity of a document; `None` if it has no vector yet.
    pub(crate) fn cosine(&self, nearness: &SemanticMatches, document: DocumentId) -> Option<f32> {
        let question = nearness.question.as_ref()?;
        let by_number = |vector: &StoredVector| vector.document;
        if let Ok(index) = self.fresh.binary_search_by_key(&document, by_number) {
            return Some(as_quantized(&self.fresh[index]).dot(question));
        }
        let file = self.file.as_ref()?;
        let position = file.positions(&(document..=document)).next()?;
        Some(filed(file, position).dot(question))
    }

    /// Returns the mean similarity of a sample of all documents.
    fn usual(&self, question: &Quantized, ranges: &[RangeInclusive<DocumentId>]) -> f32 {
        const SAMPLE: usize = 200;
        let (mut sum, mut count) = (0.0, 0.0);
        let mut take = |cosine: f32| {
            sum += cosine;
            count += 1.0;
        };
        for range in ranges {
            if let Some(file) = &self.file {
                let positions = file.positions(range);
                let step = (positions.len() / SAMPLE).max(1);
                positions
                    .step_by(step)
                    .for_each(|position| take(filed(file, position).dot(question)));
            }
            self.fresh
                .iter()
                .filter(|fresh| range.contains(&fresh.document))
                .take(SAMPLE)
                .for_each(|fresh| take(as_quantized(fresh).dot(question)));
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

fn filed(file: &VectorFile, position: usize) -> Quantized {
    let stored = file.stored(position..position + 1);
    Quantized {
        bytes: stored.bytes[0],
        scale: f32::from_le_bytes(stored.scales[0]),
    }
}

fn as_quantized(vector: &StoredVector) -> Quantized {
    Quantized {
        bytes: vector.bytes.as_slice().try_into().unwrap_or([0; DIMENSIONS]),
        scale: vector.scale,
    }
}
