//! Assembles JSON objects from the raw fields of others, without parsing values.

use serde_json::Value;

use crate::payload::Payload;

/// A JSON object under construction.
#[derive(Debug)]
pub(super) struct Object(String);

impl Object {
    pub(super) const fn new() -> Self {
        Self(String::new())
    }

    /// Adds a field with a raw JSON value, if there is one.
    pub(super) fn raw(mut self, name: &str, raw: Option<&str>) -> Self {
        if let Some(raw) = raw {
            self.0.push(if self.0.is_empty() { '{' } else { ',' });
            self.0.push_str(&Value::from(name).to_string());
            self.0.push(':');
            self.0.push_str(raw);
        }
        self
    }

    /// Adds a string field.
    pub(super) fn text(self, name: &str, text: &str) -> Self {
        self.raw(name, Some(&Value::from(text).to_string()))
    }

    /// Adds the first of several fields of a payload, under another name.
    pub(super) fn take(self, name: &str, from: &Payload<'_>, theirs: &[&str]) -> Self {
        let raw = theirs.iter().find_map(|their| from.raw(their));
        self.raw(name, raw.filter(|raw| *raw != "null"))
    }

    /// Returns the finished object.
    pub(super) fn end(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

/// Copies an object with some of its fields renamed.
pub(super) fn renamed(raw: &str, names: &[(&str, &str)]) -> String {
    let Ok(payload) = Payload::read(raw) else {
        return raw.to_owned();
    };
    let mut object = Object::new();
    for (name, value) in payload.fields() {
        let ours = names.iter().find(|(theirs, _)| *theirs == name);
        object = object.raw(ours.map_or(name, |(_, ours)| ours), Some(value));
    }
    object.end()
}

/// Returns the raw JSON of a field, unpacked if the host sends JSON in a string.
pub(super) fn unpacked(payload: &Payload<'_>, name: &str) -> Option<String> {
    let raw = payload.raw(name)?;
    match payload.text(name) {
        Some(text) if text.trim_start().starts_with('{') && Payload::read(&text).is_ok() => {
            Some(text.into_owned())
        }
        _ => Some(raw.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_assembled_from_raw_fields() {
        let payload = Payload::read(r#"{"a":"x\n","b":null,"c":{"d":[1]}}"#).unwrap();
        let object = Object::new()
            .take("one", &payload, &["none", "a"])
            .take("two", &payload, &["b"])
            .take("three", &payload, &["c"])
            .text("four", "\"q\"");
        assert_eq!(object.end(), r#"{"one":"x\n","three":{"d":[1]},"four":"\"q\""}"#);
        assert_eq!(Object::new().end(), "{}");
    }

    #[test]
    fn fields_are_renamed_and_json_in_strings_is_unpacked() {
        assert_eq!(
            renamed(r#"{"filePath":"a","x":1}"#, &[("filePath", "file_path")]),
            r#"{"file_path":"a","x":1}"#
        );
        assert_eq!(renamed("[1]", &[]), "[1]");
        let payload = Payload::read(r#"{"a":"{\"b\":1}","c":"{half","d":[2]}"#).unwrap();
        assert_eq!(unpacked(&payload, "a").unwrap(), r#"{"b":1}"#);
        assert_eq!(unpacked(&payload, "c").unwrap(), r#""{half""#);
        assert_eq!(unpacked(&payload, "d").unwrap(), "[2]");
        assert_eq!(unpacked(&payload, "e"), None);
    }
}
