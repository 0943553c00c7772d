//! Property tests: every text has a vector.

use backstory_embed::{DIMENSIONS, Encoder};
use proptest::prelude::*;

fn assert_unit(vector: &[f32; DIMENSIONS]) {
    let length: f32 = vector.iter().map(|value| value * value).sum();
    assert!(
        (length - 1.0).abs() < 1e-3 && vector.iter().all(|value| value.is_finite()),
        "length {length}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_a_vector_of_length_one(text in any::<String>(), words in "([a-zA-Z#_0-9é漢🦀\u{0}]{1,9} ?){0,60}", limit in 0..400_usize) {
        let mut encoder = Encoder::new();
        assert_unit(&encoder.encode(&text, limit));
        assert_unit(&encoder.encode(&words, limit));
    }

    #[test]
    fn encoding_is_independent_of_earlier_texts(before in ".{0,300}", text in ".{0,80}") {
        let mut used = Encoder::new();
        used.encode(&before, 64);
        prop_assert_eq!(used.encode(&text, 32), Encoder::new().encode(&text, 32));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_have_the_same_vectors_together_as_alone(texts in prop::collection::vec("([a-z]{1,9} ){0,90}", 0..12), limit in 2..300_usize) {
        let mut encoder = Encoder::new();
        let together = encoder.encode_all(&texts, limit);
        prop_assert_eq!(together.len(), texts.len());
        for (text, vector) in texts.iter().zip(together) {
            prop_assert!(vector == encoder.encode(text, limit), "{text:?}");
        }
    }
}

#[test]
fn a_megabyte_of_text_has_a_vector() {
    let mut encoder = Encoder::new();
    let megabyte = 1 << 20;
    for text in [
        " ".repeat(megabyte),
        "\0".repeat(megabyte),
        "a".repeat(megabyte),
        "🦀".repeat(megabyte / 4),
        "İ".repeat(megabyte / 2),
        // Words that are found to be unknown only at their end.
        format!("{}\u{7d0} ", "q".repeat(90)).repeat(megabyte / 93),
    ] {
        assert_unit(&encoder.encode(&text, usize::MAX));
    }
}
