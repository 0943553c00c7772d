//! Sessions of Cursor: connects its databases to the readers of its sessions.
//!
//! The editor keeps all chats in one database; the path of a session is that of the database, followed by the id of the chat. The
//! command-line agent has one database per chat, in a folder that is named by the chat.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use backstory_capture::filter::CaptureSettings;
use backstory_store::{CursorChat, CursorEditor, CursorRecord};
use backstory_transcript::{
    CursorChatRoot, CursorComposer, CursorConversation, History, Transcript, TranscriptHost, TranscriptList,
    path_of_uri, read_cursor_chat, read_cursor_composer,
};
use serde_json::Value;

/// Lists the chats below a folder, or of one database.
pub(super) fn sessions(path: &Path) -> Result<TranscriptList> {
    if !path.is_dir() {
        return match is_chat(path) {
            true => Ok(list(chat(path))),
            false => Ok(list(composers(path)?)),
        };
    }
    let editor = [
        "state.vscdb",
        "globalStorage/state.vscdb",
        "User/globalStorage/state.vscdb",
    ];
    let editor = editor
        .map(|name| path.join(name))
        .into_iter()
        .find(|path| path.is_file());
    match editor {
        Some(database) => Ok(list(composers(&database)?)),
        None => Ok(list(chats(path))),
    }
}

fn list(sessions: impl IntoIterator<Item = Transcript>) -> TranscriptList {
    TranscriptList {
        transcripts: sessions.into_iter().collect(),
        unreadable: Vec::new(),
    }
}

/// Returns the session with a path as [`sessions`] returns it.
pub(super) fn session_at(path: &Path) -> Option<Transcript> {
    if is_chat(path) {
        return chat(path);
    }
    let database = path.parent().filter(|database| database.is_file())?;
    let id = path.file_name()?;
    let found = composers(database).ok()?;
    found
        .into_iter()
        .find(|session| session.session_id.as_str() == id)
}

/// Reads a session.
pub(super) fn read(transcript: &Transcript, settings: &CaptureSettings) -> Result<History> {
    if is_chat(&transcript.path) {
        return read_chat(transcript, settings);
    }
    let editor = CursorEditor::open(&database(&transcript.path))?;
    let id = &transcript.session_id;
    let records = editor.records(&format!("bubbleId:{id}"))?;
    let description = editor.records("composerData")?;
    let key = format!("composerData:{id}");
    let description = description.iter().find(|record| record.key == key);
    let description = description
        .and_then(|record| serde_json::from_slice::<Value>(&record.value).ok())
        .with_context(|| format!("no chat {id} in {}", transcript.path.display()))?;
    let bubbles: Vec<(String, Vec<u8>)> = records
        .into_iter()
        .map(|record| (record.key, record.value))
        .collect();
    let composer = CursorComposer {
        folder: transcript.cwd.as_deref(),
        description: &description,
        bubbles: &bubbles,
    };
    Ok(read_cursor_composer(&composer, settings))
}

/// Returns the file in which a session is.
pub(super) fn database(session: &Path) -> PathBuf {
    match is_chat(session) {
        true => session.to_owned(),
        false => session.parent().unwrap_or(session).to_owned(),
    }
}

/// Lists the chats of the editor, the one with the oldest change first.
fn composers(database: &Path) -> Result<Vec<Transcript>> {
    let editor = CursorEditor::open(database)?;
    let folders = folders(&editor, database)?;
    let mut found = Vec::new();
    for CursorRecord { key, value } in editor.records("composerData")? {
        let Ok(composer) = serde_json::from_slice::<Value>(&value) else {
            continue;
        };
        let id = key.trim_start_matches("composerData:").to_owned();
        let has_messages = ["fullConversationHeadersOnly", "conversation"]
            .iter()
            .any(|name| composer[name].as_array().is_some_and(|list| !list.is_empty()));
        // Drafts have no messages. The report of a sub-agent is in the chat that started it.
        let is_part = composer["isBestOfNSubcomposer"] == true || composer["subagentInfo"].is_object();
        if !has_messages || is_part {
            continue;
        }
        let updated = composer["lastUpdatedAt"]
            .as_u64()
            .or(composer["createdAt"].as_u64());
        found.push(Transcript {
            host: TranscriptHost::Cursor,
            path: database.join(&id),
            size: editor.size(&format!("bubbleId:{id}"))? + value.len() as u64,
            modified: at_millis(updated.unwrap_or_default()),
            cwd: folders.get(&id).cloned(),
            session_id: id,
            agents: Vec::new(),
        });
    }
    found.sort_by_key(|session| session.modified);
    Ok(found)
}

