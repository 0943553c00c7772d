//! Parses memories from lines of JSON, our own or those of other programs.
//!
//! Lenient: only the kind and a text are required, unknown fields are ignored, a list may be a single string. Removes
//! private spans and secrets here, before any other code sees the text.

use backstory_capture::payload;
use backstory_model::{MemoryKind, Timestamp};
use backstory_store::MemoryRecord;
use jiff::{civil, tz::TimeZone};
use serde_json::{Map, Value};

use backstory_capture::sanitize::TextSanitizer;

/// Maximum length of an id or a name, in bytes.
const MAX_NAME_LEN: usize = 1024;

/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 1_000;

/// Parses a line. The error is a message for the user.
pub fn read(bytes: &[u8], redact: bool) -> Result<MemoryRecord, String> {
    let text = payload::to_text(bytes);
    let fields: Map<String, Value> = match serde_json::from_str(&text) {
        Ok(fields) => fields,
        Err(error) if error.is_data() => return Err("not a JSON object".to_owned()),
        Err(error) => return Err(format!("invalid JSON (at column {})", error.column())),
    };
    let mut reader = Reader {
        fields,
        wash: TextSanitizer::new(redact),
    };
    let mut line = MemoryRecord::new(reader.kind()?);
    reader.read_metadata(&mut line)?;
    match line.kind {
        MemoryKind::Observation | MemoryKind::Team => reader.observation(&mut line)?,
        MemoryKind::Summary => reader.summary(&mut line)?,
        MemoryKind::Prompt | MemoryKind::Note | MemoryKind::Passage => reader.words(&mut line)?,
    }
    Ok(line)
}

struct Reader {
    fields: Map<String, Value>,
    wash: TextSanitizer,
}

impl Reader {
    fn kind(&self) -> Result<MemoryKind, String> {
        let named = match self.fields.get("kind") {
            Some(Value::String(named)) => named,
            None | Some(Value::Null) => return Err("no `kind`".to_owned()),
            Some(_) => return Err("`kind` is not a string".to_owned()),
        };
        // A memory of another person comes from a pack or a server, with a signature.
        let is_own = |kind: &MemoryKind| *kind != MemoryKind::Team;
        MemoryKind::from_name(named).filter(is_own).ok_or_else(|| {
            let known = MemoryKind::ALL.into_iter().filter(is_own).map(MemoryKind::name);
            let known: Vec<&str> = known.collect();
            format!(
                "`kind` is `{}`, expected one of {}",
                named.chars().take(32).collect::<String>(),
                known.join(", ")
            )
        })
    }

    fn read_metadata(&mut self, line: &mut MemoryRecord) -> Result<(), String> {
        line.project = self.text("project")?.map(|name| cut(&name));
        line.session_id = self.name("session_id")?;
        line.external_id = self.name("external_id")?;
        line.branch = self.text("branch")?.map(|name| cut(&name));
        line.type_name = self.text("type")?.map(|name| cut(&name));
        line.created_at = self.time()?;
        line.pinned = matches!(self.fields.get("pinned"), Some(Value::Bool(true)))
            || self.fields.get("pinned").and_then(Value::as_i64) == Some(1);
        Ok(())
    }

    fn observation(&mut self, line: &mut MemoryRecord) -> Result<(), String> {
        line.title = self.text("title")?;
        line.subtitle = self.text("subtitle")?;
        line.narrative = self.text("narrative")?;
        if line.narrative.is_none() {
            line.narrative = self.text("text")?;
        }
        line.facts = self.list("facts")?;
        line.concepts = self.list("concepts")?;
        line.files_read = self.list("files_read")?;
        line.files_modified = self.list("files_modified")?;
        if line.title.is_none() {
            let mut texts = [&line.subtitle, &line.narrative].into_iter().flatten();
            let first = texts.next().or(line.facts.first());
            line.title = first.and_then(|text| title(text));
        }
        match line.title {
            Some(_) => Ok(()),
            None => Err(self.missing_text("`title` or `narrative`")),
        }
    }

    fn summary(&mut self, line: &mut MemoryRecord) -> Result<(), String> {
        line.request = self.text("request")?;
        line.investigated = self.text("investigated")?;
        line.learned = self.text("learned")?;
        line.completed = self.text("completed")?;
        line.next_steps = self.text("next_steps")?;
        line.files_read = self.list("files_read")?;
        line.files_edited = self.list("files_edited")?;
        line.notes = self.text("notes")?;
        if line.notes.is_none() {
            line.notes = self.text("text")?;
        }
        let texts = [
            &line.request,
            &line.investigated,
            &line.learned,
            &line.completed,
            &line.next_steps,
            &line.notes,
        ];
        match texts.iter().any(|text| text.is_some()) {
            true => Ok(()),
            false => Err(self.missing_text("`request`, `completed` or another field of a summary")),
        }
    }

