//! Vendors' tokens: those recognized by a prefix, one row each, and those with a format of their own.

use std::ops::Range;

use backstory_text::scan;

use crate::{
    entropy::looks_random,
    escapes::{at_word_start, backslashes_at},
    secret::Secret,
};

/// A set of ASCII characters, one bit each.
type Alphabet = u128;

const DIGITS: Alphabet = set(b"0123456789");
const HEX: Alphabet = DIGITS | set(b"abcdefABCDEF");
const UPPER: Alphabet = DIGITS | set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const ALNUM: Alphabet = UPPER | set(b"abcdefghijklmnopqrstuvwxyz");
const WORD: Alphabet = ALNUM | set(b"_-");
const DOTTED: Alphabet = WORD | set(b".");
const BASE64: Alphabet = WORD | set(b"+/=%");
const PATH: Alphabet = WORD | set(b"/");

/// A token that is recognized by its prefix.
pub(crate) struct TokenPattern {
    pub(crate) prefix: &'static str,
    alphabet: Alphabet,
    /// The minimum number of characters after the prefix. Lower than the real length, so that a truncated token counts.
    min: usize,
    kind: &'static str,
    /// The prefix is an ordinary word or syllable: it must start a word, and the rest must look random.
    common: bool,
    /// The offset of the anchor in the prefix, for a prefix whose first bytes are too frequent in text.
    pub(crate) anchor: usize,
}

const fn token(prefix: &'static str, alphabet: Alphabet, min: usize, kind: &'static str) -> TokenPattern {
    TokenPattern {
        prefix,
        alphabet,
        min,
        kind,
        common: false,
        anchor: 0,
    }
}

const fn common(prefix: &'static str, alphabet: Alphabet, min: usize, kind: &'static str) -> TokenPattern {
    TokenPattern {
        prefix,
        alphabet,
        min,
        kind,
        common: true,
        anchor: 0,
    }
}

