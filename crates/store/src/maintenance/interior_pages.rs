//! Makes rows readable again whose table lost an interior page, such as its root.
//!
//! An interior page only lists its children, and an auto-vacuum database stores the parent of every page a second time, in
//! its pointer map. A lost list can therefore be written again from the pages themselves. This works on a copy: the damaged
//! file stays as it was. The format is that of <https://sqlite.org/fileformat.html>.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use backstory_system::{OwnerOnly as _, read_exact_at, remove_file, write_all_at};
use rusqlite::OpenFlags;

use crate::schema::connect::{BusyTimeout, connect, wal_path};

const LEAF: u8 = 0x0d;
const INTERIOR: u8 = 0x05;

/// The pointer map's type of a page whose parent is another page of its b-tree.
const CHILD: u8 = 5;

/// A copy of a database. Removed when dropped.
#[derive(Debug)]
pub(super) struct RepairedCopy {
    path: PathBuf,
}

impl RepairedCopy {
    /// Copies a damaged database and writes its lost interior pages again. Returns `None` if none was lost, or if that
    /// cannot be done, for example because the disk is full.
    pub(super) fn of(damaged: &Path) -> Option<Self> {
        let file = PageFile::new(File::open(damaged).ok()?).ok()?;
        let is_log_empty = wal_path(damaged).metadata().map_or(true, |log| log.len() == 0);
        // With a log, the pages of the file may be older versions.
        if is_log_empty && file.lost_pages().ok()?.is_empty() {
            return None;
        }
        let mut path = damaged.as_os_str().to_owned();
        path.push(".salvage");
        let copy = Self { path: path.into() };
        copy.fill(damaged).ok()?;
        let file = OpenOptions::new().read(true).write(true).open(&copy.path);
        let file = PageFile::new(file.ok()?).ok()?;
        for (page, children) in file.lost_pages().ok()? {
            // Other pages may still be rebuilt.
            file.rebuild(page, &children).ok();
        }
        Some(copy)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn fill(&self, from: &Path) -> io::Result<()> {
        copy_private(from, &self.path)?;
        if wal_path(from).exists() {
            copy_private(&wal_path(from), &wal_path(&self.path))?;
        }
        // Moves the log into the file, as far as it is valid; what SQLite cannot read stays unread.
        if let Ok(connection) = connect(
            &self.path,
            OpenFlags::SQLITE_OPEN_READ_WRITE,
            BusyTimeout::Command,
        ) {
            let _moved = connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
        }
        Ok(())
    }
}

impl Drop for RepairedCopy {
    fn drop(&mut self) {
        let mut shared = self.path.as_os_str().to_owned();
        shared.push("-shm");
        for path in [&self.path, &wal_path(&self.path), &PathBuf::from(shared)] {
            // Usually only the first exists.
            remove_file(path).ok();
        }
    }
}

fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(to)?;
    io::copy(&mut File::open(from)?, &mut target).map(drop)
}

/// A database file, page by page.
struct PageFile {
    file: File,
    page_size: usize,
    /// The page size without the bytes that extensions reserve.
    usable: usize,
    pages: u32,
}

