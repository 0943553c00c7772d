//! The folder of backups: file names, retention, and the newest intact backup.
//!
//! | name | made | kept |
//! |---|---|---|
//! | `daily-TIME.db` | by the worker, once a day | the newest `retention.backups` |
//! | `backstory-TIME.db` | by hand | until you delete them |
//! | `before-schema-N.db` | before a migration | the newest two |
//! | `before-restore-TIME.db` | before `backstory restore` | the newest two |
//! | `damaged-TIME.db` | set aside when the database was rebuilt | the newest two |

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use backstory_model::Timestamp;
use backstory_store::{UNFINISHED, check_backup};
use backstory_system as system;

use crate::home::Home;

/// Reason for a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// Made by the worker once a day.
    Daily,
    /// Made by `backstory backup`.
    ByHand,
    /// Made before a migration.
    BeforeSchema,
    /// Made before `backstory restore`.
    BeforeRestore,
    /// Damaged database, set aside when it was rebuilt.
    Damaged,
}

impl BackupKind {
    const ALL: [Self; 5] = [
        Self::Daily,
        Self::ByHand,
        Self::BeforeSchema,
        Self::BeforeRestore,
        Self::Damaged,
    ];

    /// Returns the start of the file name.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Daily => "daily-",
            Self::ByHand => "backstory-",
            Self::BeforeSchema => "before-schema-",
            Self::BeforeRestore => "before-restore-",
            Self::Damaged => "damaged-",
        }
    }

    /// Returns the number of backups that are kept; `None` means all.
    fn max_kept(self, daily: usize) -> Option<usize> {
        const FEW: usize = 2;
        match self {
            Self::Daily => Some(daily),
            Self::ByHand => None,
            Self::BeforeSchema | Self::BeforeRestore | Self::Damaged => Some(FEW),
        }
    }
}

/// File in the folder of backups.
#[derive(Clone, Debug)]
pub struct BackupFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Derived from the file name.
    pub reason: BackupKind,
    /// Time of the last change.
    pub modified: SystemTime,
    /// File size.
    pub bytes: u64,
}

/// Returns the path of a new backup.
pub fn path_for(home: &Home, reason: BackupKind, now: Timestamp) -> PathBuf {
    let time = jiff::Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
    let name = format!("{}{}.db", reason.prefix(), time.strftime("%Y%m%dT%H%M%S%3fZ"));
    home.backups().join(name)
}

/// Lists the backups, newest first. Skips files with other names.
pub fn list(home: &Home) -> io::Result<Vec<BackupFile>> {
    let folder = match fs::read_dir(home.backups()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut copies = Vec::new();
    for entry in folder {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(".db")) else {
            continue;
        };
        let reason = BackupKind::ALL
            .into_iter()
            .find(|reason| name.starts_with(reason.prefix()));
        if let (Some(reason), Ok(file)) = (reason, entry.metadata()) {
            copies.push(BackupFile {
                path: entry.path(),
                reason,
                modified: file.modified()?,
                bytes: file.len(),
            });
        }
    }
    copies.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    Ok(copies)
}

/// Finds the newest intact backup.
pub fn last_good(home: &Home) -> io::Result<Option<PathBuf>> {
    let copies = list(home)?.into_iter();
    let mut good = copies
        .filter(|copy| copy.reason != BackupKind::Damaged)
        .filter(|copy| check_backup(&copy.path).is_ok());
    Ok(good.next().map(|copy| copy.path))
}

/// Removes backups beyond the retention limits, and unfinished files of killed processes.
pub fn prune(home: &Home, daily: usize, now: SystemTime) -> io::Result<()> {
    let copies = list(home)?;
    for reason in BackupKind::ALL {
        let of_reason = copies.iter().filter(|copy| copy.reason == reason);
        for copy in of_reason.skip(reason.max_kept(daily).unwrap_or(usize::MAX)) {
            remove(&copy.path)?;
        }
    }
    // A backup that is being made is newer than this.
    sweep(home, now - Duration::from_secs(3600))
}

/// Removes every backup but one, unless it was made by hand: it may contain forgotten memories. Returns those made by
/// hand.
pub fn remove_all_but(home: &Home, kept: &Path) -> io::Result<Vec<BackupFile>> {
    // Unfinished backups first: they may be of an earlier state, and their process tries again tomorrow. One that is finished
    // in between is found among the others.
    let swept = sweep(home, SystemTime::from(jiff::Timestamp::MAX));
    let (by_hand, others): (Vec<_>, Vec<_>) = list(home)?
        .into_iter()
        .filter(|copy| copy.path != kept)
        .partition(|copy| copy.reason == BackupKind::ByHand);
    for copy in others {
        remove(&copy.path)?;
    }
    // The finished backups are gone even if an unfinished one could not be removed.
    swept.map(|()| by_hand)
}

/// Removes a backup and its companion files.
fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm", ".json", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match system::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes unfinished backups that are older than a time.
fn sweep(home: &Home, before: SystemTime) -> io::Result<()> {
    let folder = match fs::read_dir(home.backups()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in folder {
        let entry = entry?;
        // SQLite may have left a journal next to it.
        if !entry.file_name().to_string_lossy().contains(UNFINISHED) {
            continue;
        }
        let modified = entry.metadata().and_then(|file| file.modified());
        let removed = modified.and_then(|modified| match modified < before {
            true => system::remove_file(entry.path()),
            false => Ok(()),
        });
        match removed {
            // It was finished in this moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_is_finished_during_removal_is_removed_too() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        fs::create_dir(home.backups()).unwrap();
        let copies: Vec<PathBuf> = (0..500)
            .map(|at| path_for(&home, BackupKind::Daily, Timestamp::from_millis(at)))
            .collect();
        let unfinished = |copy: &Path| copy.with_extension(format!("db{UNFINISHED}"));
        for copy in &copies {
            fs::File::create(unfinished(copy)).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for copy in &copies {
                    // Already removed.
                    fs::rename(unfinished(copy), copy).ok();
                }
            });
            remove_all_but(&home, Path::new("none")).unwrap();
        });
        assert_eq!(fs::read_dir(home.backups()).unwrap().count(), 0);
    }
}
