//! Runs the rules over one text, from left to right.

use crate::{
    anchors::{self, Rule},
    assignments::Assignments,
    commands::Commands,
    headers,
    secret::Secret,
    structural, tokens,
};

/// Appends the secrets of a text, unsorted and possibly overlapping.
pub(crate) fn scan(text: &[u8], found: &mut Vec<Secret>) {
    let mut scanner = Scanner {
        text,
        found,
        assignments: Assignments::default(),
        commands: Commands::default(),
    };
    anchors::scan(text, |rule, at| scanner.check(rule, at));
    tokens::discord(text, found);
}

struct Scanner<'t> {
    text: &'t [u8],
    found: &'t mut Vec<Secret>,
    assignments: Assignments,
    commands: Commands,
}

impl Scanner<'_> {
    /// Applies a rule and returns the position at which to continue, or 0 for the next byte.
    fn check(&mut self, rule: Rule, at: usize) -> usize {
        let text = self.text;
        let secret = match rule {
            Rule::Command(index) => return self.commands.read(text, index, at, self.found),
            Rule::Name => return self.assignments.read(text, at, self.found),
            Rule::Token(index) => tokens::TOKENS[usize::from(index)].find_around(text, at),
            Rule::Url => structural::url(text, at),
            Rule::PemBegin => structural::pem_begin(text, at),
            Rule::PemEnd => structural::pem_end(text, at),
            Rule::Jwt => tokens::jwt(text, at),
            Rule::Bearer => headers::bearer(text, at),
            Rule::Telegram => tokens::telegram(text, at),
            Rule::IdentifiedBy => structural::identified_by(text, at),
        };
        let Some(secret) = secret else { return 0 };
        let end = secret.range.end;
        self.found.push(secret);
        end
    }
}