impl PageFile {
    fn new(file: File) -> io::Result<Self> {
        let mut header = [0; 100];
        read_exact_at(&file, &mut header, 0)?;
        let page_size = match u16_at(&header, 16) {
            1 => 65_536,
            size => usize::from(size),
        };
        let is_auto_vacuum = u32_at(&header, 52) != 0;
        if !page_size.is_power_of_two() || page_size < 512 || !is_auto_vacuum {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let pages = file.metadata()?.len() / page_size as u64;
        Ok(Self {
            usable: page_size - usize::from(header[20]),
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            file,
            page_size,
        })
    }

    fn page(&self, number: u32) -> io::Result<Vec<u8>> {
        let mut page = vec![0; self.page_size];
        read_exact_at(&self.file, &mut page, self.offset(number))?;
        Ok(page)
    }

    fn offset(&self, number: u32) -> u64 {
        u64::from(number - 1) * self.page_size as u64
    }

    /// Returns the interior pages of tables that do not list their children, with those children.
    fn lost_pages(&self) -> io::Result<Vec<(u32, Vec<u32>)>> {
        let mut lost = Vec::new();
        for (parent, children) in self.children()? {
            let listed = self.page(parent).map(|page| self.listed(&page));
            let is_table = |child: &u32| {
                self.page(*child)
                    .is_ok_and(|page| matches!(page[0], LEAF | INTERIOR))
            };
            let mut children: Vec<u32> = children.into_iter().filter(is_table).collect();
            children.sort_unstable();
            if !children.is_empty() && listed.ok().flatten().as_ref() != Some(&children) {
                lost.push((parent, children));
            }
        }
        Ok(lost)
    }

    /// Returns the pages of b-trees by parent, from the pointer map. The first page has no entry.
    fn children(&self) -> io::Result<BTreeMap<u32, Vec<u32>>> {
        let entries = u32::try_from(self.usable / 5).unwrap_or(u32::MAX);
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut map_page = 2;
        while map_page <= self.pages {
            let map = self.page(map_page)?;
            for (index, entry) in (0..entries).zip(map.chunks_exact(5)) {
                let page = map_page + 1 + index;
                if page <= self.pages && entry[0] == CHILD {
                    children.entry(u32_at(entry, 1)).or_default().push(page);
                }
            }
            map_page += entries + 1;
        }
        children.retain(|parent, _| (2..=self.pages).contains(parent));
        Ok(children)
    }

    /// Returns the sorted children that a page lists; `None` if it is no interior page of a table.
    fn listed(&self, page: &[u8]) -> Option<Vec<u32>> {
        if page[0] != INTERIOR {
            return None;
        }
        let mut children = vec![u32_at(page, 8)];
        for cell in cells(page, 12) {
            children.push(u32_at(page.get(cell..cell + 4)?, 0));
        }
        children.sort_unstable();
        Some(children)
    }

    /// Returns the greatest row id below a page.
    fn last_row(&self, number: u32) -> io::Result<i64> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let mut page = self.page(number)?;
        // No b-tree is deeper; a damaged one may be a circle.
        for _ in 0..20 {
            if page[0] == LEAF {
                let cell = cells(&page, 8).last().ok_or_else(invalid)?;
                let rest = page.get(cell..).ok_or_else(invalid)?;
                let (_, length) = varint(rest).ok_or_else(invalid)?;
                return varint(&rest[length..]).map(|(row, _)| row).ok_or_else(invalid);
            }
            let next = u32_at(&page, 8);
            if page[0] != INTERIOR || next == 0 || next > self.pages {
                return Err(invalid());
            }
            page = self.page(next)?;
        }
        Err(invalid())
    }

    /// Writes an interior page that lists these children.
    fn rebuild(&self, number: u32, children: &[u32]) -> io::Result<()> {
        let mut by_row: Vec<(i64, u32)> = children
            .iter()
            .filter_map(|child| Some((self.last_row(*child).ok()?, *child)))
            .collect();
        by_row.sort_unstable();
        let Some((_, rightmost)) = by_row.pop() else {
            return Ok(());
        };
        let mut page = vec![0; self.page_size];
        let (mut pointer, mut content) = (12, self.usable);
        for (row, child) in &by_row {
            let mut cell = child.to_be_bytes().to_vec();
            push_varint(*row, &mut cell);
            if pointer + 2 + cell.len() > content {
                return Err(io::ErrorKind::InvalidData.into());
            }
            content -= cell.len();
            page[content..content + cell.len()].copy_from_slice(&cell);
            page[pointer..pointer + 2].copy_from_slice(&short(content));
            pointer += 2;
        }
        page[0] = INTERIOR;
        page[3..5].copy_from_slice(&short(by_row.len()));
        page[5..7].copy_from_slice(&short(content));
        page[8..12].copy_from_slice(&rightmost.to_be_bytes());
        write_all_at(&self.file, &page, self.offset(number))
    }
}

/// Returns the offsets of a page's cells; the pointers to them start at `from`.
fn cells(page: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let count = usize::from(u16_at(page, 3));
    let pointers = page.get(from..).unwrap_or_default().chunks_exact(2);
    pointers
        .take(count)
        .map(|pointer| usize::from(u16_at(pointer, 0)))
}

/// Returns the last two bytes of a number; zero stands for 65,536 in the format.
fn short(number: usize) -> [u8; 2] {
    let [.., high, low] = number.to_be_bytes();
    [high, low]
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads a variable-length integer; returns it with its length.
fn varint(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value: i64 = 0;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index == 8 {
            return Some((value << 8 | i64::from(*byte), 9));
        }
        value = value << 7 | i64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Appends a variable-length integer. Row ids are below 2^56, so that eight bytes suffice.
fn push_varint(value: i64, out: &mut Vec<u8>) {
    let groups = (1..8).rev().filter(|group| value >> (7 * group) != 0);
    for group in groups {
        out.push(0x80 | (value >> (7 * group) & 0x7f) as u8);
    }
    out.push((value & 0x7f) as u8);
}
