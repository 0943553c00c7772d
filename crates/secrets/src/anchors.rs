//! The pre-filter: finds positions at which a rule may match, in one fast pass.
//!
//! Every rule starts with a few fixed bytes. Four of them, with the case bit set, are its anchor; a bitmap of hashed anchors
//! (16 KB, computed at compile time) rejects nearly all ordinary text with one load per two bytes. An anchor is no match:
//! the rule examines the position again.

use crate::{
    commands::COMMANDS,
    names::{SHORT_WORD_TAILS, WORDS},
    vendors::{Alphabet, TOKENS},
};

/// The rule that an anchor belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// The index into [`TOKENS`].
    Token(u16),
    /// The index into [`COMMANDS`].
    Command(u16),
    Name,
    Url,
    PemBegin,
    PemEnd,
    EncodedKey,
    Jwt,
    Bearer,
    Telegram,
    IdentifiedBy,
    /// A notation that may hide a secret, see `decode`.
    Encoded,
}

/// Anchors of rules that are code rather than table rows. Three bytes stand for themselves and any byte of the token alphabet.
const FIXED: &[(&[u8], Rule)] = &[
    (b"-BEG", Rule::PemBegin),
    (b"--EN", Rule::PemEnd),
    (b"LS0t", Rule::EncodedKey),
    (b"eyJ", Rule::Jwt),
    (b"bear", Rule::Bearer),
    (b":AA", Rule::Telegram),
    (b"d by", Rule::IdentifiedBy),
    (b"\\u00", Rule::Encoded),
    (b"x1b[", Rule::Encoded),
    (b"033[", Rule::Encoded),
    (b"&quo", Rule::Encoded),
    (b"&apo", Rule::Encoded),
    (b"&amp", Rule::Encoded),
    (b"&lt;", Rule::Encoded),
    (b"&gt;", Rule::Encoded),
    (b"&equ", Rule::Encoded),
    (b"&col", Rule::Encoded),
];

/// Anchors of encoded characters whose last byte is one of a few: the bytes, and the possible last ones.
const ENCODED: &[(&[u8], &[u8])] = &[
    (b"\\e[", b"0123456789m"),
    (b"&#x", b"23456"),
    (b"&#3", b"23456789"),
    (b"&#4", b"01234567"),
    (b"&#5", b"89"),
    (b"&#6", b"01234"),
    (b"&#9", b"12356"),
    (b"\x1b[0", b"0123456789;m"),
    (b"\x1b[1", b"0123456789;m"),
    (b"\x1b[2", b"0123456789;m"),
    (b"\x1b[3", b"0123456789;m"),
    (b"\x1b[4", b"0123456789;m"),
    (b"\x1b[5", b"0123456789;m"),
    (b"\x1b[7", b"0123456789;m"),
    (b"\x1b[9", b"0123456789;m"),
];

/// The bytes after the last character of a URL's scheme: plain, in JSON, in JSON within JSON.
const AFTER_SCHEME: [&[u8]; 3] = [b"://", b":\\/", b":\\\\"];

#[derive(Clone, Copy)]
struct Anchor {
    gram: u32,
    rule: Rule,
}

/// Calls `check` for each rule whose anchor occurs in `text`, from left to right. It returns the position at which to
/// continue; earlier positions are skipped.
///
/// Only every second position is looked up, by three bytes: an anchor at an odd position is found by its last three.
pub(crate) fn scan(text: &[u8], mut check: impl FnMut(Rule, usize) -> usize) {
    let mut resume = 0;
    let mut at = 0;
    while let Some(block) = text.get(at..at + BLOCK + 4).and_then(<[u8]>::first_chunk) {
        for (index, gram) in grams(block).into_iter().enumerate() {
            if probe(gram) & 1 != 0 {
                check_both(text, at + 2 * index, &mut resume, &mut check);
            }
        }
        // Not `at = resume`: the dependency would cost more than examining bytes in vain.
        at += BLOCK;
    }
    for place in (at..text.len()).step_by(2) {
        check_both(text, place, &mut resume, &mut check);
    }
}

const BLOCK: usize = 16;

/// Returns the bytes at the eight even positions of a block and those after them; the low three of each count.
#[inline(always)]
fn grams(block: &[u8; BLOCK + 4]) -> [u64; 8] {
    let word = |from: usize| {
        let bytes = block[from..from + 8]
            .try_into()
            .expect("eight bytes are eight bytes");
        u64::from_le_bytes(bytes) | u64::from(CASE) << 32 | u64::from(CASE)
    };
    let (a, b, c) = (word(0), word(6), word(12));
    [a, a >> 16, a >> 32, b, b >> 16, b >> 32, c, c >> 16]
}

/// Returns a number whose lowest bit is set if the first three bytes may belong to an anchor.
#[inline(always)]
fn probe(gram: u64) -> u64 {
    let hash = hash_of_three(gram);
    FILTER[hash >> 6] >> (hash & 63)
}

/// Checks the anchors that start at `place` and one byte before it.
#[cold]
#[inline(never)]
fn check_both(text: &[u8], place: usize, resume: &mut usize, check: &mut impl FnMut(Rule, usize) -> usize) {
    for at in [place.wrapping_sub(1), place] {
        if at >= *resume && at < text.len() {
            let gram = gram_at(text, at);
            let hash = hash_of_four(gram);
            if EXACT[hash >> 6] >> (hash & 63) & 1 != 0 {
                let first = ANCHORS.partition_point(|anchor| anchor.gram < gram);
                for anchor in ANCHORS[first..].iter().take_while(|anchor| anchor.gram == gram) {
                    *resume = (*resume).max(check(anchor.rule, at));
                }
            }
        }
    }
}

