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

/// Does nothing: a user's profile folder is closed to other users, and new files inherit that.
impl OwnerOnly for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// Does nothing, as with files.
impl OwnerOnly for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// Returns `None`: this system has no file modes.
pub fn is_open_to_others(_path: &Path) -> Option<bool> {
    None
}

/// Returns `None`: the permissions of the folder are not checked here.
pub fn folder_risk(_folder: &Path) -> Option<&'static str> {
    None
}

/// Returns true: the permissions of the folder decide who may write there.
pub fn is_own(_path: &Path) -> bool {
    true
}

/// Extensions of programs and scripts.
const PROGRAMS: [&str; 4] = ["exe", "com", "cmd", "bat"];

/// Returns the file names that a program may have. Without scripts: they cannot take multi-line arguments.
pub fn program_names(name: &str) -> impl Iterator<Item = String> + use<> {
    [format!("{name}.exe")].into_iter()
}

/// Returns true if a file is executable.
pub fn is_program(path: &Path) -> bool {
    let is_named_so = path
        .extension()
        .is_some_and(|extension| PROGRAMS.iter().any(|known| extension.eq_ignore_ascii_case(known)));
    is_named_so && path.is_file()
}

/// Formats a program's path so that every shell understands it; `None` if it is not valid Unicode. Some shells take a
/// backslash as an escape, and Windows accepts slashes; a name with spaces has a short form, unless that is disabled.
pub fn shell_path(path: &Path) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || r":/\.-_+~".contains(c);
    let text = path.to_str()?;
    let short = match text.chars().all(is_plain) {
        true => None,
        false => short_name(path),
    };
    Some(short.unwrap_or_else(|| text.to_owned()).replace('\\', "/"))
}

/// Returns the 8.3 form of a path.
fn short_name(path: &Path) -> Option<String> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut short = vec![0; 1024];
    let room = u32::try_from(short.len()).ok()?;
    // SAFETY: the path is null-terminated, and at most `room` characters are written.
    let length = unsafe { GetShortPathNameW(path.as_ptr(), short.as_mut_ptr(), room) };
    let length = usize::try_from(length)
        .ok()
        .filter(|length| (1..short.len()).contains(length))?;
    String::from_utf16(&short[..length]).ok()
}

/// Fails if a folder cannot be listed and written.
pub fn can_write(folder: &Path) -> io::Result<()> {
    fs::read_dir(folder)?;
    // Access depends on ACLs that only the system can evaluate.
    let trial = folder.join(format!("trial.{}", std::process::id()));
    File::create(&trial)?;
    fs::remove_file(trial)
}

/// Returns the free space that this user may use.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path is null-terminated; the number is a local variable, and unused results may be null.
    match unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(free),
    }
}

/// Returns volume and file index, which identify a file under all its names; links are followed.
pub fn identity(path: &Path) -> io::Result<(u64, u64)> {
    // Folders need this flag. Opened for metadata only, so that no other access is blocked.
    let file = OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)?;
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open while `file` exists, and the result is a local variable.
    match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut about) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok((
            u64::from(about.dwVolumeSerialNumber),
            u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow),
        )),
    }
}

/// Reads from an offset. The file position afterwards is unspecified.
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

/// Writes to an offset. The file position afterwards is unspecified.
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

/// Renames a file and replaces an existing one.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    retry_while_busy(|| fs::rename(&from, &to))
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    retry_while_busy(|| fs::remove_file(&path))
}

/// Retries while another program has the file open: virus scanners and backup programs open every new file for a few
/// milliseconds, and it cannot be renamed or removed then.
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

/// Does nothing: the journal of the file system keeps renames.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::metadata(folder).map(drop)
}

/// Opens a lock file in a folder: folders themselves cannot be locked here.
pub fn open_to_lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.open(folder.join("folder.lock"))
}

/// Opens a file for reading; fails on a link unless `follows_links` is set.
pub fn open_nonblocking(path: &Path, follows_links: bool) -> io::Result<File> {
    if !follows_links && fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(path)
}

/// Converts bytes to a path, if they are valid.
pub fn path_from_bytes(bytes: &[u8]) -> Option<PathBuf> {
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Resolves links. Returns the usual form of the path, without the `\\?\` prefix.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    let canonical = fs::canonicalize(path)?;
    let spelled = canonical.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    Ok(match spelled.map(|text| (text, text.strip_prefix(r"UNC\"))) {
        Some((_, Some(share))) => PathBuf::from(format!(r"\\{share}")),
        Some((text, None)) if text.as_bytes().get(1) == Some(&b':') => PathBuf::from(text),
        _ => canonical,
    })
}

/// Returns `None`: this system has no such call.
pub fn canonical_already(_path: &Path) -> Option<bool> {
    None
}
