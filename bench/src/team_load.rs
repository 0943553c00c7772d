//! Fills the database of a team server with synthetic records, past the server: loading a million by pushes would take long.
//!
//! Words follow Zipf's law and vectors form clusters, so that lengths and frequencies resemble real records. The numbers tell
//! speed and size, not quality.

use std::{
    io::{BufWriter, Write},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use backstory_protocol::{Embedding, SharedProject, TeamRecord};
use miniz_oxide::deflate::compress_to_vec;

use crate::{person::Person, random::Random, team_server::TeamServer};

/// Words in the vocabulary.
const WORDS: usize = 30_000;

/// Returns a word: rank 0 is the most frequent one.
fn word(random: &mut Random) -> String {
    // Uniform in the logarithm of the rank: frequency is inverse to rank.
    let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
    let rank = (WORDS as f64).powf(share);
    format!("word{rank:.0}")
}

/// Returns some words.
pub(crate) fn words(random: &mut Random, count: usize) -> String {
    let words: Vec<String> = (0..count).map(|_| word(random)).collect();
    words.join(" ")
}

/// Returns a vector near one of a thousand directions.
pub(crate) fn embedding(random: &mut Random) -> Embedding {
    let mut direction = Random::new(1 + random.below(1_000) as u64);
    let mut value = || {
        let shared = direction.below(161);
        let own = random.below(93);
        u8::try_from(shared + own).unwrap_or(u8::MAX).wrapping_sub(126)
    };
    Embedding {
        scale: 0.01,
        bytes: std::array::from_fn(|_| value()),
    }
}

/// Fills a record with 40 to 80 words and a vector.
pub(crate) fn fill(record: &mut TeamRecord, random: &mut Random) {
    let count = 40 + random.below(41);
    record.title = words(random, 8);
    record.narrative = words(random, count - 8);
    record.encoder = Some(backstory_embed::MODEL.to_owned());
    record.embedding = Some(embedding(random));
}

/// Creates projects with these numbers of records, and returns them in this order.
pub(crate) fn load(server: &TeamServer<'_>, person: &Person, sizes: &[usize]) -> Result<Vec<SharedProject>> {
    let first = person.project("example.org/0");
    server.sql(&format!(
        "insert into project (team_id, key, name) select team_id, 'example.org/' || n, 'project ' || n
         from project, generate_series(1, {}) n where id = {}",
        sizes.len() - 1,
        first.id
    ));
    let me: backstory_protocol::Me = person.get("/v1/me").json();
    let mut projects = me.projects;
    projects.sort_by_key(|project| project.id);
    ensure!(projects.len() == sizes.len(), "all projects exist");
    let indexes = ["memory_by_terms", "memory_by_sign_bits"];
    let definitions: Vec<String> = indexes
        .iter()
        .map(|index| server.sql(&format!("select pg_get_indexdef('{index}'::regclass)")))
        .collect();
    for index in indexes {
        server.sql(&format!("drop index {index}"));
    }
    copy(server, person, &projects, sizes)?;
    for definition in definitions {
        server.sql(&definition);
    }
    server.sql(
        "update project p set head_seq = m.n, record_count = m.n
         from (select project_id, count(*) as n from memory group by project_id) m where m.project_id = p.id",
    );
    server.sql("vacuum (analyze) memory");
    let me: backstory_protocol::Me = person.get("/v1/me").json();
    let mut projects = me.projects;
    projects.sort_by_key(|project| project.id);
    Ok(projects)
}

fn copy(server: &TeamServer<'_>, person: &Person, projects: &[SharedProject], sizes: &[usize]) -> Result<()> {
    const COPY: &str =
        "copy memory (project_id, id, seq, version, author_id, device_id, kind, created_at, body, signature,
        search_terms, sign_bits) from stdin";
    let mut psql = server
        .cluster
        .psql(&server.database)
        .args(["-c", COPY])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut out = BufWriter::new(psql.stdin.take().context("psql reads its stdin")?);
    let mut random = Random::new(7);
    for (project, size) in projects.iter().zip(sizes) {
        for seq in 1..=*size {
            let mut record = person.record("");
            fill(&mut record, &mut random);
            write_row(&mut out, person, project, seq, &record)?;
        }
    }
    drop(out.into_inner()?);
    ensure!(psql.wait()?.success(), "the records are loaded");
    Ok(())
}

fn write_row(
    out: &mut impl Write,
    person: &Person,
    project: &SharedProject,
    seq: usize,
    record: &TeamRecord,
) -> Result<()> {
    let body = compress_to_vec(record.to_body()?.as_bytes(), 6);
    let terms: Vec<String> = backstory_text::search_terms(&format!("{} {}", record.title, record.narrative))
        .iter()
        .map(|term| format!("'{term}'"))
        .collect();
    let vector = record
        .embedding
        .as_ref()
        .map_or([0; 256], |embedding| embedding.bytes)
        .map(|byte| f32::from(byte.cast_signed()));
    let bits = backstory_text::hex(&backstory_embed::sign_bits(&vector));
    writeln!(
        out,
        "{}\t{}\t{seq}\t1\t{}\t{}\t2\t2026-11-16 09:30:00+00\t\\\\x{}\t\\\\x{}\t{}\tx{bits}",
        project.id,
        record.id,
        person.account,
        person.device,
        backstory_text::hex(&body),
        "00".repeat(64),
        terms.join(" "),
    )?;
    Ok(())
}
