//! The network: turns the tokens of a text into one vector.
//!
//! Several short texts go through it together, because preparing a matrix costs as much for one token as for many.
//! Attention is the only step in which tokens meet, and it is done for each text on its own: so the vector of a
//! text does not depend on the others.

use std::ops::Range;

use crate::DIMENSIONS;
use crate::cpu::Isa;
use crate::kernels::{
    Activations, Attention, Panel, Precision, TOKEN_GROUP, add_and_normalize, attend, gelu, linear,
};
use crate::tokenizer::tokenize;
use crate::weights::{INNER, Layer, MAX_TOKENS, RANK, TABLE_GROUP, WEIGHTS, WIDTH};

/// Number of tokens that feed-forward blocks work on at a time: their inner numbers stay in the L2 cache.
const INNER_TOKENS: usize = 16 * TOKEN_GROUP;

/// Encodes texts as unit vectors; texts with similar meaning have similar vectors.
///
/// Creating one is cheap: the weights are in the executable, and its buffers grow with the first texts.
pub struct Encoder {
    isa: Isa,
    /// Tokens of the texts that are encoded together.
    ids: Vec<u32>,
    /// Position of each of these texts in `ids`.
    texts: Vec<Range<usize>>,
    /// Hidden state: one row of [`WIDTH`] numbers per token.
    tokens: Vec<f32>,
    change: Vec<f32>,
    inner: Vec<f32>,
    activations: Activations,
    attention: Attention,
    panel: Panel,
}

impl Encoder {
    /// Creates an encoder.
    pub fn new() -> Self {
        Self::with_isa(Isa::best())
    }

    pub(crate) fn with_isa(isa: Isa) -> Self {
        Self {
            isa,
            ids: Vec::new(),
            texts: Vec::new(),
            tokens: Vec::new(),
            change: Vec::new(),
            inner: Vec::new(),
            activations: Activations::default(),
            attention: Attention::default(),
            panel: Panel::default(),
        }
    }

    /// Returns the vector of a text, of which at most `max_tokens` tokens (2 to 256) are read.
    pub fn encode(&mut self, text: &str, max_tokens: usize) -> [f32; DIMENSIONS] {
        self.start();
        let mut tokens = Vec::new();
        tokenize(text, max_tokens, &mut tokens);
        self.add(&tokens);
        self.run();
        self.pool(0..tokens.len())
    }

