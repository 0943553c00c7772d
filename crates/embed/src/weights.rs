//! Dimensions of the network, and the layout of the embedded weights file.
//!
//! The file is "BSEM", fifteen numbers, then sections in a fixed order, each aligned to 64 bytes. It is parsed at
//! compile time: a file that does not fit does not build, and a running process has nothing to parse.

/// Hidden size: numbers per token inside the network.
pub(crate) const WIDTH: usize = 384;
/// Numbers per token in the token table.
pub(crate) const RANK: usize = 128;
/// Inner size of a feed-forward block.
pub(crate) const INNER: usize = 1536;
/// Size of one attention head.
pub(crate) const HEAD: usize = 32;
/// Maximum input, in tokens.
pub(crate) const MAX_TOKENS: usize = 256;
/// Size of the vocabulary.
pub(crate) const VOCABULARY: usize = 30_522;
/// Token that starts every input.
pub(crate) const OPENING: u32 = 101;
/// Token that ends every input.
pub(crate) const CLOSING: u32 = 102;
/// Token of a word that is not in the vocabulary.
pub(crate) const UNKNOWN: u32 = 100;

const OUTPUT: usize = crate::DIMENSIONS;
const LAYERS: usize = 3;
const SPELLINGS: usize = 200_986;
/// Numbers of the token table that share a scale.
pub(crate) const TABLE_GROUP: usize = 32;

/// Little-endian numbers as in the file; [`f32::from_le_bytes`] is free where that is the native order.
pub(crate) type Floats = &'static [[u8; 4]];

/// Matrix of signed bytes, with one scale and one bias per row.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    /// Two's complement, row after row.
    pub(crate) values: &'static [u8],
    pub(crate) scales: Floats,
    pub(crate) biases: Floats,
}

impl Matrix {
    /// Returns the number of outputs of a multiplication.
    pub(crate) const fn rows(&self) -> usize {
        self.scales.len()
    }
}

/// Gain and bias of a normalization.
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

/// Content of the file.
pub(crate) struct Weights {
    /// All vocabulary entries in ascending order of their bytes, without separators.
    pub(crate) spellings: &'static [u8],
    /// Start of each entry, and the end of the last one.
    pub(crate) starts: &'static [[u8; 4]],
    /// Token of each entry.
    pub(crate) tokens: &'static [[u8; 4]],
    /// Token table: [`RANK`] four-bit numbers per token, stored plus 8, the low half first.
    pub(crate) table: &'static [u8],
    pub(crate) table_scales: Floats,
    pub(crate) table_matrix: Matrix,
    pub(crate) positions: Floats,
    pub(crate) norm: Norm,
    pub(crate) layers: [Layer; LAYERS],
    /// Projection: one row of [`crate::DIMENSIONS`] numbers for each of the [`WIDTH`].
    pub(crate) projection: Floats,
}

/// The network, ready to use: references into the file, resolved at compile time.
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

/// Reads the file section by section.
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
