//! Measures the redaction of secrets: how many it finds, and how much it redacts in text without secrets.
//!
//! All secrets are generated here from formats that vendors document and from the ways in which files and logs assign a value.
//! They resemble the samples of public scanners but are none of them, and formats and rules have the same authors: the rates say
//! which known formats and notations are covered, not how many of all secrets are found.

mod formats;
mod harmless;
mod notations;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use backstory_secrets::{ScanContext, redact};
use serde_json::json;

use crate::{random::Random, report::Section};

/// A text with a secret.
struct Sample {
    group: String,
    text: String,
    secret: String,
}

impl Sample {
    /// Puts a secret in the place of `§`. Of a URL, the last part is the secret.
    fn new(group: String, around: &str, secret: &str) -> Self {
        let last = secret.trim_end_matches('/').rsplit('/').next().unwrap_or(secret);
        Self {
            group,
            text: around.replace('§', secret),
            secret: if secret.starts_with("https://") {
                last
            } else {
                secret
            }
            .to_owned(),
        }
    }
}

/// The number of source files that are scanned.
const FILES: usize = 2_000;

/// A folder with source files of Python on most machines.
const PYTHON: &str = "/usr/lib/python3";

/// Prints the rates; with `--list` also each missed secret and each wrong redaction.
pub(crate) fn print(mut words: impl Iterator<Item = String>) -> Result<bool> {
    let is_list = words.any(|word| word == "--list");
    let mut section = Section::new(
        "Redaction of secrets",
        &["corpus", "texts", "redacted", "per cent"],
    );
    let mut random = Random::new(19);
    let mut list = Vec::new();
    let corpora = [
        (
            "assignments of named secrets",
            95,
            notations::assignments(&mut random),
        ),
        (
            "secrets in logs, URLs, files and commands",
            90,
            notations::surroundings(&mut random),
        ),
        ("bare tokens of vendors", 95, formats::bare(&mut random)),
    ];
    for (name, limit, samples) in corpora {
        let missed: Vec<&Sample> = samples.iter().filter(|sample| !is_found(sample)).collect();
        let found = samples.len() - missed.len();
        let percent = 100.0 * found as f64 / samples.len() as f64;
        let rounded = (percent * 10.0).round() / 10.0;
        section.row(vec![
            json!(name),
            json!(samples.len()),
            json!(found),
            json!(rounded),
        ]);
        section.check(format!("{name}: at least {limit} %"), percent >= f64::from(limit));
        list.extend(
            missed
                .iter()
                .map(|sample| format!("missed  {}  {:?}", sample.group, sample.text)),
        );
    }
    let ids = harmless::ids(&mut random);
    let wrong: Vec<&String> = ids.iter().filter(|text| clean(text) != **text).collect();
    section.row(vec![
        json!("hashes and ids"),
        json!(ids.len()),
        json!(wrong.len()),
        json!(""),
    ]);
    section.check("no hash or id is redacted", wrong.is_empty());
    list.extend(wrong.iter().map(|text| format!("wrong  {text:?}")));
    measure_sources(&mut section, &mut list);
    section.note("generated from documented formats; see docs/privacy.md for what the rates mean");
    if is_list {
        list.iter().for_each(|line| println!("{line}"));
    }
    section.print();
    Ok(section.passed())
}

/// Counts the redactions in source files, which have no secrets except example credentials.
fn measure_sources(section: &mut Section, list: &mut Vec<String>) {
    let files = source_files();
    let (mut redactions, mut words) = (0, 0);
    for path in &files {
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        for secret in backstory_secrets::find(&text, ScanContext::default()) {
            let value = &text[secret.range.clone()];
            // Tests and manuals of network programs contain example credentials, which are redacted rightly. A mere word is no
            // secret, except in a URL.
            let is_word = secret.kind != "url-password"
                && value.chars().all(|c| c.is_alphabetic() || "-_:*".contains(c));
            redactions += 1;
            words += usize::from(is_word);
            let line = text[..secret.range.start].matches('\n').count() + 1;
            list.push(format!(
                "redacted  {}:{line} {} {value:?}",
                path.display(),
                secret.kind
            ));
        }
    }
    let number = json!(files.len());
    section.row(vec![
        json!("source files"),
        number.clone(),
        json!(redactions),
        json!(""),
    ]);
    section.row(vec![
        json!("source files, mere words (wrong)"),
        number,
        json!(words),
        json!(""),
    ]);
    if files.len() < FILES {
        section.note(format!(
            "fewer than {FILES} source files below ~/.cargo/registry/src and {PYTHON}"
        ));
    }
    section.check("at most 15 wrong redactions in the source files", words <= 15);
}

fn clean(text: &str) -> String {
    redact(text, ScanContext::default()).into_owned()
}

/// Reports whether nothing is left of the last three quarters of the secret; its first part may be the name of the vendor.
fn is_found(sample: &Sample) -> bool {
    let redacted = clean(&sample.text);
    let secret = &sample.secret.as_bytes()[sample.secret.len() / 4..];
    let part = secret.len().min(8);
    !secret
        .windows(part)
        .any(|window| redacted.as_bytes().windows(part).any(|left| left == window))
}

/// Returns source files of crates and of Python packages, evenly chosen from all that are on this machine.
fn source_files() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a benchmark, not the product")]
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    let (mut rust, mut python) = (Vec::new(), Vec::new());
    collect(&home.join("registry/src"), "rs", &mut rust);
    collect(Path::new(PYTHON), "py", &mut python);
    let python = evenly(python, FILES / 2);
    let mut files = evenly(rust, FILES - python.len());
    files.extend(python);
    files
}

/// Chooses files from a list at equal distances.
fn evenly(mut files: Vec<PathBuf>, number: usize) -> Vec<PathBuf> {
    files.sort();
    let length = files.len();
    if length <= number {
        return files;
    }
    (0..number)
        .map(|index| files[index * length / number].clone())
        .collect()
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
