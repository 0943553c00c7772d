//! Signatures of records: Ed25519 over the project's key, the record's id and version, and the body.
//!
//! The signed bytes start with a prefix that nothing else is signed with, and every field has its length in front, so that
//! no record can be taken for another one. Keys are made from random bytes that the caller brings.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::RecordId;

/// Size of a signature.
pub const SIGNATURE_BYTES: usize = ed25519_dalek::SIGNATURE_LENGTH;

/// Size of a public key, and of the secret that a key is made from.
pub const KEY_BYTES: usize = 32;

/// Separates these signatures from any others that the key might make.
const DOMAIN: &[u8] = b"backstory team record v1\0";

/// Returns the bytes that are signed.
pub fn signed_bytes(project_key: &str, id: RecordId, version: u32, body: &str) -> Vec<u8> {
    let version = version.to_be_bytes();
    let fields = [project_key.as_bytes(), &id.0, &version, body.as_bytes()];
    let mut bytes = DOMAIN.to_vec();
    for field in fields {
        bytes.extend((field.len() as u64).to_be_bytes());
        bytes.extend(field);
    }
    bytes
}

/// Signs the records of one device.
#[derive(Debug)]
pub struct DeviceSigner(SigningKey);

impl DeviceSigner {
    /// Makes a signer from 32 random bytes that are kept secret.
    pub fn from_secret(secret: &[u8; KEY_BYTES]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// Returns the key that verifies its signatures.
    pub fn public_key(&self) -> [u8; KEY_BYTES] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs a record.
    pub fn sign(&self, project_key: &str, id: RecordId, version: u32, body: &str) -> [u8; SIGNATURE_BYTES] {
        self.0
            .sign(&signed_bytes(project_key, id, version, body))
            .to_bytes()
    }
}

/// Reports whether a signature is one of this key over this record. Weak keys verify nothing.
pub fn verify(
    public_key: &[u8; KEY_BYTES],
    project_key: &str,
    id: RecordId,
    version: u32,
    body: &str,
    signature: &[u8; SIGNATURE_BYTES],
) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(public_key) else {
        return false;
    };
    let bytes = signed_bytes(project_key, id, version, body);
    key.verify_strict(&bytes, &Signature::from_bytes(signature))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: RecordId = RecordId([7; 16]);

    #[test]
    fn signed_bytes_are_stable() {
        let bytes = signed_bytes("k", ID, 3, "{}");
        let mut expected = b"backstory team record v1\0".to_vec();
        expected.extend([0, 0, 0, 0, 0, 0, 0, 1, b'k']);
        expected.extend([0, 0, 0, 0, 0, 0, 0, 16]);
        expected.extend([7; 16]);
        expected.extend([0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 3]);
        expected.extend([0, 0, 0, 0, 0, 0, 0, 2, b'{', b'}']);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_weak_key_verifies_nothing() {
        // The neutral element: under the lax rule it verifies a signature of zeros over any message.
        let mut key = [0; KEY_BYTES];
        key[0] = 1;
        let mut signature = [0; SIGNATURE_BYTES];
        signature[0] = 1;
        assert!(!verify(&key, "k", ID, 1, "{}", &signature));
    }

    proptest! {
        #[test]
        fn only_the_signed_record_verifies(
            secret: [u8; 32], other: [u8; 32], key in ".{0,40}", body in ".{0,200}", version: u32, flipped in 0..512usize,
        ) {
            prop_assume!(secret != other);
            let signer = DeviceSigner::from_secret(&secret);
            let signature = signer.sign(&key, ID, version, &body);
            let public = signer.public_key();
            prop_assert!(verify(&public, &key, ID, version, &body, &signature));
            let changed_key = format!("{key}x");
            let changed_body = format!("{body} ");
            prop_assert!(!verify(&public, &changed_key, ID, version, &body, &signature));
            prop_assert!(!verify(&public, &key, RecordId([8; 16]), version, &body, &signature));
            prop_assert!(!verify(&public, &key, ID, version ^ 1, &body, &signature));
            prop_assert!(!verify(&public, &key, ID, version, &changed_body, &signature));
            prop_assert!(!verify(&DeviceSigner::from_secret(&other).public_key(), &key, ID, version, &body, &signature));
            let mut forged = signature;
            forged[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert!(!verify(&public, &key, ID, version, &body, &forged));
        }

        /// Bytes move between the key and the body without making another record's bytes.
        #[test]
        fn fields_do_not_run_together(text in "[a-z]{2,20}", at in 1..20usize) {
            let at = at.min(text.len() - 1);
            let (key, body) = text.split_at(at);
            prop_assert_ne!(signed_bytes(key, ID, 1, body), signed_bytes(&text, ID, 1, ""));
        }
    }
}
