//! How many tokens a text has, as far as one can tell without the model's own tokenizer.

/// Returns about how many tokens a text has for a model: rather a few too many than too few.
///
/// Prose has some four bytes a token, code and output of programs some three.
pub fn tokens(text: &str) -> usize {
    text.len().saturating_mul(2).div_ceil(7)
}

/// Returns how many bytes so many tokens are.
pub(crate) fn bytes_in(tokens: usize) -> usize {
    tokens.saturating_mul(7) / 2
}
