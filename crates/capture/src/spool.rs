//! The spool: captured events that await ingest.
//!
//! A hook writes a file in `tmp/` and renames it into `new/`; ingest reads `new/` in the order of the names, commits,
//! and only then removes the files. The name is the permanent key of the event, so ingesting a file twice has no
//! effect. A rename is atomic, but without fsync a power cut can leave a file truncated or empty; the last line states
//! the length of the file, so that this is detected.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, IoSlice, Read as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};
use backstory_system::{self as system, OwnerOnly as _, sync_folder, write_parts};
use backstory_text::scan;
use serde::{Deserialize, Serialize};

/// The spool folder.
#[derive(Clone, Debug)]
pub struct Spool {
    root: PathBuf,
}

/// The durability of a write when the hook returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Survives the crash of any process, but not a power cut.
    Normal,
    /// Also survives a power cut, at the cost of a disk flush in every hook.
    Full,
}

/// The reason for which a spooled file cannot become an event.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The file no longer exists: another process ingested it.
    #[error("the event was ingested by another process")]
    Gone,
    /// The file is damaged.
    #[error("the file is damaged: {0}")]
    Torn(&'static str),
    /// The file is intact, but the payload is not valid JSON.
    #[error("the payload of {0} bytes is not JSON")]
    Unreadable(usize),
    /// The file was written by a newer version.
    #[error("the file has format {0}, this version reads {FORMAT}")]
    Newer(u32),
    /// The file cannot be read now.
    #[error("could not read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
}

const FORMAT: u32 = 1;
const TRAILER: &str = "#end ";

/// The first line of a spooled file; the second is the payload, the third the trailer.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    host: Host,
    #[serde(rename = "at_ms")]
    at: Timestamp,
    session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<ProjectIdentity>,
}

/// Returns the key of an event: sortable by time, unique per process, and readable.
pub fn key(at: Duration, pid: u32, kind: EventKind) -> String {
    format!("{:020}-{pid:010}-{kind}", at.as_nanos())
}