    /// Returns the vectors of texts: the same as [`Encoder::encode`], but sooner.
    pub fn encode_all<Text: AsRef<str>>(
        &mut self,
        texts: &[Text],
        max_tokens: usize,
    ) -> Vec<[f32; DIMENSIONS]> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut tokens = Vec::new();
        self.start();
        for text in texts {
            tokenize(text.as_ref(), max_tokens, &mut tokens);
            if self.ids.len() + tokens.len() > MAX_TOKENS {
                self.finish(&mut vectors);
            }
            self.add(&tokens);
        }
        self.finish(&mut vectors);
        vectors
    }

    /// Begins with no texts.
    fn start(&mut self) {
        self.ids.clear();
        self.texts.clear();
    }

    /// Adds a text to those that are encoded together.
    fn add(&mut self, tokens: &[u32]) {
        let first = self.ids.len();
        self.ids.extend_from_slice(tokens);
        self.texts.push(first..self.ids.len());
    }

    /// Encodes the texts that were added and begins anew.
    fn finish(&mut self, vectors: &mut Vec<[f32; DIMENSIONS]>) {
        if !self.texts.is_empty() {
            self.run();
            vectors.extend(self.texts.iter().map(|text| self.pool(text.clone())));
        }
        self.start();
    }

    fn run(&mut self) {
        self.look_up();
        for layer in &WEIGHTS.layers {
            self.attend(layer);
            self.feed_forward(layer);
        }
    }

    /// Returns the number of rows of the buffers: kernels work on full groups of tokens.
    fn room(&self) -> usize {
        self.ids.len().next_multiple_of(TOKEN_GROUP)
    }

    /// Returns the number of values of the tokens in use, without the padding of the last group.
    fn used(&self) -> usize {
        self.ids.len() * WIDTH
    }

    /// Looks up the embeddings of the tokens and adds the position embeddings.
    fn look_up(&mut self) {
        let room = self.room();
        self.inner.resize(self.ids.len() * RANK, 0.0);
        for (id, row) in self.ids.iter().zip(self.inner.chunks_exact_mut(RANK)) {
            let id = *id as usize;
            let bytes = &WEIGHTS.table[id * RANK / 2..][..RANK / 2];
            let scales = &WEIGHTS.table_scales[id * RANK / TABLE_GROUP..];
            let groups = bytes
                .chunks_exact(TABLE_GROUP / 2)
                .zip(row.chunks_exact_mut(TABLE_GROUP));
            for ((bytes, row), scale) in groups.zip(scales) {
                let scale = f32::from_le_bytes(*scale);
                for (byte, pair) in bytes.iter().zip(row.chunks_exact_mut(2)) {
                    pair[0] = (f32::from(byte & 15) - 8.0) * scale;
                    pair[1] = (f32::from(byte >> 4) - 8.0) * scale;
                }
            }
        }
        self.activations.set(self.isa, &self.inner, RANK, Precision::Byte);
        self.tokens.resize(room * WIDTH, 0.0);
        linear(
            self.isa,
            &self.activations,
            &WEIGHTS.table_matrix,
            &mut self.panel,
            &mut self.tokens,
        );
        let used = self.used();
        self.change.clear();
        for text in &self.texts {
            let positions = WEIGHTS.positions[..text.len() * WIDTH].iter();
            self.change
                .extend(positions.map(|position| f32::from_le_bytes(*position)));
        }
        add_and_normalize(self.isa, &mut self.tokens[..used], &self.change, &WEIGHTS.norm);
        self.change.resize(room * WIDTH, 0.0);
    }

    /// Applies self-attention.
    fn attend(&mut self, layer: &Layer) {
        let (room, used) = (self.room(), self.used());
        self.activations
            .set(self.isa, &self.tokens[..used], WIDTH, Precision::Word);
        for (matrix, output) in [
            (&layer.query, &mut self.attention.queries),
            (&layer.key, &mut self.attention.keys),
            (&layer.value, &mut self.attention.values),
        ] {
            output.resize(room * WIDTH, 0.0);
            linear(self.isa, &self.activations, matrix, &mut self.panel, output);
        }
        for text in &self.texts {
            attend(self.isa, &mut self.attention, text.clone(), &mut self.change);
        }
        self.activations
            .set(self.isa, &self.change[..used], WIDTH, Precision::Byte);
        linear(
            self.isa,
            &self.activations,
            &layer.output,
            &mut self.panel,
            &mut self.change,
        );
        add_and_normalize(
            self.isa,
            &mut self.tokens[..used],
            &self.change,
            &layer.attention_norm,
        );
    }

    /// Applies the feed-forward block to each token.
    fn feed_forward(&mut self, layer: &Layer) {
        let used = self.used();
        let blocks = self.tokens[..used].chunks(INNER_TOKENS * WIDTH);
        for (tokens, change) in blocks.zip(self.change.chunks_mut(INNER_TOKENS * WIDTH)) {
            self.activations.set(self.isa, tokens, WIDTH, Precision::Byte);
            self.inner.resize(change.len() / WIDTH * INNER, 0.0);
            linear(
                self.isa,
                &self.activations,
                &layer.widen,
                &mut self.panel,
                &mut self.inner,
            );
            let inner = &mut self.inner[..tokens.len() / WIDTH * INNER];
            gelu(self.isa, inner);
            self.activations.set(self.isa, inner, INNER, Precision::Byte);
            linear(
                self.isa,
                &self.activations,
                &layer.narrow,
                &mut self.panel,
                change,
            );
        }
        add_and_normalize(
            self.isa,
            &mut self.tokens[..used],
            &self.change,
            &layer.inner_norm,
        );
    }

    /// Sums up the tokens of a text, projects the sum and normalizes it to length 1.
    fn pool(&self, text: Range<usize>) -> [f32; DIMENSIONS] {
        let mut sums = [0.0; WIDTH];
        for token in self.tokens[text.start * WIDTH..text.end * WIDTH].chunks_exact(WIDTH) {
            for (sum, value) in sums.iter_mut().zip(token) {
                *sum += value;
            }
        }
        let mut vector = [0.0; DIMENSIONS];
        for (sum, row) in sums.iter().zip(WEIGHTS.projection.as_chunks::<DIMENSIONS>().0) {
            for (value, weight) in vector.iter_mut().zip(row) {
                *value += sum * f32::from_le_bytes(*weight);
            }
        }
        let length = vector
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt()
            .max(1e-9);
        vector.map(|value| value / length)
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The buffers are scratch space, so they are not printed.
        formatter
            .debug_struct("Encoder")
            .field("isa", &self.isa)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_gives_the_same_vector() {
        for text in [
            "",
            "fix token refresh on 401",
            &"read the manual, then the source. ".repeat(40),
        ] {
            for limit in [8, 33, 256] {
                let mut vectors =
                    Isa::available().map(|isa| (isa, Encoder::with_isa(isa).encode(text, limit)));
                let (_, expected) = vectors.next().unwrap();
                for (isa, vector) in vectors {
                    let cosine: f32 = vector.iter().zip(&expected).map(|(a, b)| a * b).sum();
                    assert!(cosine > 0.9999, "{isa:?}: {cosine}");
                }
            }
        }
    }
}
