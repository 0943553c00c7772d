//! Adds and removes our table in TOML files of other programs: appended as text, so that nothing else changes.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

use super::owned_entries;

/// Adds `[KEY.backstory]`, unless the user has a table of that name.
pub(super) fn add_server(text: &str, key: &str, program: &str) -> Result<String> {
    let document = read(text)?;
    if document
        .get(key)
        .is_some_and(|servers| servers.as_table().is_none())
    {
        bail!("`{key}` is not a plain table and cannot be extended");
    }
    if document
        .get(key)
        .is_some_and(|servers| servers.get("backstory").is_some())
    {
        return Ok(text.to_owned());
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    if !new.is_empty() {
        new.push_str(newline);
    }
    let program = toml_edit::Value::from(program);
    for line in [
        format!("[{key}.backstory]"),
        format!("command = {}", program.to_string().trim()),
        "args = [\"mcp\"]".to_owned(),
    ] {
        new.push_str(&line);
        new.push_str(newline);
    }
    // Verify the result by parsing it.
    let is_there = read(&new)?[key]["backstory"]["args"].is_array();
    is_there
        .then_some(new)
        .ok_or_else(|| anyhow!("could not add to `{key}`"))
}

/// Removes `[KEY.backstory]` if it is ours.
pub(super) fn remove_server(text: &str, key: &str) -> Result<String> {
    let mut document = read(text)?;
    let is_ours = owned_entries::server_program(&toml::from_str::<Value>(text)?[key]["backstory"]).is_some();
    let servers = document.get_mut(key).and_then(Item::as_table_like_mut);
    let Some(servers) = servers.filter(|_| is_ours) else {
        return Ok(text.to_owned());
    };
    servers.remove("backstory");
    if servers.is_empty() {
        document.remove(key);
    }
    Ok(document.to_string())
}

fn read(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        anyhow!("line {line}: {}", error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_appended_and_removed_again() {
        for text in [
            "",
            "model = \"x\" # why\n",
            "model = \"x\"",
            "[mcp_servers.other]\ncommand = \"o\"\n",
            "a = 1\r\n",
        ] {
            let added = add_server(text, "mcp_servers", "/a \"b\"/backstory").unwrap();
            assert!(
                added.starts_with(text) && added.contains("args = [\"mcp\"]"),
                "{added}"
            );
            assert_eq!(added.contains("\r\n"), text.contains("\r\n"));
            let value: toml::Value = added.parse::<toml::Table>().unwrap().into();
            assert_eq!(
                value["mcp_servers"]["backstory"]["command"].as_str(),
                Some("/a \"b\"/backstory")
            );
            let removed = remove_server(&added, "mcp_servers").unwrap();
            assert_eq!(
                removed.parse::<toml::Table>().unwrap(),
                text.parse::<toml::Table>().unwrap()
            );
        }
    }

    #[test]
    fn unsupported_tables_are_rejected() {
        assert!(add_server("a = [", "mcp_servers", "x").is_err());
        assert!(add_server("mcp_servers = { a = { command = \"x\" } }\n", "mcp_servers", "x").is_err());
        let untouched = "x = 1 # note\n";
        assert_eq!(remove_server(untouched, "mcp_servers").unwrap(), untouched);
        let theirs = "[mcp_servers.backstory]\ncommand = \"/x/backstory\"\nargs = [\"mcp\"]\nenv.BACKSTORY_HOME = \"/y\"\n";
        assert_eq!(remove_server(theirs, "mcp_servers").unwrap(), theirs);
        assert_eq!(add_server(theirs, "mcp_servers", "x").unwrap(), theirs);
    }
}
