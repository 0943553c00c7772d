//! Index columns, derived from the signed body: search terms and sign bits.

use backstory_embed::{DIMENSIONS, SIGN_BYTES};
use backstory_protocol::{Embedding, TeamRecord};

/// Longest term that is indexed; PostgreSQL allows lexemes of 2 KB, and no word is as long.
const MAX_TERM_BYTES: usize = 64;

/// Returns the search terms of a record, separated by spaces.
pub(crate) fn terms(record: &TeamRecord) -> String {
    let single = [&record.title, &record.subtitle, &record.narrative];
    let texts: Vec<&str> = single
        .into_iter()
        .chain(&record.facts)
        .chain(&record.concepts)
        .chain(record.files.iter().map(|file| &file.path))
        .map(String::as_str)
        .collect();
    let mut terms = backstory_text::search_terms(&texts.join("\n"));
    terms.retain(|term| is_indexed(term));
    terms.join(" ")
}

/// Reports whether a term can be in the index: neither too long nor with a character that separates terms or quotes them.
pub(crate) fn is_indexed(term: &str) -> bool {
    !term.is_empty() && term.len() <= MAX_TERM_BYTES && term.chars().all(char::is_alphanumeric)
}

/// Returns the sign bits of a record's embedding, if it is one of the encoder that this server can search.
pub(crate) fn sign_bits(record: &TeamRecord) -> Option<[u8; SIGN_BYTES]> {
    if record.encoder.as_deref() != Some(backstory_embed::MODEL) {
        return None;
    }
    record.embedding.as_ref().map(signs)
}

/// Returns the sign bits of an embedding.
pub(crate) fn signs(embedding: &Embedding) -> [u8; SIGN_BYTES] {
    // The scale is positive and does not change a sign.
    let vector: [f32; DIMENSIONS] = embedding.bytes.map(|byte| f32::from(byte.cast_signed()));
    backstory_embed::sign_bits(&vector)
}
