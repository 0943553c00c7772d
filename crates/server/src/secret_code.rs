//! Tokens of devices and codes of invitations. Only their hashes are stored.

use backstory_text::{hex, sha256};

/// Letters and digits of a code: without i, l, o and 1, which look alike.
const ALPHABET: &[u8; 32] = b"023456789abcdefghjkmnpqrstuvwxyz";

/// Returns random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    bytes
}

/// Returns a token: 256 random bits as hexadecimal digits.
pub(crate) fn new_token() -> String {
    hex(&random::<32>())
}

/// Returns the code of an invitation: 100 random bits in groups of five, short enough to type.
pub(crate) fn new_code() -> String {
    let letters: Vec<u8> = random::<20>()
        .iter()
        .map(|byte| ALPHABET[usize::from(byte % 32)])
        .collect();
    let groups: Vec<String> = letters
        .chunks(5)
        .map(|group| String::from_utf8_lossy(group).into_owned())
        .collect();
    groups.join("-")
}

/// Hashes a token or a code. A code may be typed in capitals and without hyphens.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    let plain: String = secret.trim().chars().filter(|letter| *letter != '-').collect();
    sha256(plain.to_lowercase().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_may_be_typed_carelessly() {
        let code = new_code();
        assert_eq!(code.len(), 23);
        assert_eq!(
            hash(&code),
            hash(&format!(" {} ", code.to_uppercase().replace('-', "")))
        );
        assert_ne!(hash(&code), hash(&new_code()));
        assert_eq!(new_token().len(), 64);
    }
}