/// The known tokens. To add a vendor, add a row: prefix (at least three characters), alphabet, minimum length after it, kind.
pub(crate) const TOKENS: &[TokenPattern] = &[
    token("AKIA", UPPER, 16, "aws-access-key"),
    token("ASIA", UPPER, 16, "aws-access-key"),
    token("ABIA", UPPER, 16, "aws-access-key"),
    token("ACCA", UPPER, 16, "aws-access-key"),
    token("ABSK", BASE64, 60, "aws-bedrock-key"),
    token("ghp_", ALNUM, 20, "github-token"),
    token("gho_", ALNUM, 20, "github-token"),
    token("ghu_", ALNUM, 20, "github-token"),
    token("ghs_", ALNUM, 20, "github-token"),
    token("ghr_", ALNUM, 20, "github-token"),
    TokenPattern {
        anchor: 4,
        ..token("github_pat_", WORD, 20, "github-token")
    },
    token("glpat-", DOTTED, 16, "gitlab-token"),
    token("gldt-", DOTTED, 16, "gitlab-token"),
    token("glrt-", DOTTED, 16, "gitlab-token"),
    token("glcbt-", DOTTED, 16, "gitlab-token"),
    token("glptt-", DOTTED, 16, "gitlab-token"),
    token("glsoat-", DOTTED, 16, "gitlab-token"),
    token("xoxa-", WORD, 10, "slack-token"),
    token("xoxb-", WORD, 10, "slack-token"),
    token("xoxc-", WORD, 10, "slack-token"),
    token("xoxd-", BASE64, 10, "slack-token"),
    token("xoxe-", WORD, 10, "slack-token"),
    token("xoxe.xox", WORD, 10, "slack-token"),
    token("xoxo-", WORD, 10, "slack-token"),
    token("xoxp-", WORD, 10, "slack-token"),
    token("xoxr-", WORD, 10, "slack-token"),
    token("xoxs-", WORD, 10, "slack-token"),
    token("xapp-", WORD, 10, "slack-token"),
    token("hooks.slack.com/services/", PATH, 20, "slack-webhook"),
    token("hooks.slack.com/workflows/", PATH, 20, "slack-webhook"),
    token("hooks.slack.com/triggers/", PATH, 20, "slack-webhook"),
    token("discord.com/api/webhooks/", PATH, 20, "discord-webhook"),
    token("discordapp.com/api/webhooks/", PATH, 20, "discord-webhook"),
    token("sk-ant-", WORD, 16, "anthropic-key"),
    token("sk-proj-", WORD, 16, "openai-key"),
    token("sk-svcacct-", WORD, 16, "openai-key"),
    token("sk-admin-", WORD, 24, "openai-key"),
    token("sk-or-v1-", WORD, 16, "openrouter-key"),
    common("sk-", WORD, 20, "openai-key"),
    token("sk_live_", ALNUM, 10, "stripe-key"),
    token("sk_test_", ALNUM, 10, "stripe-key"),
    token("rk_live_", ALNUM, 10, "stripe-key"),
    token("rk_test_", ALNUM, 10, "stripe-key"),
    token("whsec_", BASE64, 16, "webhook-secret"),
    token("AIza", WORD, 30, "google-api-key"),
    token("ya29.", DOTTED, 20, "google-token"),
    token("GOCSPX-", WORD, 16, "google-client-secret"),
    token("npm_", ALNUM, 30, "npm-token"),
    common("pypi-", WORD, 32, "pypi-token"),
    token("hf_", ALNUM, 30, "huggingface-token"),
    token("dop_v1_", HEX, 32, "digitalocean-token"),
    token("doo_v1_", HEX, 32, "digitalocean-token"),
    token("dor_v1_", HEX, 32, "digitalocean-token"),
    token("shpat_", HEX, 24, "shopify-token"),
    token("shpca_", HEX, 24, "shopify-token"),
    token("shppa_", HEX, 24, "shopify-token"),
    token("shpss_", HEX, 24, "shopify-token"),
    common("SG.", DOTTED, 40, "sendgrid-key"),
    token("glsa_", WORD, 24, "grafana-token"),
    common("glc_", BASE64, 32, "grafana-token"),
    token("dckr_pat_", WORD, 16, "docker-token"),
    token("dckr_oat_", WORD, 16, "docker-token"),
    TokenPattern {
        anchor: 3,
        ..token("lin_api_", ALNUM, 24, "linear-key")
    },
    TokenPattern {
        anchor: 4,
        ..token("lin_oauth_", ALNUM, 24, "linear-key")
    },
    token("dapi", HEX, 32, "databricks-token"),
    TokenPattern {
        anchor: 1,
        ..token("AGE-SECRET-KEY-1", UPPER, 20, "age-key")
    },
    token("hvs.", WORD, 20, "vault-token"),
    token("hvb.", WORD, 20, "vault-token"),
    token("sntrys_", BASE64, 24, "sentry-token"),
    token("sntryu_", HEX, 24, "sentry-token"),
    token("figd_", WORD, 24, "figma-token"),
    token("ntn_", ALNUM, 30, "notion-token"),
    token("gsk_", ALNUM, 32, "groq-key"),
    token("xai-", ALNUM, 40, "xai-key"),
    token("pplx-", ALNUM, 32, "perplexity-key"),
    token("nvapi-", WORD, 32, "nvidia-key"),
    token("tvly-", WORD, 24, "tavily-key"),
    token("lsv2_", WORD, 32, "langsmith-key"),
    token("sbp_", HEX, 32, "supabase-token"),
    token("sb_secret_", WORD, 16, "supabase-token"),
    TokenPattern {
        anchor: 6,
        ..token("vercel_blob_rw_", WORD, 16, "vercel-token")
    },
    token("rubygems_", HEX, 32, "rubygems-key"),
    token("pscale_", WORD, 24, "planetscale-token"),
    token("dp.st.", DOTTED, 24, "doppler-token"),
    token("dp.pt.", DOTTED, 24, "doppler-token"),
    token("FlyV1 fm", BASE64, 24, "fly-token"),
    token("NRAK-", UPPER, 20, "newrelic-key"),
    token("PMAK-", WORD, 24, "postman-key"),
    token("xkeysib-", WORD, 32, "brevo-key"),
    token("CCIPAT_", WORD, 24, "circleci-token"),
    token("bkua_", HEX, 32, "buildkite-token"),
    TokenPattern {
        anchor: 3,
        ..token("ATATT3x", BASE64, 32, "atlassian-token")
    },
    token("sq0csp-", WORD, 24, "square-token"),
    token("sq0atp-", WORD, 20, "square-token"),
    token("?sig=", BASE64, 40, "azure-sas"),
    token("&sig=", BASE64, 40, "azure-sas"),
];

/// The length of a run that decides. Without a limit a run of prefixes would be read once per prefix.
const DECIDING: usize = 32;

impl TokenPattern {
    /// Returns the token whose anchor is at `anchor`.
    pub(crate) fn find_around(&self, text: &[u8], anchor: usize) -> Option<Secret> {
        self.find(text, anchor.checked_sub(self.anchor)?)
    }

    /// Returns the token at `at`.
    fn find(&self, text: &[u8], at: usize) -> Option<Secret> {
        let body = self.after_prefix(text, at)?;
        if self.needs_start() && !at_word_start(text, at) {
            return None;
        }
        if self.common && !is_mixed(text.get(body..body + self.min)?) {
            return None;
        }
        let shortest = run(text, body, self.alphabet, self.min.max(DECIDING));
        if shortest - body < self.min || (self.common && !looks_random(&text[body..shortest])) {
            return None;
        }
        Some(Secret {
            range: at..run(text, body, self.alphabet, usize::MAX),
            kind: self.kind,
        })
    }

    /// Reports whether the prefix must start a word: one that ends in a letter or digit occurs anywhere in base64.
    fn needs_start(&self) -> bool {
        self.common
            || self
                .prefix
                .as_bytes()
                .last()
                .is_some_and(u8::is_ascii_alphanumeric)
    }