/// Returns the folders of chats: from the list of chats of the whole editor, or else from those of its windows.
fn folders(editor: &CursorEditor, database: &Path) -> Result<HashMap<String, String>> {
    let mut folders = HashMap::new();
    let windows = database
        .parent()
        .and_then(Path::parent)
        .map(|user| user.join("workspaceStorage"));
    for window in windows.iter().flat_map(fs::read_dir).flatten().flatten() {
        let about = fs::read(window.path().join("workspace.json")).unwrap_or_default();
        let about: Value = serde_json::from_slice(&about).unwrap_or_default();
        let folder = about["folder"].as_str().and_then(path_of_uri);
        let listed = CursorEditor::open(&window.path().join("state.vscdb"))
            .and_then(|window| window.item("composer.composerData"));
        // A window without chats has no list.
        if let (Some(folder), Ok(Some(listed))) = (folder, listed) {
            folders.extend(ids(&listed).into_iter().map(|(id, _)| (id, folder.clone())));
        }
    }
    let listed = editor.item("composer.composerHeaders")?.unwrap_or_default();
    for (id, composer) in ids(&listed) {
        let folder = composer["workspaceIdentifier"]["uri"]["fsPath"].as_str();
        folders.extend(folder.map(|folder| (id, folder.to_owned())));
    }
    Ok(folders)
}

/// Reads a list of chats with their ids.
fn ids(list: &[u8]) -> Vec<(String, Value)> {
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let composers = list["allComposers"].as_array().cloned().unwrap_or_default();
    let with_id = |composer: Value| Some((composer["composerId"].as_str()?.to_owned(), composer));
    composers.into_iter().filter_map(with_id).collect()
}

fn is_chat(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "store.db")
}

/// Lists the chats of the command-line agent, the one with the oldest change first.
fn chats(folder: &Path) -> Vec<Transcript> {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let chats = below(folder).into_iter().flat_map(|workspace| below(&workspace));
    let mut found: Vec<Transcript> = chats
        .map(|chat| chat.join("store.db"))
        .filter(|path| path.is_file())
        .filter_map(|path| chat(&path))
        .collect();
    found.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    found
}

fn chat(path: &Path) -> Option<Transcript> {
    let metadata = fs::metadata(path).ok()?;
    let folder = path.parent()?;
    let about = fs::read(folder.join("meta.json")).unwrap_or_default();
    let about: Value = serde_json::from_slice(&about).unwrap_or_default();
    if about["isSubagent"] == true {
        return None;
    }
    let cwd = about["cwd"].as_str().map(str::to_owned);
    Some(Transcript {
        host: TranscriptHost::Cursor,
        path: path.to_owned(),
        session_id: folder.file_name()?.to_str()?.to_owned(),
        size: metadata.len(),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        cwd: cwd.or_else(|| open_chat(path).ok()?.1.folder),
        agents: Vec::new(),
    })
}

fn read_chat(transcript: &Transcript, settings: &CaptureSettings) -> Result<History> {
    let (database, root, description) = open_chat(&transcript.path)?;
    let mut messages = Vec::new();
    for id in root.messages {
        let content = database.blob(&id)?;
        messages.push((id, content));
    }
    let chat = CursorConversation {
        folder: transcript.cwd.as_deref(),
        description: &description,
        messages: &messages,
    };
    Ok(read_cursor_chat(&chat, settings))
}

/// Opens a chat of the command-line agent and reads its root and its description.
fn open_chat(path: &Path) -> Result<(CursorChat, CursorChatRoot, Value)> {
    let database = CursorChat::open(path)?;
    let meta = database.meta()?.unwrap_or_default();
    let description: Value = from_hex(&meta)
        .and_then(|json| serde_json::from_slice(&json).ok())
        .with_context(|| format!("the description of the chat in {} is damaged", path.display()))?;
    let root = match description["latestRootBlobId"].as_str() {
        Some(id) => database.blob(id)?.unwrap_or_default(),
        None => Vec::new(),
    };
    Ok((database, CursorChatRoot::read(&root), description))
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

fn at_millis(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}
