//! Behavior that both platforms share.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and write files directly"
)]

use std::{
    fs::{self, File, OpenOptions},
    io::IoSlice,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use backstory_system::{
    DirWatcher, Lock, MappedFile, OwnerOnly as _, can_write, canonicalize, free_bytes, holder, identity,
    is_open_to_others, open_nonblocking, open_to_lock, read_exact_at, sync_folder, write_all_at, write_parts,
};

#[test]
fn a_file_has_one_identity_under_all_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, other] = ["one", "two", "other"].map(|name| folder.path().join(name));
    fs::write(&one, "").unwrap();
    fs::write(&other, "").unwrap();
    fs::hard_link(&one, &two).unwrap();
    assert_eq!(identity(&one).unwrap(), identity(&two).unwrap());
    assert_ne!(identity(&one).unwrap(), identity(&other).unwrap());
    assert_ne!(identity(folder.path()).unwrap(), identity(&one).unwrap());
    assert!(identity(&folder.path().join("none")).is_err());
}

#[test]
fn files_are_written_in_parts_and_at_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).private();
    let mut file = options.open(&path).unwrap();
    write_parts(
        &mut file,
        &["ab", "", "cdef"].map(|part| IoSlice::new(part.as_bytes())),
    )
    .unwrap();
    write_all_at(&file, b"XY", 1).unwrap();
    let mut three = [0; 3];
    read_exact_at(&file, &mut three, 2).unwrap();
    assert_eq!(&three, b"Yde");
    let beyond = read_exact_at(&file, &mut three, 4).unwrap_err();
    assert_eq!(beyond.kind(), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(&*MappedFile::new(&File::open(&path).unwrap()).unwrap(), b"aXYdef");
    assert_ne!(is_open_to_others(&path), Some(true));
    assert!(open_nonblocking(&path, false).is_ok());
    sync_folder(folder.path()).unwrap();
}

#[test]
fn a_folder_is_writable_and_can_be_locked() {
    let folder = tempfile::tempdir().unwrap();
    can_write(folder.path()).unwrap();
    assert!(can_write(&folder.path().join("none")).is_err());
    assert!(free_bytes(folder.path()).unwrap() > 0);
    let canonical = canonicalize(folder.path()).unwrap();
    assert_eq!(
        canonicalize(&canonical.join("..").join(&canonical)).unwrap(),
        canonical
    );
    let [first, second] = [0; 2].map(|_| open_to_lock(folder.path()).unwrap());
    first.try_lock().unwrap();
    assert!(second.try_lock().is_err());
    drop(first);
    second.try_lock().unwrap();
}

#[test]
fn a_free_lock_has_no_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    assert_eq!(holder(&path), None);
    drop(Lock::take(&path).unwrap().unwrap());
    assert_eq!(holder(&path), None);
    assert!(Lock::take(&path).unwrap().is_some());
}

#[test]
fn a_watcher_wakes_up_when_a_file_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let [new, tmp] = ["new", "tmp"].map(|name| folder.path().join(name));
    fs::create_dir(&new).unwrap();
    let watcher = DirWatcher::watch(&new).unwrap();
    for number in 0..3 {
        let (from, to) = (tmp.clone(), new.join(number.to_string()));
        thread::spawn(move || arrive(&from, &to));
        let start = Instant::now();
        watcher.wait(Duration::from_secs(20), Duration::ZERO).unwrap();
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "the watcher did not wake up"
        );
    }
}

fn arrive(from: &Path, to: &Path) {
    thread::sleep(Duration::from_millis(50));
    fs::write(from, "").unwrap();
    fs::rename(from, to).unwrap();
}