    /// Returns the position after the prefix, whose slashes may be escaped in the text.
    fn after_prefix(&self, text: &[u8], mut at: usize) -> Option<usize> {
        for &expected in self.prefix.as_bytes() {
            if expected == b'/' {
                at += backslashes_at(text, at);
            }
            if text.get(at) != Some(&expected) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }
}

/// Rejects words in lower case, the most frequent false hit, cheaply.
fn is_mixed(token: &[u8]) -> bool {
    token
        .iter()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Returns the kind of the token that `text` starts with.
pub(crate) fn kind_of(text: &[u8]) -> Option<&'static str> {
    if text.len() < 16 {
        return None;
    }
    let token = TOKENS.iter().find_map(|token| token.find(text, 0));
    token.or_else(|| jwt(text, 0)).map(|secret| secret.kind)
}

/// Reads a JSON Web Token: `eyJ….eyJ….signature`, also without the signature, or the five parts of an encrypted one.
pub(crate) fn jwt(text: &[u8], at: usize) -> Option<Secret> {
    let joined = at > 0 && matches!(text[at - 1], b'_' | b'-');
    if !text[at..].starts_with(b"eyJ") || joined || !at_word_start(text, at) {
        return None;
    }
    let header = run(text, at, WORD, usize::MAX);
    let mut end = header;
    let mut parts = 1;
    while parts < 5 && text.get(end) == Some(&b'.') {
        end = run(text, end + 1, WORD, usize::MAX);
        parts += 1;
    }
    let signed = text[header..].starts_with(b".eyJ") && end - header > 8;
    let encrypted = parts == 5 && end - header > 32;
    (header - at >= 8 && (signed || encrypted)).then_some(Secret {
        range: at..end,
        kind: "jwt",
    })
}

/// Reads a Telegram token, `123456789:AA…`; `at` is the position of the colon.
pub(crate) fn telegram(text: &[u8], at: usize) -> Option<Secret> {
    let digits = text[..at]
        .iter()
        .rev()
        .take(17)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let end = run(text, at + 1, WORD, usize::MAX);
    let exact =
        text[at..].starts_with(b":AA") && (8..=16).contains(&digits) && (34..=48).contains(&(end - at));
    exact.then(|| Secret {
        range: at - digits..end,
        kind: "telegram-token",
    })
}

/// Finds Discord tokens, `id.time.signature`: only the two dots, with six characters between them, are fixed.
pub(crate) fn discord(text: &[u8], found: &mut Vec<Secret>) {
    const BLOCK: usize = 64;
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<{ BLOCK + 7 }>) {
        // No early exit, so that the compiler can compare sixteen bytes at once.
        let hit = (0..BLOCK).fold(false, |hit, i| {
            hit | ((block[i] == b'.') & (block[i + 7] == b'.'))
        });
        if hit {
            found.extend(
                scan::positions(&text[at..at + BLOCK], b'.').filter_map(|dot| discord_at(text, at + dot)),
            );
        }
        at += BLOCK;
    }
    found.extend(scan::positions(&text[at..], b'.').filter_map(|dot| discord_at(text, at + dot)));
}

fn discord_at(text: &[u8], dot: usize) -> Option<Secret> {
    if text[dot] != b'.' || text.get(dot + 7) != Some(&b'.') {
        return None;
    }
    let id = text[..dot]
        .iter()
        .rev()
        .take(40)
        .take_while(|&&byte| contains(WORD, byte))
        .count();
    let mut start = dot - id;
    if start > 0 && text[start - 1] == b'\\' && matches!(text[start], b'n' | b'r' | b't') {
        start += 1;
    }
    let time = run(text, dot + 1, WORD, 7);
    let end = run(text, dot + 8, WORD, 64);
    let shaped =
        (23..=30).contains(&(dot - start)) && time == dot + 7 && (27..=40).contains(&(end - dot - 8));
    // The first part is a number in base64, which always starts with one of these.
    let numeric =
        matches!(text[start], b'M' | b'N' | b'O') && text[start..dot].iter().any(u8::is_ascii_digit);
    (shaped && numeric).then_some(Secret {
        range: start..end,
        kind: "discord-token",
    })
}

const fn set(characters: &[u8]) -> Alphabet {
    let mut bits = 0;
    let mut i = 0;
    while i < characters.len() {
        bits |= 1 << characters[i];
        i += 1;
    }
    bits
}

fn contains(alphabet: Alphabet, byte: u8) -> bool {
    byte < 128 && alphabet >> byte & 1 == 1
}

/// Returns the end of the run of characters of an alphabet from `at` on, at most `limit` bytes. A slash may be escaped.
fn run(text: &[u8], at: usize, alphabet: Alphabet, limit: usize) -> usize {
    let Range { mut start, end } = at..text.len().min(at.saturating_add(limit));
    while start < end {
        if contains(alphabet, text[start]) {
            start += 1;
            continue;
        }
        let slash = start + backslashes_at(text, start);
        if slash == start || text.get(slash) != Some(&b'/') || !contains(alphabet, b'/') {
            break;
        }
        start = slash + 1;
    }
    start.min(text.len())
}
