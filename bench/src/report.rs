//! Prints results as tables, and writes them as JSON.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// One table with notes and checks.
#[derive(Debug)]
pub(crate) struct Section {
    title: &'static str,
    notes: Vec<String>,
    columns: &'static [&'static str],
    rows: Vec<Vec<Value>>,
    checks: Vec<(String, bool)>,
}

impl Section {
    pub(crate) fn new(title: &'static str, columns: &'static [&'static str]) -> Self {
        Self {
            title,
            notes: Vec::new(),
            columns,
            rows: Vec::new(),
            checks: Vec::new(),
        }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a row with one value per column.
    pub(crate) fn row(&mut self, values: Vec<Value>) {
        self.rows.push(values);
    }

    /// Adds a check that must pass on any machine.
    pub(crate) fn check(&mut self, description: impl Into<String>, passed: bool) {
        self.checks.push((description.into(), passed));
    }

    pub(crate) fn passed(&self) -> bool {
        self.checks.iter().all(|(_, passed)| *passed)
    }

    pub(crate) fn print(&self) {
        println!("\n{}\n", self.title);
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        let width = |column: usize| {
            let longest = cells.iter().map(|row| row[column].chars().count()).max();
            longest.unwrap_or(0).max(self.columns[column].len())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_number = |column: usize| self.rows.iter().any(|row| row[column].is_number());
        let print = |row: &[String]| {
            let padded = row
                .iter()
                .enumerate()
                .map(|(column, text)| match is_number(column) {
                    true => format!("{text:>0$}", widths[column]),
                    false => format!("{text:<0$}", widths[column]),
                });
            println!("  {}", padded.collect::<Vec<_>>().join("  ").trim_end());
        };
        if !cells.is_empty() {
            print(&self.columns.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        cells.iter().for_each(|row| print(row));
        for note in &self.notes {
            println!("  * {note}");
        }
        for (description, passed) in &self.checks {
            println!("  {}  {description}", if *passed { "ok    " } else { "FAILED" });
        }
    }

    fn json(&self) -> Value {
        let object = |row: &Vec<Value>| {
            self.columns
                .iter()
                .map(ToString::to_string)
                .zip(row.iter().cloned())
                .collect::<serde_json::Map<_, _>>()
        };
        let check = |(description, passed): &(String, bool)| json!({"check": description, "holds": passed});
        json!({
            "title": self.title,
            "notes": self.notes,
            "rows": self.rows.iter().map(object).collect::<Vec<_>>(),
            "checks": self.checks.iter().map(check).collect::<Vec<_>>(),
        })
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.2}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Writes all sections to a JSON file.
pub(crate) fn write_json(path: &Path, sections: &[Section]) -> Result<()> {
    let value = json!({"sections": sections.iter().map(Section::json).collect::<Vec<_>>()});
    let temporary = path.with_extension("tmp");
    let write = || {
        writeln!(File::create(&temporary)?, "{value:#}")?;
        fs::rename(&temporary, path)
    };
    write().with_context(|| format!("could not write {}", path.display()))
}

/// Repeated measurements of a duration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a percentile in microseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(rank).map_or(f64::NAN, |took| took.as_secs_f64() * 1e6)
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}

/// Rounds to two decimals; more would be false precision.
pub(crate) fn rounded(number: f64) -> Value {
    json!((number * 100.0).round() / 100.0)
}

/// Rounds to whole microseconds.
pub(crate) fn micros(number: f64) -> Value {
    // An integer, because floats are printed with two decimals.
    format!("{number:.0}")
        .parse::<u64>()
        .map_or(Value::Null, Value::from)
}
