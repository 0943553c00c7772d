//! Tells randomly generated values from words, names and numbers.

use crate::window::window;

/// Reports whether a value looks randomly generated: at least 16 characters, few of whose neighbors occur next to each
/// other in words or names.
pub(crate) fn looks_random(value: &[u8]) -> bool {
    let value = window(value);
    let mut seen = 0_u128;
    let (mut length, mut letters, mut surprises) = (0, 0, 0);
    let (mut hex, mut longest_hex) = (0, 0);
    let (mut earlier, mut before) = (0, 0);
    for &byte in value.iter().filter(|&&byte| byte != b'\\') {
        if byte >= 128 {
            return false;
        }
        seen |= 1 << byte;
        length += 1;
        letters += usize::from(byte.is_ascii_alphabetic());
        hex = if byte.is_ascii_hexdigit() { hex + 1 } else { 0 };
        longest_hex = longest_hex.max(hex);
        surprises += usize::from(surprising(earlier, before, byte));
        (earlier, before) = (before, byte);
    }
    if seen & NEVER_RANDOM != 0 {
        return false;
    }
    if length < 16 || letters < 4 || seen.count_ones() < 8 || is_digest(value) {
        return false;
    }
    if longest_hex >= 32 || longest_hex == length {
        return longest_hex >= 32;
    }
    is_uuid(value) || surprises * 10 >= (length - 1) * 3
}

/// Blanks, control characters, quotes and brackets, one bit each: no generator emits them.
const NEVER_RANDOM: u128 = {
    let mut bits = u32::MAX as u128 | 1 << b' ' | 1 << 127;
    let marks = b"\"'`(){}[]<>,;";
    let mut i = 0;
    while i < marks.len() {
        bits |= 1 << marks[i];
        i += 1;
    }
    bits
};

/// Reports whether a value is random beyond doubt: long, with lower-case letters, upper-case letters and digits.
pub(crate) fn looks_very_random(value: &[u8]) -> bool {
    let value = window(value);
    let has = |class: fn(&u8) -> bool| value.iter().any(class);
    let mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    value.len() >= 20 && mixed && !value.contains(&b'.') && !value.contains(&b':') && looks_random(value)
}

/// For each first letter, the letters that commonly follow it in English words and names in code; counted over about 1,500
/// source files.
const USUAL: [&[u8]; 26] = [
    b"bcdfgiklmnprstuvxy",
    b"aceilorsuy",
    b"acehiklmnoprstuv",
    b"adefilorstu",
    b"abcdefgiklmnopqrstuvwxy",
    b"acdefilorstuy",
    b"aeghilnorsu",
    b"adeimortu",
    b"abcdefgklmnoprstvxz",
    b"so",
    b"aeis",
    b"adefilostuy",
    b"abeilmopstu",
    b"acdefgiklnopstuvy",
    b"abcdfgiklmnoprstuvw",
    b"acehiloprstu",
    b"u",
    b"acdefgiklmnoprstuvy",
    b"aceghiklmnoprstuwy",
    b"acdefhilmoprstuxy",
    b"abcdefgilmnoprst",
    b"aeio",
    b"aehinors",
    b"aceipt",
    b"imnpst",
    b"e",
];

static USUAL_BITS: [u32; 26] = {
    let mut bits = [0; 26];
    let mut first = 0;
    while first < 26 {
        let mut i = 0;
        while i < USUAL[first].len() {
            bits[first] |= 1 << (USUAL[first][i] - b'a');
            i += 1;
        }
        first += 1;
    }
    bits
};

/// Reports whether two characters seldom meet inside a word. `aB` is a joint of a name in camel case, `XaB` is not.
fn surprising(earlier: u8, before: u8, byte: u8) -> bool {
    if before.is_ascii_alphabetic() && byte.is_ascii_alphabetic() {
        let joint = before.is_ascii_lowercase() && byte.is_ascii_uppercase();
        if joint {
            return earlier.is_ascii_uppercase();
        }
        let index = usize::from(before.to_ascii_lowercase() - b'a');
        return USUAL_BITS[index] >> (byte.to_ascii_lowercase() - b'a') & 1 == 0;
    }
    before.is_ascii_alphanumeric()
        && byte.is_ascii_alphanumeric()
        && before.is_ascii_digit() != byte.is_ascii_digit()
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Recognizes digests, which name their algorithm: `sha512-…`, `sha256:…`.
fn is_digest(value: &[u8]) -> bool {
    [&b"sha"[..], b"md5", b"blake"]
        .iter()
        .any(|algorithm| value.starts_with(algorithm))
        && value.iter().take(10).any(|byte| matches!(byte, b'-' | b':'))
}
