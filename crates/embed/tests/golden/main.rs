//! Compares vectors with those of the reference implementation, which rounds much less.

mod texts;

use backstory_embed::{DIMENSIONS, Encoder};

/// One vector per text, numbers times 32,767, little-endian.
const REFERENCE: &[u8] = include_bytes!("reference.i16");

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[test]
fn vectors_match_the_reference() {
    let mut encoder = Encoder::new();
    let texts = texts::texts();
    let references = REFERENCE.as_chunks::<{ 2 * DIMENSIONS }>().0;
    assert_eq!(references.len(), texts.len());
    for (text, reference) in texts.iter().zip(references) {
        let reference: Vec<f32> = reference
            .as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from(i16::from_le_bytes(*bytes)))
            .collect();
        let cosine = cosine(&encoder.encode(text, 256), &reference);
        let shown: String = text.chars().take(60).collect();
        assert!(cosine >= 0.9995, "{cosine} for {shown:?}");
    }
}

#[test]
fn two_texts_have_the_numbers_published_with_the_weights() {
    let mut encoder = Encoder::new();
    for (text, expected) in [
        ("fix token refresh on 401", [-0.0471, 0.2180, 0.0414, 0.1264]),
        ("rain in Lisbon", [-0.2398, -0.1004, 0.1560, 0.0840]),
    ] {
        let vector = encoder.encode(text, 256);
        for (value, expected) in vector.iter().zip(expected) {
            assert!(
                (value - expected).abs() < 0.003,
                "{value} is not {expected} in {text:?}"
            );
        }
    }
}

#[test]
fn a_question_is_most_similar_to_its_answer() {
    let mut encoder = Encoder::new();
    let question = encoder.encode("how are expired logins handled", 64);
    let answer = encoder.encode("refresh the session token when the server says 401", 64);
    for other in [
        "the weather was fine all week",
        "draw the chart's axes in grey",
        "",
    ] {
        let other = encoder.encode(other, 64);
        assert!(cosine(&question, &answer) > cosine(&question, &other) + 0.1);
    }
}
