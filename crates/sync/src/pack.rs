//! Packs: the records of one device as a file for a repository, so that a team can share without a server.
//!
//! One file per device keeps two people from changing the same file. The first line names the device and its key, each further
//! line is a signed record, sorted by id: the same records always give the same bytes. A record that is not in the file any
//! more was withdrawn.

use backstory_protocol::{DeviceId, SignedRecord, decode_base64, encode_base64, signature::KEY_BYTES};
use serde::{Deserialize, Serialize};

/// The first line of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackHeader {
    /// Version of the format.
    pub backstory_pack: u32,
    /// The project's key, which signatures cover.
    pub project: String,
    /// The device.
    pub device: DeviceId,
    /// The person's name.
    pub name: String,
    /// The device's public key, in base64.
    pub public_key: String,
}

impl PackHeader {
    /// The version of the format that this crate writes.
    const FORMAT: u32 = 1;

    /// Returns the header of a device's pack.
    pub fn new(project: &str, device: DeviceId, name: &str, public_key: &[u8; KEY_BYTES]) -> Self {
        Self {
            backstory_pack: Self::FORMAT,
            project: project.to_owned(),
            device,
            name: name.to_owned(),
            public_key: encode_base64(public_key),
        }
    }

    /// Returns the public key; `None` if it has the wrong length.
    pub fn key(&self) -> Option<[u8; KEY_BYTES]> {
        decode_base64(&self.public_key)?.try_into().ok()
    }

    /// Returns the name of the pack's file.
    pub fn file_name(&self) -> String {
        let name: String = self
            .name
            .to_lowercase()
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '-'
                }
            })
            .collect();
        let device = self.device.to_string();
        format!("{}-{}.jsonl", name.trim_matches('-'), &device[..8])
    }
}

/// The content of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// The first line.
    pub header: PackHeader,
    /// The records.
    pub records: Vec<SignedRecord>,
    /// The number of lines that cannot be read.
    pub unreadable: usize,
}

/// Reports a file that is no pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The first line is not that of a pack.
    #[error("not a pack: its first line names no device")]
    NoPack,
    /// A newer version wrote it.
    #[error("written by a newer version of backstory")]
    Newer,
}

impl Pack {
    /// Writes the pack.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut records: Vec<&SignedRecord> = self.records.iter().collect();
        records.sort_by_key(|record| record.id);
        let mut text = serde_json::to_string(&self.header)?;
        text.push('\n');
        for record in records {
            text.push_str(&serde_json::to_string(record)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Reads a pack. A line that cannot be read is counted and concerns no other.
    pub fn parse(text: &str) -> Result<Self, PackError> {
        let mut lines = text.lines();
        let header: PackHeader = lines
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .ok_or(PackError::NoPack)?;
        if header.backstory_pack > PackHeader::FORMAT {
            return Err(PackError::Newer);
        }
        let mut pack = Self {
            header,
            records: Vec::new(),
            unreadable: 0,
        };
        for line in lines.filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(record) => pack.records.push(record),
                Err(_) => pack.unreadable += 1,
            }
        }
        Ok(pack)
    }
}

#[cfg(test)]
mod tests {
    use backstory_protocol::{RecordId, SharedKind, signature::SIGNATURE_BYTES};
    use proptest::prelude::*;

    use super::*;

    fn header() -> PackHeader {
        PackHeader::new(
            "example.org/app",
            DeviceId([0xab; 16]),
            "Ana B. Çelik",
            &[2; KEY_BYTES],
        )
    }

    fn record(id: u8, body: &str) -> SignedRecord {
        SignedRecord {
            id: RecordId([id; 16]),
            version: 1,
            kind: SharedKind::Note,
            body: body.to_owned(),
            signature: [id; SIGNATURE_BYTES],
        }
    }

    #[test]
    fn a_file_is_named_after_its_person_and_device() {
        assert_eq!(header().file_name(), "ana-b---elik-abababab.jsonl");
        assert_eq!(header().key(), Some([2; KEY_BYTES]));
    }

    #[test]
    fn a_bad_line_concerns_no_other() {
        let pack = Pack {
            header: header(),
            records: vec![record(1, "{}"), record(2, "{}")],
            unreadable: 0,
        };
        let text = pack.to_text().unwrap().replacen("\"kind\"", "\"sort\"", 1);
        let read = Pack::parse(&text).unwrap();
        assert_eq!((read.records.len(), read.unreadable), (1, 1));
        assert_eq!(Pack::parse("{}\n"), Err(PackError::NoPack));
        let newer = pack
            .to_text()
            .unwrap()
            .replace("\"backstory_pack\":1", "\"backstory_pack\":2");
        assert_eq!(Pack::parse(&newer), Err(PackError::Newer));
    }

    proptest! {
        #[test]
        fn packs_round_trip_in_any_order(ids in prop::collection::btree_set(any::<u8>(), 0..12), text in ".{0,60}") {
            let records: Vec<SignedRecord> = ids.iter().map(|id| record(*id, &text)).collect();
            let sorted = Pack { header: header(), records: records.clone(), unreadable: 0 };
            let reversed = Pack { records: records.into_iter().rev().collect(), ..sorted.clone() };
            let written = sorted.to_text().unwrap();
            prop_assert_eq!(&reversed.to_text().unwrap(), &written);
            prop_assert_eq!(Pack::parse(&written).unwrap(), sorted);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _read = Pack::parse(&text);
        }
    }
}