impl Spool {
    /// Refers to the spool in a folder, without creating it.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes an event. Once this returns, the crash of any process cannot lose it.
    pub fn put(&self, event: &Event, durability: Durability) -> io::Result<()> {
        let frame = frame(event)?;
        let parts = [&frame.0, event.payload.as_bytes(), &frame.1].map(IoSlice::new);
        match self.write(&event.key, &parts, durability) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                self.write(&event.key, &parts, durability)
            }
            other => other,
        }
    }

    fn write(&self, key: &str, parts: &[IoSlice<'_>], durability: Durability) -> io::Result<()> {
        let (tmp, new) = (self.path("tmp", key), self.path("new", key));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .private()
            .open(&tmp)?;
        let written = write_parts(&mut file, parts).and_then(|()| match durability {
            Durability::Normal => Ok(()),
            Durability::Full => file.sync_data(),
        });
        // Renamed, because ingest may list the folder at any time.
        if let Err(error) = written.and_then(|()| system::rename(&tmp, &new)) {
            // The write's error is reported; a leftover in `tmp/` is removed by a later sweep.
            system::remove_file(&tmp).ok();
            return Err(error);
        }
        if durability == Durability::Full {
            sync_folder(&self.root.join("new"))?;
        }
        Ok(())
    }

    /// Creates the folders, accessible to their owner only.
    pub fn create(&self) -> io::Result<()> {
        for name in ["tmp", "new", "torn", "private"] {
            DirBuilder::new()
                .recursive(true)
                .private()
                .create(self.root.join(name))?;
        }
        Ok(())
    }

    /// Lists the keys of all events that await ingest, oldest first.
    pub fn pending(&self) -> io::Result<Vec<String>> {
        let mut keys = names(&self.root.join("new"))?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Lists the damaged files that were set aside.
    pub fn torn(&self) -> io::Result<Vec<String>> {
        names(&self.root.join("torn"))
    }

    /// Reads an event.
    pub fn read(&self, key: &str) -> Result<Event, SpoolError> {
        let path = self.path("new", key);
        let mut bytes = Vec::new();
        let read = system::open_regular(&path).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SpoolError::Gone,
            io::ErrorKind::InvalidInput => SpoolError::Torn("not a regular file"),
            _ => SpoolError::Read(path, error),
        })?;
        decode(key, &bytes)
    }

    /// Removes ingested events. A missing file is no error.
    pub fn remove<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> io::Result<()> {
        for key in keys {
            match system::remove_file(self.path("new", key)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves a damaged file to `torn/`, where it does not block ingest and can be inspected.
    pub fn set_aside(&self, key: &str) -> io::Result<()> {
        self.create()?;
        match system::rename(self.path("new", key), self.path("torn", key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Removes files that killed hooks left unfinished. Those hooks never returned, so no event is lost.
    pub fn sweep(&self, now: SystemTime, older_than: Duration) -> io::Result<()> {
        for name in names(&self.root.join("tmp"))? {
            let path = self.path("tmp", &name);
            let age = fs::metadata(&path)
                .and_then(|data| data.modified())
                .map(|time| now.duration_since(time));
            if matches!(age, Ok(Ok(age)) if age > older_than) {
                // Another sweep was faster, or the file is not removable; neither can be helped here.
                system::remove_file(&path).ok();
            }
        }
        Ok(())
    }

    fn path(&self, folder: &str, key: &str) -> PathBuf {
        let mut path = PathBuf::with_capacity(self.root.as_os_str().len() + key.len() + 8);
        path.push(&self.root);
        path.push(folder);
        path.push(key);
        path
    }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // The spool writes no names that are not UTF-8.
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Returns the bytes before and after the payload in a file.
fn frame(event: &Event) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let header = Header {
        format: FORMAT,
        kind: event.kind.name().to_owned(),
        host: event.host.clone(),
        at: event.at,
        session_id: event.session_id.clone(),
        project: event.project.clone(),
    };
    let mut before = serde_json::to_vec(&header)?;
    before.push(b'\n');
    let length = before.len() + event.payload.len() + 1;
    Ok((before, format!("\n{TRAILER}{length}\n").into_bytes()))
}

fn decode(key: &str, bytes: &[u8]) -> Result<Event, SpoolError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SpoolError::Torn("not UTF-8"))?;
    let Some((body, trailer)) = text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n')) else {
        return Err(SpoolError::Torn("no trailer"));
    };
    let length = trailer
        .strip_prefix(TRAILER)
        .and_then(|length| length.parse().ok());
    if length != Some(body.len() + 1) {
        return Err(SpoolError::Torn("the length does not match the trailer"));
    }
    let Some((header, payload)) = body.split_once('\n') else {
        return Err(SpoolError::Torn("no payload"));
    };
    let header: Header =
        serde_json::from_str(header).map_err(|_| SpoolError::Torn("the header is not JSON"))?;
    // An unknown kind, like an unknown format, was written by a newer version, which will ingest it.
    let kind = EventKind::from_name(&header.kind).filter(|_| header.format == FORMAT);
    let kind = kind.ok_or(SpoolError::Newer(header.format))?;
    if serde_json::from_str::<serde::de::IgnoredAny>(payload).is_err() {
        // A hole left by a power cut reads as zeros, which no hook writes.
        let torn = scan::find_byte(bytes, 0).is_some();
        return Err(if torn {
            SpoolError::Torn("a hole of zeros")
        } else {
            SpoolError::Unreadable(payload.len())
        });
    }
    Ok(Event {
        key: key.to_owned(),
        // An import writes to the store directly.
        source: EventSource::Hook,
        kind,
        host: header.host,
        at: header.at,
        session_id: header.session_id,
        project: header.project,
        payload: payload.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(key: &str, payload: &str) -> Event {
        Event {
            key: key.to_owned(),
            source: EventSource::Hook,
            kind: EventKind::Stop,
            host: Host::claude_code(),
            at: Timestamp::from_millis(1_700_000_000_000),
            session_id: "s\n1".to_owned(),
            project: None,
            payload: payload.to_owned(),
        }
    }

    fn encode(event: &Event) -> Vec<u8> {
        let (before, after) = frame(event).unwrap();
        [&before, event.payload.as_bytes(), &after].concat()
    }

    fn spool() -> (tempfile::TempDir, Spool) {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().join("home/spool"));
        (folder, spool)
    }

    #[test]
    fn events_are_listed_in_order_until_they_are_removed() {
        let (_folder, spool) = spool();
        assert!(spool.pending().unwrap().is_empty());
        let keys = [
            key(Duration::from_nanos(9), 1, EventKind::Stop),
            key(Duration::from_secs(1), 1, EventKind::Stop),
        ];
        for (key, durability) in keys.iter().rev().zip([Durability::Normal, Durability::Full]) {
            spool.put(&event(key, "{\"a\":\"\\n\"}"), durability).unwrap();
        }
        assert_eq!(spool.pending().unwrap(), keys);
        assert_eq!(spool.read(&keys[0]).unwrap(), event(&keys[0], "{\"a\":\"\\n\"}"));
        spool.remove([keys[0].as_str(), keys[0].as_str()]).unwrap();
        assert!(matches!(spool.read(&keys[0]), Err(SpoolError::Gone)));
        assert_eq!(spool.pending().unwrap(), keys[1..]);
    }

    #[test]
    #[cfg(unix)]
    fn files_are_accessible_to_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, spool) = spool();
        spool.put(&event("1", "{}"), Durability::Normal).unwrap();
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(spool.root().join("new/1")), 0o600);
        assert_eq!(mode(spool.root().join("new")), 0o700);
        assert_eq!(mode(spool.root().to_path_buf()), 0o700);
    }

    #[test]
    fn a_damaged_file_is_detected_and_set_aside() {
        let (_folder, spool) = spool();
        spool.put(&event("1", "{}"), Durability::Normal).unwrap();
        fs::File::create(spool.root().join("new/1")).unwrap();
        assert!(matches!(spool.read("1"), Err(SpoolError::Torn(_))));
        spool.set_aside("1").unwrap();
        spool.set_aside("1").unwrap();
        assert!(spool.pending().unwrap().is_empty());
        assert_eq!(spool.torn().unwrap(), ["1"]);
    }

    #[test]
    fn a_file_of_a_newer_version_is_rejected_as_newer() {
        let newer = String::from_utf8(encode(&event("1", "{}"))).unwrap();
        for changed in [
            newer.replace("\"format\":1", "\"format\":2"),
            newer.replace("\"stop\"", "\"stip\""),
        ] {
            assert!(
                matches!(decode("1", changed.as_bytes()), Err(SpoolError::Newer(_))),
                "{changed}"
            );
        }
    }

    #[test]
    fn old_leftovers_of_killed_hooks_are_removed() {
        let (_folder, spool) = spool();
        spool.create().unwrap();
        let path = spool.root().join("tmp/x");
        let written = fs::File::create(&path)
            .unwrap()
            .metadata()
            .unwrap()
            .modified()
            .unwrap();
        spool
            .sweep(written + Duration::from_secs(10), Duration::from_secs(60))
            .unwrap();
        assert!(path.exists());
        spool
            .sweep(written + Duration::from_secs(100), Duration::from_secs(60))
            .unwrap();
        assert!(!path.exists());
    }

    proptest! {
        #[test]
        fn no_truncated_file_passes_as_complete(text in any::<String>(), cut in 1usize..400, zeroes in any::<bool>()) {
            let payload = serde_json::to_string(&text).unwrap();
            let whole = encode(&event("1", &payload));
            prop_assert_eq!(decode("1", &whole).unwrap().payload, payload);
            let mut torn = whole.clone();
            torn.truncate(whole.len().saturating_sub(cut));
            if zeroes {
                torn.resize(whole.len(), 0);
            }
            prop_assert!(matches!(decode("1", &torn), Err(SpoolError::Torn(_))));
        }
    }
}
