//! Files and folders.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, IoSlice, Write as _},
    os::windows::{
        ffi::OsStrExt as _,
        fs::{FileExt as _, OpenOptionsExt as _},
        io::AsRawHandle as _,
    },
    path::{Path, PathBuf},
    ptr, thread,
    time::Duration,
};

use windows_sys::Win32::{
    Foundation::{ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION},
    Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW,
        GetFileInformationByHandle, GetShortPathNameW,
    },
};

use crate::OwnerOnly;

/// A person's own folder is closed to others here, and what is made in it inherits that.
impl OwnerOnly for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// As with files.
impl OwnerOnly for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// Says whether others than its owner may read a file or folder; here modes do not tell.
pub fn is_open_to_others(_path: &Path) -> Option<bool> {
    None
}

/// What the names of programs and scripts end with.
const PROGRAMS: [&str; 4] = ["exe", "com", "cmd", "bat"];

/// Returns the names that a program's file may have. Not those of scripts: they cannot be given lines of text.
pub fn program_names(name: &str) -> impl Iterator<Item = String> + use<> {
    [format!("{name}.exe")].into_iter()
}

/// Says whether a file can be run.
pub fn is_program(path: &Path) -> bool {
    let is_named_so = path
        .extension()
        .is_some_and(|extension| PROGRAMS.iter().any(|known| extension.eq_ignore_ascii_case(known)));
    is_named_so && path.is_file()
}

/// Spells a program's path so that every shell understands it; `None` when it is no text. To some shells here a backslash
/// means something else, and the system takes either; a name with blanks has a short one, unless that is switched off.
pub fn shell_path(path: &Path) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || r":/\.-_+~".contains(c);
    let text = path.to_str()?;
    let short = match text.chars().all(is_plain) {
        true => None,
        false => short_name(path),
    };
    Some(short.unwrap_or_else(|| text.to_owned()).replace('\\', "/"))
}

/// Returns the name of at most eight letters and three that old programs know a file by, and everything above it.
fn short_name(path: &Path) -> Option<String> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut short = vec![0; 1024];
    let room = u32::try_from(short.len()).ok()?;
    // SAFETY: the path ends with zero, and as many letters as there is room for are written.
    let length = unsafe { GetShortPathNameW(path.as_ptr(), short.as_mut_ptr(), room) };
    let length = usize::try_from(length)
        .ok()
        .filter(|length| (1..short.len()).contains(length))?;
    String::from_utf16(&short[..length]).ok()
}

/// Fails when a folder cannot be listed and written.
pub fn can_write(folder: &Path) -> io::Result<()> {
    fs::read_dir(folder)?;
    // Who may write is told by lists that only the system can work out.
    let trial = folder.join(format!("trial.{}", std::process::id()));
    File::create(&trial)?;
    fs::remove_file(trial)
}

/// Returns how much room a disk has for us.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path ends with zero; the number is ours, and what is not asked for may be null.
    match unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(free),
    }
}

/// Returns what tells a file from every other, however it is called; links are followed.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    // Folders are opened with this flag only. To look at, not to read: nobody is in anybody's way.
    let file = OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file` lives, and what is filled in is ours.
    match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut about) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok((
            u64::from(about.dwVolumeSerialNumber),
            u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow),
        )),
    }
}

/// Reads from a place in a file. Where the file stands afterwards is not said.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}

/// Writes to a place in a file. Where the file stands afterwards is not said.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                bytes = &bytes[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}

/// Writes the parts of a file in one call; here they have to be copied together.
pub fn write_parts(file: &mut File, parts: &[IoSlice<'_>]) -> io::Result<()> {
    let whole: Vec<u8> = parts.iter().flat_map(|part| part.iter()).copied().collect();
    file.write_all(&whole)
}

/// Renames a file, in the place of another if there is one.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    retry_while_busy(|| fs::rename(&from, &to))
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    retry_while_busy(|| fs::remove_file(&path))
}

/// Does something again while another program looks into the file: those that look for viruses or make copies do so for
/// a few milliseconds whenever a file is new, and nobody else may rename or remove it then.
fn retry_while_busy(act: impl Fn() -> io::Result<()>) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    let is_held = |error: &io::Error| {
        let code = error.raw_os_error().map(i32::cast_unsigned);
        [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION]
            .map(Some)
            .contains(&code)
    };
    for _ in 0..20 {
        match act() {
            Err(error) if is_held(&error) => thread::sleep(PAUSE),
            done => return done,
        }
    }
    act()
}

/// Has the disk keep what was renamed in a folder: the file system's own journal does.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::metadata(folder).map(drop)
}

/// Opens what stands for a folder to lock it: a file in it, for folders cannot be locked here.
pub fn open_to_lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.open(folder.join("folder.lock"))
}

/// Opens a file to read it; fails on a link that is not to be followed.
pub fn open_nonblocking(path: &Path, follows_links: bool) -> io::Result<File> {
    if !follows_links && fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(path)
}

/// Takes bytes as a path, if they can be one.
pub fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Resolves links. The answer is spelled as people and agents spell it, without the prefix of the system's own spelling.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    let canonical = fs::canonicalize(path)?;
    let spelled = canonical.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    Ok(match spelled.map(|text| (text, text.strip_prefix(r"UNC\"))) {
        Some((_, Some(share))) => PathBuf::from(format!(r"\\{share}")),
        Some((text, None)) if text.as_bytes().get(1) == Some(&b':') => PathBuf::from(text),
        _ => canonical,
    })
}

/// Says whether a tidy absolute path is canonical already; here nothing tells at once.
pub fn canonical_already(_path: &Path) -> Option<bool> {
    None
}
