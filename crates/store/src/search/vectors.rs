//! The vectors of documents: those without one, and those that are not in the vector file yet.
//!
//! A new vector goes into the table `vector` first and is moved into the file beside the database in batches.

use backstory_model::{DocumentId, Handle, MemoryKind};
use rusqlite::{Connection, params};

use crate::{Store, StoreError, sql::Statements as _};

/// Holds a memory without a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToEmbed {
    /// The document.
    pub document: DocumentId,
    /// The memory.
    pub handle: Handle,
}

/// Selects the end to start at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedOrder {
    /// The newest of each kind first.
    Newest,
    /// The oldest first: two processes that embed at the same time meet in the middle.
    Oldest,
}

/// Holds a quantized vector.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// The document.
    pub document: DocumentId,
    /// The value of one step.
    pub scale: f32,
    /// One signed byte per dimension.
    pub bytes: Vec<u8>,
}

/// Holds the number of documents with and without a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Documents with a vector.
    pub embedded: u64,
    /// All documents.
    pub documents: u64,
}

impl Store {
    /// Returns memories without a vector, the kinds with the most authority first.
    pub fn documents_to_embed(&self, order: EmbedOrder, limit: usize) -> Result<Vec<ToEmbed>, StoreError> {
        // Pinned plans: the planner would rather scan all documents than sort.
        const NEWEST: &str = "select id, memory_id from document indexed by document_to_embed where embedded = 0 and kind = ?1 order by id desc limit ?2";
        const OLDEST: &str = "select id, memory_id from document indexed by document_to_embed where embedded = 0 and kind = ?1 order by id limit ?2";
        let sql = match order {
            EmbedOrder::Newest => NEWEST,
            EmbedOrder::Oldest => OLDEST,
        };
        self.read("look for memories without a vector", |connection| {
            let mut found: Vec<ToEmbed> = Vec::new();
            for kind in MemoryKind::ALL {
                let left = i64::try_from(limit.saturating_sub(found.len())).unwrap_or(i64::MAX);
                found.extend(connection.rows(sql, params![kind, left], |row| {
                    Ok(ToEmbed {
                        document: row.get("id")?,
                        handle: Handle {
                            kind,
                            id: row.get("memory_id")?,
                        },
                    })
                })?);
            }
            Ok(found)
        })
    }

    /// Stores vectors. Skips those of memories that were forgotten meanwhile.
    pub fn put_vectors(&mut self, vectors: &[StoredVector]) -> Result<(), StoreError> {
        self.write("store vectors", |tx| {
            vectors.iter().try_for_each(|vector| put(tx, vector))
        })
    }

    /// Returns the vectors that are not in the file yet, in the order of their documents.
    pub fn fresh_vectors(&self) -> Result<Vec<StoredVector>, StoreError> {
        // By position: every search reads them.
        const FRESH: &str = "select document_id, scale, bytes from vector order by document_id";
        self.read("read vectors", |connection| {
            connection.rows(FRESH, [], |row| {
                Ok(StoredVector {
                    document: row.get(0)?,
                    scale: row.get(1)?,
                    bytes: row.get(2)?,
                })
            })
        })
    }

    /// Returns the number of vectors that are not in the file yet.
    pub fn fresh_vector_count(&self) -> Result<u64, StoreError> {
        self.read("count vectors", |connection| {
            connection.row("select count(*) from vector", [], |row| row.get(0))
        })
    }

    /// Removes vectors that are in the file now.
    pub fn mark_filed(&mut self, documents: &[DocumentId]) -> Result<(), StoreError> {
        const REMOVE: &str = "delete from vector where document_id = ?1";
        self.write("remove filed vectors", |tx| {
            for document in documents {
                tx.run(REMOVE, [document])?;
            }
            Ok(())
        })
    }

    /// Returns the documents that have a vector, in order.
    pub fn embedded_documents(&self) -> Result<Vec<DocumentId>, StoreError> {
        const EMBEDDED: &str = "select id from document where embedded = 1 order by id";
        self.read("list documents with a vector", |connection| {
            // By position: these are most documents of the store.
            connection.rows(EMBEDDED, [], |row| row.get(0))
        })
    }

    /// Marks documents as without a vector, so that they are embedded again.
    pub fn mark_missing(&mut self, documents: &[DocumentId]) -> Result<(), StoreError> {
        const MISSING: &str = "update document set embedded = 0 where id = ?1";
        self.write("mark missing vectors", |tx| {
            for document in documents {
                tx.run(MISSING, [document])?;
            }
            Ok(())
        })
    }

    /// Counts the documents with a vector.
    pub fn coverage(&self) -> Result<Coverage, StoreError> {
        const MISSING: &str = "select count(*) from document indexed by document_to_embed where embedded = 0";
        const ALL: &str = "select coalesce(sum(documents), 0) from document_count";
        self.read("count vectors", |connection| {
            let count = |sql| connection.row(sql, [], |row| row.get::<_, u64>(0));
            let (missing, documents) = (count(MISSING)?, count(ALL)?);
            Ok(Coverage {
                embedded: documents.saturating_sub(missing),
                documents,
            })
        })
    }

    /// Marks all documents as without a vector.
    pub fn forget_vectors(&mut self) -> Result<(), StoreError> {
        const ALL: &str = "delete from vector; update document set embedded = 0 where embedded = 1";
        self.write("drop all vectors", |tx| tx.execute_batch(ALL))
    }
}

/// Stores a vector, unless its document is gone.
pub(crate) fn put(connection: &Connection, vector: &StoredVector) -> rusqlite::Result<()> {
    const EMBEDDED: &str = "update document set embedded = 1 where id = ?1";
    const PUT: &str = "insert or replace into vector (document_id, scale, bytes) values (?1, ?2, ?3)";
    if connection.run(EMBEDDED, [vector.document])? == 1 {
        connection.run(PUT, params![vector.document, vector.scale, vector.bytes])?;
    }
    Ok(())
}

impl Coverage {
    /// Returns the share of documents with a vector; 1 for an empty store.
    pub fn share(self) -> f64 {
        let as_f64 = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        match self.documents {
            0 => 1.0,
            documents => as_f64(self.embedded) / as_f64(documents),
        }
    }
}
