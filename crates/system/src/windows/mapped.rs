//! A file as memory.
//!
//! Read as a whole: a file that somebody has mapped cannot be replaced here, and whoever makes it anew must not have to
//! wait for whoever searches.

use std::{
    fs::File,
    io::{self, Read as _},
    ops::Deref,
};

/// A whole file.
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
