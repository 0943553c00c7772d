//! Generates source code, logs and prose. Deterministic, without secrets.

use crate::random::Random;

/// Kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Code,
    Log,
    Prose,
}

const NOUNS: [&str; 24] = [
    "session", "request", "buffer", "index", "token", "window", "cursor", "batch", "parser", "router",
    "cache", "worker", "ledger", "account", "invoice", "report", "stream", "schema", "column", "record",
    "folder", "queue", "handler", "retry",
];
const VERBS: [&str; 16] = [
    "read",
    "write",
    "open",
    "close",
    "find",
    "merge",
    "split",
    "render",
    "load",
    "store",
    "check",
    "update",
    "remove",
    "collect",
    "resolve",
    "normalize",
];
const WORDS: [&str; 24] = [
    "the", "that", "when", "because", "should", "never", "before", "after", "each", "still", "again", "only",
    "which", "without", "under", "load", "test", "fails", "change", "keeps", "slow", "path", "result", "old",
];

/// Returns `length` bytes of text.
pub(crate) fn text(style: Style, length: usize, random: &mut Random) -> String {
    let mut text = String::with_capacity(length + 256);
    while text.len() < length {
        match style {
            Style::Code => code(&mut text, random),
            Style::Log => log(&mut text, random),
            Style::Prose => prose(&mut text, random),
        }
    }
    // ASCII only, so any length is a character boundary.
    text.truncate(length);
    text
}

/// Returns a noun and a verb.
pub(crate) fn subject(random: &mut Random) -> (&'static str, &'static str) {
    (random.pick(&NOUNS), random.pick(&VERBS))
}

fn code(out: &mut String, random: &mut Random) {
    let (noun, other, verb) = (random.pick(&NOUNS), random.pick(&NOUNS), random.pick(&VERBS));
    let number = random.below(4096);
    let line = match random.below(8) {
        0 => {
            format!("\npub fn {verb}_{noun}(&mut self, {other}: &str, limit: usize) -> Result<{number}> {{\n")
        }
        1 => format!("    // {verb}s the {noun} before the {other}: the order matters here\n"),
        2 => format!(
            "    if {noun}.len() > {number} && !{other}.is_empty() {{\n        return Ok(None);\n    }}\n"
        ),
        3 => format!("    let {noun} = self.{other}.{verb}(&{noun}_{other}, {number})?;\n"),
        4 => {
            format!("    println!(\"{verb} {noun}: {{}} of {{{other}}}\", {noun}.{verb}(\"{other}\\t\"));\n")
        }
        5 => format!("    for ({noun}, {other}) in self.{noun}s.iter().zip(&mut {other}s) {{\n"),
        6 => format!("        {noun}.push({other}.{verb}().unwrap_or_default());\n    }}\n"),
        _ => "    Ok(())\n}\n".to_owned(),
    };
    out.push_str(&line);
}

fn log(out: &mut String, random: &mut Random) {
    let (noun, other, verb) = (random.pick(&NOUNS), random.pick(&NOUNS), random.pick(&VERBS));
    let (minute, second, number) = (random.below(60), random.below(60), random.below(9000));
    let line = match random.below(6) {
        0 => format!("test {noun}::{verb}_{other} ... ok\n"),
        1 => format!("   Compiling {noun}-{other} v0.{minute}.{second} (/home/dev/acme/crates/{noun})\n"),
        2 => format!("src/{noun}/{other}.rs:{number}:{minute}: warning: unused variable `{verb}`\n"),
        3 => format!(
            "12:{minute:02}:{second:02} WARN {noun}: could not {verb} \"{other}\", attempt {second} of 60\n"
        ),
        _ => format!(
            "12:{minute:02}:{second:02} INFO {noun}::{other}: {verb} took {number} us, {second} left\n"
        ),
    };
    out.push_str(&line);
}

fn prose(out: &mut String, random: &mut Random) {
    for _ in 0..6 + random.below(10) {
        let lists: [&[&str]; 3] = [&NOUNS, &VERBS, &WORDS];
        let list = random.pick(&lists);
        out.push_str(random.pick(list));
        out.push(' ');
    }
    out.push_str(if random.below(4) == 0 {
        "it is done.\n\n"
    } else {
        "it is done. "
    });
}
