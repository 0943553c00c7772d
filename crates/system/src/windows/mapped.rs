//! Files in memory, with the interface of memory-mapped files.
//!
//! Read as a whole: here a mapped file cannot be replaced, and the process that rewrites it must not have to wait for
//! searches.

use std::{
    fs::File,
    io::{self, Read as _},
    ops::Deref,
};

/// Content of a whole file.
#[derive(Debug)]
pub struct MappedFile(Vec<u8>);

impl MappedFile {
    /// Reads a file.
    pub fn new(mut file: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
