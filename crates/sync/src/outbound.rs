//! Turns an own memory into a record: the last check before anything leaves.
//!
//! Private spans are cut, home folders become `~`, paths outside of the repository are dropped. A secret blocks the whole
//! record: nothing is redacted on the way, because whoever shares must see what is shared.

use backstory_capture::strip_tags::TagStripper;
use backstory_model::{MemoryKind, ObservationType};
use backstory_protocol::{DeviceId, RecordFile, RecordId, SharedKind, TeamRecord};
use backstory_secrets::ScanContext;
use backstory_store::{CitedFile, Memory};
use backstory_text::{hex, sha256};

use crate::personal_paths::without_personal_paths;

/// Names the person and the device that share.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The person's name, as others will see it.
    pub name: &'a str,
    /// The device.
    pub device: DeviceId,
    /// The home folder, which must not be in any text.
    pub home: Option<&'a str>,
}

/// Holds a memory that is to be shared.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'m> {
    /// The memory.
    pub memory: &'m Memory,
    /// Its cited files. A fingerprint is sent along: pass none of a file that git does not track.
    pub files: &'m [CitedFile],
    /// The prompt of its turn, no part of which may leave.
    pub prompt: Option<&'m str>,
    /// The records that it replaces.
    pub supersedes: &'m [RecordId],
    /// The id of its record.
    pub id: RecordId,
    /// The version of its record.
    pub version: u32,
}

