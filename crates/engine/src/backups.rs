//! The folder of backups: what its files are called, which are kept, which is the last good one.
//!
//! | name | taken | kept |
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

/// Why a copy was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// Taken by the worker once a day.
    Daily,
    /// Taken by `backstory backup`.
    ByHand,
    /// Taken before a migration.
    BeforeSchema,
    /// Taken before `backstory restore`.
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

    /// How many are kept; `None` is all of them.
    fn max_kept(self, daily: usize) -> Option<usize> {
        const FEW: usize = 2;
        match self {
            Self::Daily => Some(daily),
            Self::ByHand => None,
            Self::BeforeSchema | Self::BeforeRestore | Self::Damaged => Some(FEW),
        }
    }
}

/// A file of the folder.
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

/// Returns the path of a copy that is made now.
pub fn path_for(home: &Home, reason: BackupKind, now: Timestamp) -> PathBuf {
    let time = jiff::Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
    let name = format!("{}{}.db", reason.prefix(), time.strftime("%Y%m%dT%H%M%S%3fZ"));
    home.backups().join(name)
}

/// Lists the copies, the newest first. Files with other names are not ours.
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

/// Finds the newest copy that is whole.
pub fn last_good(home: &Home) -> io::Result<Option<PathBuf>> {
    let copies = list(home)?.into_iter();
    let mut good = copies
        .filter(|copy| copy.reason != BackupKind::Damaged)
        .filter(|copy| check_backup(&copy.path).is_ok());
    Ok(good.next().map(|copy| copy.path))
}

/// Removes the copies that are not kept any longer, and what killed processes left unfinished.
pub fn prune(home: &Home, daily: usize, now: SystemTime) -> io::Result<()> {
    let copies = list(home)?;
    for reason in BackupKind::ALL {
        let of_reason = copies.iter().filter(|copy| copy.reason == reason);
        for copy in of_reason.skip(reason.max_kept(daily).unwrap_or(usize::MAX)) {
            remove(&copy.path)?;
        }
    }
    // One that is being made is younger.
    sweep(home, now - Duration::from_secs(3600))
}

/// Removes every copy but one, unless it was taken by hand: it may hold what was forgotten since. Returns those taken by
/// hand.
pub fn remove_all_but(home: &Home, kept: &Path) -> io::Result<Vec<BackupFile>> {
    // First also what is being made: it may be of an earlier moment. Whoever makes it tries again tomorrow. One that got its
    // name just before is found among the others.
    let swept = sweep(home, SystemTime::from(jiff::Timestamp::MAX));
    let (by_hand, others): (Vec<_>, Vec<_>) = list(home)?
        .into_iter()
        .filter(|copy| copy.path != kept)
        .partition(|copy| copy.reason == BackupKind::ByHand);
    for copy in others {
        remove(&copy.path)?;
    }
    // Where one that is being made cannot be removed, the others are gone all the same.
    swept.map(|()| by_hand)
}

/// Removes a copy and what stands beside it.
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

/// Removes copies that were begun and not finished before a time.
fn sweep(home: &Home, before: SystemTime) -> io::Result<()> {
    let folder = match fs::read_dir(home.backups()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in folder {
        let entry = entry?;
        // Beside it, SQLite may have left its journal.
        if !entry.file_name().to_string_lossy().contains(UNFINISHED) {
            continue;
        }
        let modified = entry.metadata().and_then(|file| file.modified());
        let removed = modified.and_then(|modified| match modified < before {
            true => system::remove_file(entry.path()),
            false => Ok(()),
        });
        match removed {
            // It was finished at this moment.
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
    fn a_copy_that_is_finished_while_the_others_go_goes_too() {
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
                    // Swept already.
                    fs::rename(unfinished(copy), copy).ok();
                }
            });
            remove_all_but(&home, Path::new("none")).unwrap();
        });
        assert_eq!(fs::read_dir(home.backups()).unwrap().count(), 0);
    }
}
