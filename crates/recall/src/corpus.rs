//! A corpus of which a store holds only the candidates for one query, such as those that a team server found.

use std::collections::BTreeMap;

use backstory_store::{TermMatches, inverse_document_frequency};
use backstory_text::search_terms;

/// Describes the corpus: without it, a word that all candidates have would seem common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    /// The number of its documents.
    pub documents: u64,
    /// For each term of the query, in the form of [`search_terms`], the number of documents with it.
    pub term_documents: BTreeMap<String, u64>,
}

impl Corpus {
    /// Replaces the weights of words by those in the corpus.
    pub(crate) fn weigh(&self, words: &mut [TermMatches]) {
        for word in words {
            let terms = search_terms(&word.word);
            let counts = terms.iter().filter_map(|term| self.term_documents.get(term));
            if let Some(count) = counts.min() {
                word.weight = inverse_document_frequency(self.documents, *count);
            }
        }
    }

    /// Returns the similarity of an unrelated document: of the nearest documents of a large corpus the least similar one comes
    /// closest to it; a small corpus is known whole, and its mean counts.
    pub(crate) fn usual(&self, nearest: &[f32], mean: f32) -> f32 {
        if self.documents <= nearest.len() as u64 {
            return mean;
        }
        nearest.iter().copied().fold(f32::INFINITY, f32::min).min(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        Corpus {
            documents: 1_000,
            term_documents: BTreeMap::from([("token".to_owned(), 900), ("refresh".to_owned(), 3)]),
        }
    }

    #[test]
    fn words_weigh_as_in_the_corpus() {
        let mut words: Vec<TermMatches> = ["tokens", "refresh", "unknown"]
            .map(|word| TermMatches {
                word: word.to_owned(),
                weight: 7.0,
                documents: Vec::new(),
            })
            .to_vec();
        corpus().weigh(&mut words);
        assert!(words[0].weight < 1.0 && words[1].weight > 5.0, "{words:?}");
        assert_eq!(words[2].weight, 7.0);
    }

    #[test]
    fn the_least_similar_candidate_of_a_large_corpus_counts_as_unrelated() {
        assert_eq!(corpus().usual(&[0.5, 0.3], 0.4), 0.3);
        let small = Corpus {
            documents: 2,
            ..corpus()
        };
        assert_eq!(small.usual(&[0.5, 0.3], 0.4), 0.4);
    }
}