    fn words(&mut self, line: &mut MemoryRecord) -> Result<(), String> {
        for name in ["text", "narrative", "title"] {
            if line.text.is_none() {
                line.text = self.text(name)?;
            }
        }
        if line.kind == MemoryKind::Note {
            for name in ["files", "files_read", "files_modified"] {
                for file in self.list(name)? {
                    if !line.files_read.contains(&file) {
                        line.files_read.push(file);
                    }
                }
            }
        }
        match line.text {
            Some(_) => Ok(()),
            None => Err(self.missing_text("`text`")),
        }
    }

    fn missing_text(&self, wanted: &str) -> String {
        if self.wash.has_removed() {
            "it is empty without its private spans".to_owned()
        } else {
            format!("no {wanted}")
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(self.wash.text(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(format!("`{name}` is not a string")),
        }
    }

    /// Reads an id or a name, without redaction: ids are random, but not secret.
    fn name(&self, name: &str) -> Result<Option<String>, String> {
        let text = match self.fields.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return Err(format!("`{name}` is not a string")),
        };
        // A truncated id could collide with another.
        if text.len() > MAX_NAME_LEN {
            return Err(format!("`{name}` is longer than {MAX_NAME_LEN} bytes"));
        }
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn list(&mut self, name: &str) -> Result<Vec<String>, String> {
        let items = match self.fields.get(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut texts = Vec::new();
        for item in items.iter().take(MAX_ENTRIES) {
            match item {
                Value::Null => {}
                Value::String(text) => texts.extend(self.wash.text(text)),
                Value::Number(number) => texts.push(number.to_string()),
                _ => return Err(format!("`{name}` is not a list of strings")),
            }
        }
        Ok(texts)
    }

    fn time(&self) -> Result<Option<Timestamp>, String> {
        let wrong = || Err("`created_at` is not a time such as 2026-01-31T12:00:00Z".to_owned());
        match self.fields.get("created_at") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => match parse_time(text) {
                Some(time) => Ok(Some(time)),
                None => wrong(),
            },
            Some(_) => wrong(),
        }
    }
}

/// Parses a time; one without a zone is UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let stamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let local: civil::DateTime = text.parse().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(Timestamp::from_millis(stamp.as_millisecond()))
}

/// Returns the first line of a text, as a title.
fn title(text: &str) -> Option<String> {
    const MAX_TITLE_LEN: usize = 100;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_TITLE_LEN).collect())
}

fn cut(name: &str) -> String {
    let name = name.trim();
    name[..name.floor_char_boundary(MAX_NAME_LEN)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> MemoryRecord {
        read(json.as_bytes(), true).unwrap_or_else(|error| panic!("{error}: {json}"))
    }

    #[test]
    fn a_kind_and_some_text_are_enough() {
        assert_eq!(
            line(r#"{"kind":"passage","text":"x","unknown":[{}]}"#)
                .text
                .as_deref(),
            Some("x")
        );
        assert_eq!(
            line(r#"{"kind":"note","narrative":"x"}"#).text.as_deref(),
            Some("x")
        );
        assert_eq!(
            line(r#"{"kind":"observation","narrative":"\n one\ntwo"}"#)
                .title
                .as_deref(),
            Some("one")
        );
        assert_eq!(
            line(r#"{"kind":"summary","text":"x"}"#).notes.as_deref(),
            Some("x")
        );
        assert_eq!(
            line(r#"{"kind":"observation","title":"t","facts":"one"}"#).facts,
            ["one"]
        );
        // A lone surrogate, as Python's json module writes it.
        assert_eq!(
            line(r#"{"kind":"note","text":"a\ud83d"}"#).text.as_deref(),
            Some("a\u{fffd}")
        );
    }

    #[test]
    fn an_invalid_line_has_a_reason() {
        let cases = [
            ("{", "invalid JSON (at column 1)"),
            ("[1]", "not a JSON object"),
            ("{}", "no `kind`"),
            (
                r#"{"kind":"memo"}"#,
                "`kind` is `memo`, expected one of note, observation, summary, prompt, passage",
            ),
            (r#"{"kind":"note"}"#, "no `text`"),
            (r#"{"kind":"note","text":" "}"#, "no `text`"),
            (
                r#"{"kind":"note","text":"<private>x</private>"}"#,
                "it is empty without its private spans",
            ),
            (r#"{"kind":"note","text":{}}"#, "`text` is not a string"),
            (
                r#"{"kind":"observation","title":"t","facts":[[]]}"#,
                "`facts` is not a list of strings",
            ),
            (
                r#"{"kind":"note","text":"x","created_at":"yesterday"}"#,
                "`created_at` is not a time such as 2026-01-31T12:00:00Z",
            ),
        ];
        for (json, reason) in cases {
            assert_eq!(read(json.as_bytes(), true).unwrap_err(), reason, "{json}");
        }
    }

    #[test]
    fn common_time_formats_are_parsed() {
        let expected = Some(Timestamp::from_millis(1_769_860_800_000));
        for time in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T13:00:00+01:00",
            "2026-01-31T12:00:00.000",
            "2026-01-31 12:00",
        ] {
            assert_eq!(parse_time(time), expected, "{time}");
        }
    }
}
