//! Owns the shape of the network and where each of its parts lies in the embedded file.
//!
//! The file is "BSEM", fifteen numbers, then sections in a fixed order, each at a multiple of 64 bytes. The compiler
//! walks through it: a file that does not fit does not build, and a running process has nothing to parse.

/// How many numbers stand for one token inside the network.
pub(crate) const WIDTH: usize = 384;
/// How many numbers stand for one token in the token table.
pub(crate) const RANK: usize = 128;
/// How many numbers one token has between the two matrices of a feed-forward step.
pub(crate) const INNER: usize = 1536;
/// How many numbers of a token one attention head looks at.
pub(crate) const HEAD: usize = 32;
/// The longest input, in tokens.
pub(crate) const MAX_TOKENS: usize = 256;
/// How many entries the vocabulary has.
pub(crate) const VOCABULARY: usize = 30_522;
/// The token that opens every input.
pub(crate) const OPENING: u32 = 101;
/// The token that closes every input.
pub(crate) const CLOSING: u32 = 102;
/// The token of a word that the vocabulary cannot spell.
pub(crate) const UNKNOWN: u32 = 100;

const OUTPUT: usize = crate::DIMENSIONS;
const LAYERS: usize = 3;
const SPELLINGS: usize = 200_986;
/// So many numbers of the token table share a scale.
pub(crate) const TABLE_GROUP: usize = 32;

/// Little-endian numbers as they lie in the file; [`f32::from_le_bytes`] costs nothing where that is the native order.
pub(crate) type Floats = &'static [[u8; 4]];

/// A matrix of signed bytes, one scale and one bias for each row.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    /// Two's complement, row after row.
    pub(crate) values: &'static [u8],
    pub(crate) scales: Floats,
    pub(crate) biases: Floats,
}

impl Matrix {
    /// Says how many numbers come out of a multiplication.
    pub(crate) const fn rows(&self) -> usize {
        self.scales.len()
    }
}

/// The gain and the bias behind a normalisation.
pub(crate) struct Norm {
    pub(crate) gain: Floats,
    pub(crate) bias: Floats,
}

/// One transformer layer.
pub(crate) struct Layer {
    pub(crate) query: Matrix,
    pub(crate) key: Matrix,
    pub(crate) value: Matrix,
    pub(crate) output: Matrix,
    pub(crate) attention_norm: Norm,
    pub(crate) widen: Matrix,
    pub(crate) narrow: Matrix,
    pub(crate) inner_norm: Norm,
}

/// Everything in the file.
pub(crate) struct Weights {
    /// All spellings in ascending order of their bytes, without separators.
    pub(crate) spellings: &'static [u8],
    /// Where each spelling begins, and where the last one ends.
    pub(crate) starts: &'static [[u8; 4]],
    /// The token of each spelling.
    pub(crate) tokens: &'static [[u8; 4]],
    /// [`RANK`] numbers of four bits for each token, stored plus 8, the low half first.
    pub(crate) table: &'static [u8],
    pub(crate) table_scales: Floats,
    pub(crate) table_matrix: Matrix,
    pub(crate) positions: Floats,
    pub(crate) norm: Norm,
    pub(crate) layers: [Layer; LAYERS],
    /// One row of [`crate::DIMENSIONS`] numbers for each of the [`WIDTH`].
    pub(crate) projection: Floats,
}

/// The network, ready to use: references into the file that the compiler has worked out.
pub(crate) static WEIGHTS: Weights = Weights::read();

#[repr(C, align(64))]
struct Aligned<Bytes>(Bytes);

static FILE: Aligned<[u8; 9_138_624]> = Aligned(*include_bytes!("../weights/backstory-encoder-v1.bsem"));

impl Weights {
    const fn read() -> Self {
        let header = [
            1,
            VOCABULARY,
            WIDTH,
            OUTPUT,
            RANK,
            LAYERS,
            WIDTH / HEAD,
            INNER,
            MAX_TOKENS,
            4,
            OPENING as usize,
            CLOSING as usize,
            UNKNOWN as usize,
            SPELLINGS,
            1,
        ];
        let mut file = Sections { at: 0 };
        let (numbers, _) = file.bytes(64).as_chunks::<4>();
        assert!(
            u32::from_be_bytes(numbers[0]) == u32::from_be_bytes(*b"BSEM"),
            "not a model file"
        );
        let mut index = 0;
        while index < header.len() {
            assert!(
                u32::from_le_bytes(numbers[index + 1]) as usize == header[index],
                "another network"
            );
            index += 1;
        }
        let weights = Self {
            spellings: file.bytes(SPELLINGS),
            starts: file.numbers(VOCABULARY + 1),
            tokens: file.numbers(VOCABULARY),
            table: file.bytes(VOCABULARY * RANK / 2),
            table_scales: file.numbers(VOCABULARY * RANK / TABLE_GROUP),
            table_matrix: file.matrix(WIDTH, RANK),
            positions: file.numbers(MAX_TOKENS * WIDTH),
            norm: file.norm(),
            layers: [file.layer(), file.layer(), file.layer()],
            projection: file.numbers(WIDTH * OUTPUT),
        };
        assert!(file.at == FILE.0.len(), "the file is longer than the network");
        weights
    }
}

/// Walks through the file from section to section.
struct Sections {
    at: usize,
}

impl Sections {
    const fn bytes(&mut self, length: usize) -> &'static [u8] {
        let (_, rest) = FILE.0.split_at(self.at.next_multiple_of(64));
        self.at = self.at.next_multiple_of(64) + length;
        rest.split_at(length).0
    }

    const fn numbers(&mut self, count: usize) -> &'static [[u8; 4]] {
        self.bytes(count * 4).as_chunks().0
    }

    const fn matrix(&mut self, rows: usize, columns: usize) -> Matrix {
        Matrix {
            columns,
            values: self.bytes(rows * columns),
            scales: self.numbers(rows),
            biases: self.numbers(rows),
        }
    }

    const fn norm(&mut self) -> Norm {
        Norm {
            gain: self.numbers(WIDTH),
            bias: self.numbers(WIDTH),
        }
    }

    const fn layer(&mut self) -> Layer {
        Layer {
            query: self.matrix(WIDTH, WIDTH),
            key: self.matrix(WIDTH, WIDTH),
            value: self.matrix(WIDTH, WIDTH),
            output: self.matrix(WIDTH, WIDTH),
            attention_norm: self.norm(),
            widen: self.matrix(INNER, WIDTH),
            narrow: self.matrix(WIDTH, INNER),
            inner_norm: self.norm(),
        }
    }
}
