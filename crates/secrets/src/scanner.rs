//! Runs the rules over one text, from left to right.

use crate::{
    anchors::{self, Rule},
    assignments::Assignments,
    commands::Commands,
    headers,
    secret::Secret,
    structural, tokens,
    vendors::TOKENS,
};

/// Appends the secrets of a text, unsorted and possibly overlapping. Returns whether part of the text is encoded.
pub(crate) fn scan(text: &[u8], found: &mut Vec<Secret>) -> bool {
    let mut scanner = Scanner {
        text,
        found,
        assignments: Assignments::default(),
        commands: Commands::default(),
        is_encoded: false,
    };
    anchors::scan(text, |rule, at| scanner.check(rule, at));
    let is_encoded = scanner.is_encoded;
    tokens::discord(text, found);
    is_encoded
}

struct Scanner<'t> {
    text: &'t [u8],
    found: &'t mut Vec<Secret>,
    assignments: Assignments,
    commands: Commands,
    is_encoded: bool,
}

impl Scanner<'_> {
    /// Applies a rule and returns the position at which to continue, or 0 for the next byte.
    fn check(&mut self, rule: Rule, at: usize) -> usize {
        let text = self.text;
        let secret = match rule {
            Rule::Command(index) => return self.commands.read(text, index, at, self.found),
            Rule::Name => return self.assignments.read(text, at, self.found),
            Rule::Token(index) => TOKENS[usize::from(index)]
                .find_around(text, at)
                .map(|secret| structural::whole_key(text, secret)),
            Rule::Url => structural::url(text, at),
            Rule::PemBegin => structural::pem_begin(text, at),
            Rule::PemEnd => structural::pem_end(text, at),
            Rule::EncodedKey => structural::encoded_key(text, at),
            Rule::Jwt => tokens::jwt(text, at),
            Rule::Bearer => headers::bearer(text, at),
            Rule::Telegram => tokens::telegram(text, at),
            Rule::IdentifiedBy => structural::identified_by(text, at),
            Rule::Encoded => {
                self.is_encoded = true;
                None
            }
        };
        let Some(secret) = secret else { return 0 };
        let end = secret.range.end;
        self.found.push(secret);
        end
    }
}