/// Reports why a memory is not shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// Memories of this kind stay local.
    #[error("a {0} is never shared")]
    Kind(&'static str),
    /// A secret was found.
    #[error("contains a secret ({0}): edit it, or keep it local")]
    Secret(&'static str),
    /// Its title is taken from the prompt.
    #[error("repeats your prompt: edit its title, or keep it local")]
    Prompt,
    /// Nothing is left without private spans.
    #[error("nothing is left of it without its private spans")]
    Empty,
    /// It is longer than a record may be.
    #[error("too long to be shared: shorten it")]
    TooLong,
}

/// Returns the types of distilled memories that are proposed for sharing.
pub fn shareable_types() -> [&'static str; 4] {
    use ObservationType::{Bugfix, Decision, Discovery, Feature};
    [Decision, Bugfix, Discovery, Feature].map(ObservationType::name)
}

/// Returns the id of a memory's record: the first half of a hash of its origin and of its text when it is first shared.
///
/// The author is no part of it: a session id is random, so the same origin is the same memory, also on a second machine of
/// its author and after the database was restored from a backup.
pub fn record_id(project_key: &str, memory: &Memory) -> RecordId {
    let record = &memory.record;
    let turn = memory.turn_id.map(|turn| turn.get().to_string());
    let at = memory.created_at.as_millis().to_string();
    let text = memory.fields().text();
    let fields = [
        "backstory record id v1",
        project_key,
        memory.handle.kind.name(),
        record.session_id.as_deref().unwrap_or_default(),
        // Turns have other numbers in another database: the time is the same.
        turn.map_or("", |_| "turn"),
        &at,
        &text,
    ];
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend((field.len() as u64).to_be_bytes());
        bytes.extend(field.as_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&sha256(&bytes)[..16]);
    RecordId(id)
}

/// Makes the record of a memory.
pub fn prepare(outgoing: &Outgoing<'_>, author: Author<'_>) -> Result<TeamRecord, Blocked> {
    let memory = outgoing.memory;
    let record = &memory.record;
    let clean = |text: &str| {
        let stripped = TagStripper::of_user_text().strip(text).into_owned();
        without_personal_paths(&stripped, author.home).trim().to_owned()
    };
    let some = |text: &Option<String>| clean(text.as_deref().unwrap_or_default());
    let (kind, title, narrative, facts) = match memory.handle.kind {
        MemoryKind::Observation => (
            SharedKind::Observation,
            some(&record.title),
            some(&record.narrative),
            record.facts.iter().map(|fact| clean(fact)).collect(),
        ),
        MemoryKind::Note => (SharedKind::Note, String::new(), some(&record.text), Vec::new()),
        // Never the request: it is the user's prompt.
        MemoryKind::Summary => (
            SharedKind::Summary,
            String::new(),
            joined([&record.learned, &record.investigated, &record.notes].map(some)),
            [&record.completed, &record.next_steps].map(some).to_vec(),
        ),
        other => return Err(Blocked::Kind(other.name())),
    };
    let mut facts: Vec<String> = facts;
    facts.retain(|fact| !fact.is_empty() && !is_in_prompt(fact, outgoing.prompt));
    let narrative = if is_in_prompt(&narrative, outgoing.prompt) {
        String::new()
    } else {
        narrative
    };
    if is_in_prompt(&title, outgoing.prompt) {
        return Err(Blocked::Prompt);
    }
    if title.is_empty() && narrative.is_empty() && facts.is_empty() {
        return Err(Blocked::Empty);
    }
    let shared = TeamRecord {
        v: TeamRecord::FORMAT,
        id: outgoing.id,
        version: outgoing.version,
        kind,
        observation_type: record.observation_type(),
        title,
        // The built-in rules put the request there, which is the user's prompt.
        subtitle: String::new(),
        narrative,
        facts,
        concepts: record.concepts.iter().map(|concept| clean(concept)).collect(),
        files: outgoing.files.iter().filter_map(shared_file).collect(),
        branch: record.branch.as_deref().map(clean),
        commit: memory
            .work
            .as_ref()
            .and_then(|work| work.commit.clone().or(work.head.clone())),
        created_at: jiff::Timestamp::from_millisecond(memory.created_at.as_millis()).unwrap_or_default(),
        supersedes: outgoing.supersedes.to_vec(),
        author: author.name.to_owned(),
        device: author.device,
        encoder: None,
        embedding: None,
    };
    if let Some(secret) = secret_in(&shared) {
        return Err(Blocked::Secret(secret));
    }
    match shared.to_body() {
        Ok(_) => Ok(shared),
        Err(_) => Err(Blocked::TooLong),
    }
}

/// Reports whether a text was copied from the prompt: all of it, or most of a short prompt.
fn is_in_prompt(text: &str, prompt: Option<&str>) -> bool {
    let plain = |text: &str| {
        backstory_text::words(&text.to_lowercase())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (text, prompt) = (plain(text), plain(prompt.unwrap_or_default()));
    !text.is_empty() && !prompt.is_empty() && (prompt.contains(&text) || text.contains(&prompt))
}

/// Returns the kind of the first secret in a record. Texts are scanned one by one and joined: a value may follow its name in
/// the next field.
pub(crate) fn secret_in(record: &TeamRecord) -> Option<&'static str> {
    let is_hash = |text: &&str| {
        let mut hashes = record.files.iter().filter_map(|file| file.hash.as_deref());
        hashes.any(|hash| hash == *text)
    };
    let texts: Vec<&str> = record.texts().filter(|text| !is_hash(text)).collect();
    let joined = texts.join("\n");
    texts.into_iter().chain([joined.as_str()]).find_map(|text| {
        Some(
            backstory_secrets::find(text, ScanContext::default())
                .first()?
                .kind,
        )
    })
}

fn joined<const N: usize>(texts: [String; N]) -> String {
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Returns a cited file, unless it is outside of the repository.
fn shared_file(file: &CitedFile) -> Option<RecordFile> {
    let path = file.path.replace('\\', "/");
    let is_inside = !path.starts_with(['/', '~'])
        && !path.contains(':')
        && path.split('/').all(|part| !part.is_empty() && part != "..");
    is_inside.then(|| RecordFile {
        path,
        modified: file.is_modified,
        hash: file.mark.as_ref().map(|mark| hex(&mark.hash)),
        size: file.mark.as_ref().map(|mark| mark.size),
    })
}

#[cfg(test)]
mod tests {
    use backstory_model::{NoteAuthor, ProjectIdentity, Timestamp};
    use backstory_store::{FileFingerprint, NewNote, Store, TurnCommit};
    use proptest::prelude::*;

    use super::*;

    const AUTHOR: Author<'_> = Author {
        name: "Ana",
        device: DeviceId([1; 16]),
        home: Some("/srv/people/ana"),
    };

    /// Returns a note as the store has it.
    fn note(text: &str) -> Memory {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("b.db"), folder.path()).unwrap();
        let project = ProjectIdentity {
            key: "example.org/app".to_owned(),
            name: "app".to_owned(),
            root: "/w/app".to_owned(),
            branch: None,
            worktree: None,
        };
        let new = NewNote {
            project: Some(&project),
            text,
            kind: None,
            files: &[],
            pinned: false,
            author: NoteAuthor::User,
        };
        let saved = store.remember(&new, Timestamp::from_millis(5)).unwrap();
        store.memory(saved.handle).unwrap().unwrap()
    }

    fn outgoing<'m>(memory: &'m Memory, files: &'m [CitedFile]) -> Outgoing<'m> {
        Outgoing {
            memory,
            files,
            prompt: None,
            supersedes: &[],
            id: record_id("example.org/app", memory),
            version: 1,
        }
    }

    #[test]
    fn private_spans_and_home_folders_are_cut() {
        let memory = note("see /srv/people/ana/x <private>the salary list</private> and /home/ben/y");
        let record = prepare(&outgoing(&memory, &[]), AUTHOR).unwrap();
        assert!(
            record.narrative.contains("~/x") && record.narrative.contains("~/y"),
            "{record:?}"
        );
        assert!(!record.narrative.contains("salary"), "{record:?}");
        let memory = note("<private>all of it</private>");
        assert_eq!(prepare(&outgoing(&memory, &[]), AUTHOR), Err(Blocked::Empty));
    }

    #[test]
    fn files_outside_of_the_repository_are_dropped() {
        let memory = note("about files");
        let file = |path: &str| CitedFile {
            path: path.to_owned(),
            is_modified: false,
            mark: Some(FileFingerprint {
                hash: vec![0xab, 0xcd],
                size: 3,
                lines: Vec::new(),
            }),
        };
        let files = ["src/a.rs", "/etc/hosts", "../up.rs", "~/x", "C:\\x", "a//b"].map(file);
        let record = prepare(&outgoing(&memory, &files), AUTHOR).unwrap();
        let paths: Vec<&str> = record.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs"]);
        assert_eq!(record.files[0].hash.as_deref(), Some("abcd"));
    }

    #[test]
    fn what_repeats_the_prompt_stays() {
        let mut memory = note("the text");
        memory.handle.kind = MemoryKind::Observation;
        memory.record.title = Some("Why is the page slow?".to_owned());
        memory.record.subtitle = Some("asked by the user".to_owned());
        memory.record.facts = vec!["find out why".to_owned(), "the index was missing".to_owned()];
        let about = |prompt| Outgoing {
            prompt: Some(prompt),
            ..outgoing(&memory, &[])
        };
        let blocked = prepare(&about("Why is the page slow, find out why"), AUTHOR);
        assert_eq!(blocked, Err(Blocked::Prompt));
        let record = prepare(&about("Please find out why!"), AUTHOR).unwrap();
        assert_eq!(record.facts, ["the index was missing"]);
        assert_eq!(record.subtitle, "");
    }

    #[test]
    fn a_record_names_its_commit_and_what_it_replaces() {
        let mut memory = note("one text");
        let work = TurnCommit {
            branch: "main".to_owned(),
            head: Some("aaaaaaa".to_owned()),
            commit: None,
            state: None,
            reverted_by: None,
        };
        memory.work = Some(work.clone());
        let replaced = [RecordId([5; 16])];
        let outgoing = Outgoing {
            supersedes: &replaced,
            ..outgoing(&memory, &[])
        };
        let record = prepare(&outgoing, AUTHOR).unwrap();
        assert_eq!(
            (record.commit.as_deref(), &record.supersedes[..]),
            (Some("aaaaaaa"), &replaced[..])
        );
        memory.work = Some(TurnCommit {
            commit: Some("bbbbbbb".to_owned()),
            ..work
        });
        let record = prepare(&self::outgoing(&memory, &[]), AUTHOR).unwrap();
        assert_eq!(record.commit.as_deref(), Some("bbbbbbb"));
    }

    #[test]
    fn a_prompt_is_never_shared() {
        let mut memory = note("why is it slow");
        memory.handle.kind = MemoryKind::Prompt;
        assert_eq!(
            prepare(&outgoing(&memory, &[]), AUTHOR),
            Err(Blocked::Kind("prompt"))
        );
    }

    #[test]
    fn the_id_of_a_record_follows_its_origin() {
        let memory = note("one text");
        let id = record_id("example.org/app", &memory);
        assert_eq!(record_id("example.org/app", &note("one text")), id);
        assert_ne!(record_id("example.org/other", &memory), id);
        assert_ne!(record_id("example.org/app", &note("another text")), id);
    }

    proptest! {
        /// Whatever surrounds a token, no record with it leaves.
        #[test]
        fn a_token_blocks_its_record(before in "[a-z ]{0,30}", after in "[ .,][a-z ]{0,30}") {
            let secret = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
            let memory = note(&format!("{before} {secret}{after}"));
            let blocked = matches!(prepare(&outgoing(&memory, &[]), AUTHOR), Err(Blocked::Secret(_)));
            prop_assert!(blocked);
        }
    }
}
