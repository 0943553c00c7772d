//! Which memories have a vector, and the vectors that are not in the file beside the database yet.

use backstory_model::{DocumentId, Handle, MemoryKind};
use rusqlite::{TransactionBehavior, params};

use crate::{Store, StoreError, schema::open::query};

/// A memory that has no vector yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToEmbed {
    /// The number of its document.
    pub document: DocumentId,
    /// How it is named.
    pub handle: Handle,
}

/// At which end to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedOrder {
    /// At the newest of each kind.
    Newest,
    /// At the oldest: two that work at the same time meet in the middle.
    Oldest,
}

/// A vector as it is stored: signed bytes and what one of them is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// The number of the document that it stands for.
    pub document: DocumentId,
    /// What one step is worth.
    pub scale: f32,
    /// One signed byte per dimension.
    pub bytes: Vec<u8>,
}

/// How many memories there are, and how many of them have a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Memories with a vector.
    pub embedded: u64,
    /// All memories that can be found.
    pub documents: u64,
}

impl Store {
    /// Returns memories without a vector, the most telling kinds first.
    pub fn documents_to_embed(&self, begin: EmbedOrder, most: usize) -> Result<Vec<ToEmbed>, StoreError> {
        // Named: the planner would rather look through all documents than sort.
        const NEWEST: &str = "select id, memory_id from document indexed by document_to_embed where embedded = 0 and kind = ?1 order by id desc limit ?2";
        const OLDEST: &str = "select id, memory_id from document indexed by document_to_embed where embedded = 0 and kind = ?1 order by id limit ?2";
        let attempt = query("look for memories without a vector");
        let sql = match begin {
            EmbedOrder::Newest => NEWEST,
            EmbedOrder::Oldest => OLDEST,
        };
        let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
        let mut found: Vec<ToEmbed> = Vec::new();
        for kind in MemoryKind::ALL {
            let left = i64::try_from(most.saturating_sub(found.len())).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![kind, left], |row| {
                Ok(ToEmbed {
                    document: row.get(0)?,
                    handle: Handle {
                        kind,
                        id: row.get(1)?,
                    },
                })
            });
            for row in rows.map_err(attempt)? {
                found.push(row.map_err(attempt)?);
            }
        }
        Ok(found)
    }

    /// Stores vectors. Those of memories that were forgotten meanwhile are left out.
    pub fn put_vectors(&mut self, vectors: &[StoredVector]) -> Result<(), StoreError> {
        const EMBEDDED: &str = "update document set embedded = 1 where id = ?1";
        const PUT: &str = "insert or replace into vector (document_id, scale, bytes) values (?1, ?2, ?3)";
        let attempt = query("store vectors");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<()> {
            for vector in vectors {
                if transaction.prepare_cached(EMBEDDED)?.execute([vector.document])? == 1 {
                    transaction.prepare_cached(PUT)?.execute(params![
                        vector.document,
                        vector.scale,
                        vector.bytes
                    ])?;
                }
            }
            Ok(())
        };
        run().map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }

    /// Returns the vectors that are not in the file yet, in the order of their documents.
    pub fn fresh_vectors(&self) -> Result<Vec<StoredVector>, StoreError> {
        const FRESH: &str = "select document_id, scale, bytes from vector order by document_id";
        let attempt = query("read vectors");
        let mut statement = self.connection.prepare_cached(FRESH).map_err(attempt)?;
        let rows = statement.query_map([], |row| {
            Ok(StoredVector {
                document: row.get(0)?,
                scale: row.get(1)?,
                bytes: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Says how many vectors wait for the file.
    pub fn fresh_vector_count(&self) -> Result<u64, StoreError> {
        let count = self
            .connection
            .query_row("select count(*) from vector", [], |row| row.get(0));
        count.map_err(query("count vectors"))
    }

    /// Removes vectors that are in the file now.
    pub fn mark_filed(&mut self, documents: &[DocumentId]) -> Result<(), StoreError> {
        const FILED: &str = "delete from vector where document_id = ?1";
        let attempt = query("remove vectors that are in the file");
        let transaction = self.connection.transaction().map_err(attempt)?;
        for document in documents {
            let mut statement = transaction.prepare_cached(FILED).map_err(attempt)?;
            statement.execute([document]).map_err(attempt)?;
        }
        transaction.commit().map_err(attempt)
    }

    /// Returns the documents that have a vector, in their order.
    pub fn embedded_documents(&self) -> Result<Vec<DocumentId>, StoreError> {
        const EMBEDDED: &str = "select id from document where embedded = 1 order by id";
        let attempt = query("read which memories have a vector");
        let mut statement = self.connection.prepare_cached(EMBEDDED).map_err(attempt)?;
        let rows = statement.query_map([], |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Takes note that documents have no vector after all: they are embedded again.
    pub fn mark_missing(&mut self, documents: &[DocumentId]) -> Result<(), StoreError> {
        const LOST: &str = "update document set embedded = 0 where id = ?1";
        let attempt = query("take note of lost vectors");
        let transaction = self.connection.transaction().map_err(attempt)?;
        for document in documents {
            let mut statement = transaction.prepare_cached(LOST).map_err(attempt)?;
            statement.execute([document]).map_err(attempt)?;
        }
        transaction.commit().map_err(attempt)
    }

    /// Says how many memories have a vector.
    pub fn coverage(&self) -> Result<Coverage, StoreError> {
        const MISSING: &str = "select count(*) from document indexed by document_to_embed where embedded = 0";
        const ALL: &str = "select coalesce(sum(documents), 0) from document_count";
        let attempt = query("count vectors");
        let count = |sql| {
            self.connection
                .query_row(sql, [], |row| row.get::<_, u64>(0))
                .map_err(attempt)
        };
        let (missing, documents) = (count(MISSING)?, count(ALL)?);
        Ok(Coverage {
            embedded: documents.saturating_sub(missing),
            documents,
        })
    }

    /// Takes note that no document has a vector any more.
    pub fn forget_vectors(&mut self) -> Result<(), StoreError> {
        const ALL: &str = "delete from vector; update document set embedded = 0 where embedded = 1";
        self.connection
            .execute_batch(ALL)
            .map_err(query("forget the vectors"))
    }
}

impl Coverage {
    /// Returns the share of memories that have a vector; of none, all have.
    pub fn share(self) -> f64 {
        let as_f64 = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        match self.documents {
            0 => 1.0,
            documents => as_f64(self.embedded) / as_f64(documents),
        }
    }
}