/// Returns four bytes with their case bits set, or 0 where fewer are left.
#[inline(always)]
fn gram_at(text: &[u8], at: usize) -> u32 {
    text[at..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes) | CASE)
}

/// Makes letters lower-case. Other bytes may become different ones; rules check the original text.
const CASE: u32 = 0x2020_2020;

#[expect(clippy::cast_possible_truncation, reason = "only the low bytes count")]
const fn hash_of_three(gram: u64) -> usize {
    // Of about a thousand factors tried, the one with the fewest false hits in Rust sources.
    ((gram as u32).wrapping_mul(0x4880_A500) >> 15) as usize
}

const fn hash_of_four(gram: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B1) >> 18) as usize
}

/// Bitmap of the first three and of the last three bytes of each anchor.
static FILTER: [u64; 2048] = {
    let mut filter = [0; 2048];
    let mut i = 0;
    while i < 2 * ANCHORS.len() {
        let hash = hash_of_three(ANCHORS[i / 2].gram as u64 >> (8 * (i % 2)));
        filter[hash >> 6] |= 1 << (hash & 63);
        i += 1;
    }
    filter
};

/// Bitmap of all four bytes of each anchor.
static EXACT: [u64; 256] = {
    let mut filter = [0; 256];
    let mut i = 0;
    while i < ANCHORS.len() {
        let hash = hash_of_four(ANCHORS[i].gram);
        filter[hash >> 6] |= 1 << (hash & 63);
        i += 1;
    }
    filter
};

/// All anchors, sorted by gram.
static ANCHORS: [Anchor; COUNT] = {
    let all = collect();
    let mut anchors = [Anchor {
        gram: 0,
        rule: Rule::Name,
    }; COUNT];
    let mut i = 0;
    while i < COUNT {
        let mut slot = i;
        while slot > 0 && anchors[slot - 1].gram > all.list[i].gram {
            anchors[slot] = anchors[slot - 1];
            slot -= 1;
        }
        anchors[slot] = all.list[i];
        i += 1;
    }
    anchors
};

const COUNT: usize = collect().count;

struct Collected {
    list: [Anchor; 4096],
    count: usize,
}

impl Collected {
    /// Adds the first four bytes of `text`; if there are only three, every byte of `tails` serves as the fourth.
    const fn add(mut self, text: &[u8], tails: &[u8], rule: Rule) -> Self {
        if text.len() >= 4 {
            self.push([text[0], text[1], text[2], text[3]], rule);
            return self;
        }
        let mut i = 0;
        while i < tails.len() {
            self.push([text[0], text[1], text[2], tails[i]], rule);
            i += 1;
        }
        self
    }

    const fn push(&mut self, bytes: [u8; 4], rule: Rule) {
        self.list[self.count] = Anchor {
            gram: u32::from_le_bytes(bytes) | CASE,
            rule,
        };
        self.count += 1;
    }
}

/// The token alphabet in lower case: the case bit is set on both sides of a comparison.
const TOKEN_TAILS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789_-";

/// The characters of [`TOKEN_TAILS`] that an alphabet has, in either case.
struct Tails {
    bytes: [u8; TOKEN_TAILS.len()],
    count: usize,
}

impl Tails {
    const fn of(alphabet: Alphabet) -> Self {
        let mut tails = Self {
            bytes: [0; TOKEN_TAILS.len()],
            count: 0,
        };
        let mut i = 0;
        while i < TOKEN_TAILS.len() {
            let (lower, upper) = (TOKEN_TAILS[i], TOKEN_TAILS[i].to_ascii_uppercase());
            if (alphabet >> lower | alphabet >> upper) & 1 == 1 {
                tails.bytes[tails.count] = lower;
                tails.count += 1;
            }
            i += 1;
        }
        tails
    }
}

const fn collect() -> Collected {
    let mut all = Collected {
        list: [Anchor {
            gram: 0,
            rule: Rule::Name,
        }; 4096],
        count: 0,
    };
    let mut i = 0;
    while i < TOKENS.len() {
        let (_, anchor) = TOKENS[i].prefix.as_bytes().split_at(TOKENS[i].anchor);
        let tails = Tails::of(TOKENS[i].alphabet);
        all = all.add(anchor, tails.bytes.split_at(tails.count).0, Rule::Token(small(i)));
        i += 1;
    }
    i = 0;
    while i < COMMANDS.len() {
        all = all.add(COMMANDS[i].program.as_bytes(), b"", Rule::Command(small(i)));
        i += 1;
    }
    i = 0;
    while i < WORDS.len() {
        all = all.add(WORDS[i].as_bytes(), SHORT_WORD_TAILS, Rule::Name);
        i += 1;
    }
    i = 0;
    while i < FIXED.len() {
        all = all.add(FIXED[i].0, TOKEN_TAILS, FIXED[i].1);
        i += 1;
    }
    i = 0;
    while i < ENCODED.len() {
        all = all.add(ENCODED[i].0, ENCODED[i].1, Rule::Encoded);
        i += 1;
    }
    i = 0;
    while i < 36 * AFTER_SCHEME.len() {
        let after = AFTER_SCHEME[i / 36];
        all.push([TOKEN_TAILS[i % 36], after[0], after[1], after[2]], Rule::Url);
        i += 1;
    }
    all
}

#[expect(clippy::cast_possible_truncation, reason = "checked by the assertion")]
const fn small(index: usize) -> u16 {
    assert!(index < 65536, "a table has more rows than an anchor can index");
    index as u16
}
