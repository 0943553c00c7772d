//! Packs: exchanging records as files in a repository, without a server.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use backstory_model::ProjectIdentity;
use backstory_protocol::{RecordId, SignedRecord, TeamRecord};
use backstory_recall::ENCODER;
use backstory_store::{Share, ShareState, Store, TeamChange, TeamDevice};
use backstory_sync::{Inspection, Pack, PackHeader, inspect, received};

use super::{
    identity,
    share::{Sharer, shared_key},
};
use crate::{atomic_file, engine::Engine, error::HintedError, forgetting};

/// The largest pack that is read.
const MAX_PACK_BYTES: u64 = 256 << 20;

/// Describes a pack that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPack {
    /// The file's name.
    pub file: String,
    /// The number of records in it.
    pub records: usize,
    /// True if the file was the same before.
    pub is_unchanged: bool,
}

/// Describes what the packs of a folder brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedPacks {
    /// The number of packs of others.
    pub packs: usize,
    /// New records and versions.
    pub stored: u64,
    /// Records in quarantine.
    pub quarantined: u64,
    /// Records that their authors withdrew.
    pub deleted: u64,
    /// Lines and records that cannot be read.
    pub unreadable: usize,
    /// Files that were skipped, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// Writes the shared memories of a project into a folder.
pub fn write(
    sharer: &Sharer<'_>,
    store: &mut Store,
    project: &ProjectIdentity,
    folder: &Path,
) -> Result<WrittenPack> {
    let key = shared_key(store, &project.key)?;
    sharer.refresh(store, Some(&project.key))?;
    let shares = store.shares(Some(&project.key))?;
    let records: Vec<SignedRecord> = shares.iter().filter_map(signed).collect();
    let header = PackHeader::new(&key, sharer.device(), sharer.name(), &sharer.public_key());
    let file = existing_file(folder, &header).unwrap_or_else(|| header.file_name());
    let pack = Pack {
        header,
        records,
        unreadable: 0,
    };
    let text = pack.to_text()?;
    let path = folder.join(&file);
    let is_unchanged = fs::read(&path).is_ok_and(|known| known == text.as_bytes());
    if !is_unchanged {
        fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
        atomic_file::write(&path, text.as_bytes())
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(WrittenPack {
        file,
        records: pack.records.len(),
        is_unchanged,
    })
}

/// Returns the record of an approved share.
pub(crate) fn signed(share: &Share) -> Option<SignedRecord> {
    let body = share
        .body
        .clone()
        .filter(|_| share.state == ShareState::Approved)?;
    Some(SignedRecord {
        id: RecordId(share.record_id),
        version: share.version,
        kind: TeamRecord::parse(&body).ok()?.kind,
        body,
        signature: share.signature.clone()?.try_into().ok()?,
    })
}

/// Finds the file of this device, which may have another name since the person was renamed.
fn existing_file(folder: &Path, header: &PackHeader) -> Option<String> {
    pack_files(folder)
        .ok()?
        .into_iter()
        .find(|name| read(&folder.join(name)).is_ok_and(|pack| pack.header.device == header.device))
}

/// Reads the packs of others in a folder.
pub fn import(
    engine: &Engine,
    store: &mut Store,
    project: &ProjectIdentity,
    folder: &Path,
) -> Result<ImportedPacks> {
    let key = shared_key(store, &project.key)?;
    let own = identity::known_device(engine)?.map(|identity| identity.device);
    let mut imported = ImportedPacks::default();
    let mut documents = Vec::new();
    let names = pack_files(folder).map_err(|error| {
        HintedError::new(format_args!("could not read {}", folder.display()))
            .caused_by(error)
            .hint("name the folder that `backstory team pack` wrote")
    })?;
    for name in names {
        let pack = match read(&folder.join(&name)) {
            Ok(pack) => pack,
            Err(reason) => {
                imported.skipped.push((name, reason));
                continue;
            }
        };
        if Some(pack.header.device) == own {
            continue;
        }
        if pack.header.project != key && pack.header.project != project.key {
            let reason = format!("belongs to another project, {}", pack.header.project);
            imported.skipped.push((name, reason));
            continue;
        }
        let Some(public_key) = pack.header.key() else {
            imported.skipped.push((name, "its key cannot be read".to_owned()));
            continue;
        };
        let device = store.pin_team_device(&TeamDevice {
            device_id: pack.header.device.0,
            account_id: None,
            name: backstory_text::one_line(&pack.header.name, 80),
            public_key,
            is_trusted: true,
            pinned_at: engine.clock.timestamp(),
        })?;
        let changes = changes(store, &pack, &device, &mut imported)?;
        let applied = store.apply_team_changes(project, &changes, None, engine.clock.timestamp())?;
        imported.packs += 1;
        imported.stored += applied.stored;
        imported.quarantined += applied.quarantined;
        imported.deleted += applied.deleted;
        documents.extend(applied.documents);
    }
    if imported.deleted > 0 {
        forgetting::erase_traces(engine, store, &documents)?;
    }
    Ok(imported)
}

fn changes(
    store: &Store,
    pack: &Pack,
    device: &TeamDevice,
    imported: &mut ImportedPacks,
) -> Result<Vec<TeamChange>> {
    let name = pack.header.device.to_string();
    imported.unreadable += pack.unreadable;
    let mut withdrawn = store.records_of_pack(&name)?;
    let mut changes = Vec::new();
    for signed in &pack.records {
        withdrawn.retain(|known| *known != signed.id.0);
        let keys = [pack.header.project.as_str()];
        let (record, quarantine) = match inspect(signed, pack.header.device, Some(device), &keys) {
            Inspection::Accepted(record) => (record, None),
            Inspection::Quarantined(record, reason) => (record, Some(reason)),
            Inspection::Unreadable => {
                imported.unreadable += 1;
                continue;
            }
        };
        let record = received(&record, Some(device), quarantine, Some(&name), ENCODER);
        changes.push(TeamChange::Put(Box::new(record)));
    }
    changes.extend(withdrawn.into_iter().map(TeamChange::Delete));
    Ok(changes)
}

/// Returns the names of the packs in a folder, sorted.
fn pack_files(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<Pack, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_PACK_BYTES {
        return Err("too large for a pack".to_owned());
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    Pack::parse(&text).map_err(|error| error.to_string())
}
