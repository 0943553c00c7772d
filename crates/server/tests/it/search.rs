//! Search on the server.

use backstory_protocol::{Embedding, SearchAnswer, SearchRequest, TeamRecord};

use crate::{person::Person, team_server::TeamServer};

fn query(terms: &str) -> SearchRequest {
    SearchRequest {
        projects: Vec::new(),
        terms: backstory_text::search_terms(terms),
        embedding: None,
        encoder: None,
    }
}

fn titles(answer: &SearchAnswer) -> Vec<String> {
    answer
        .candidates
        .iter()
        .map(|candidate| TeamRecord::parse(&candidate.record.record.body).unwrap().title)
        .collect()
}

/// Returns an embedding in which this many numbers have the other sign.
fn embedding(flipped: u16) -> Embedding {
    let number = |index: u16| {
        let value = i8::try_from(20 + index * 37 % 101).unwrap();
        let is_negative = (index * 57 % 256 < flipped) != (index * 91 % 7 < 3);
        if is_negative { -value } else { value }
    };
    Embedding {
        scale: 0.01,
        bytes: std::array::from_fn(|index| number(u16::try_from(index).unwrap()).cast_unsigned()),
    }
}

#[test]
fn words_are_found_in_any_form() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    ana.share(&project, "refreshToken retries twice");
    ana.share(&project, "Refreshed the lock file");
    ana.share(&project, "Something else: 令牌");
    let answer: SearchAnswer = ana
        .post("/v1/search", &query("retrying the refresh of tokens"))
        .json();
    assert_eq!(
        titles(&answer),
        ["refreshToken retries twice", "Refreshed the lock file"]
    );
    assert_eq!(answer.documents, 3);
    let counts: Vec<(&str, u64)> = answer
        .term_documents
        .iter()
        .map(|(term, count)| (term.as_str(), *count))
        .collect();
    assert_eq!(counts, [("refresh", 2), ("retr", 1), ("token", 1)]);
    let cjk: SearchAnswer = ana.post("/v1/search", &query("令牌")).json();
    assert_eq!(titles(&cjk), ["Something else: 令牌"]);
    // Quotes and operators of the query language are no terms.
    let mut hostile = query("");
    hostile.terms = vec![
        "a' | b".into(),
        "!".into(),
        "\\".into(),
        "lock:*".into(),
        "x".repeat(5_000),
    ];
    assert_eq!(titles(&ana.post("/v1/search", &hostile).json()), [""; 0]);
}

#[test]
fn meaning_is_found_by_sign_bits() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    for (title, flipped) in [("far", 100), ("near", 10), ("opposite", 250)] {
        let mut record = ana.record(title);
        record.encoder = Some(backstory_embed::MODEL.to_owned());
        record.embedding = Some(embedding(flipped));
        ana.push(&project, &[ana.sign(&project, &record)]);
    }
    let mut foreign = ana.record("of another encoder");
    foreign.encoder = Some("other".to_owned());
    foreign.embedding = Some(embedding(0));
    ana.push(&project, &[ana.sign(&project, &foreign)]);
    let request = SearchRequest {
        embedding: Some(embedding(0)),
        encoder: Some(backstory_embed::MODEL.to_owned()),
        ..query("")
    };
    let answer: SearchAnswer = ana.post("/v1/search", &request).json();
    assert_eq!(titles(&answer), ["near", "far", "opposite"]);
    let distances: Vec<u32> = answer
        .candidates
        .iter()
        .filter_map(|found| found.sign_distance)
        .collect();
    assert!(
        distances.is_sorted() && distances[0] < distances[2],
        "{distances:?}"
    );
    let unknown = SearchRequest {
        encoder: Some("other".to_owned()),
        ..request
    };
    assert_eq!(titles(&ana.post("/v1/search", &unknown).json()), [""; 0]);
}

#[test]
fn deleted_records_and_other_teams_are_not_found() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let eve = Person::join(&server.url, &server.invite("other", "writer"), "Eve");
    let one = ana.project("example.org/one");
    let two = ana.project("example.org/two");
    let gone = ana.share(&one, "needle gone");
    ana.share(&one, "needle one");
    ana.share(&two, "needle two");
    eve.share(&eve.project("example.org/eve"), "needle of Eve");
    ana.push(
        &one,
        &[crate::person::tombstone(
            &gone,
            2,
            backstory_protocol::DeletionReason::Unshared,
        )],
    );
    assert_eq!(
        titles(&ana.post("/v1/search", &query("needle")).json()),
        ["needle one", "needle two"]
    );
    let only = SearchRequest {
        projects: vec![two.id],
        ..query("needle")
    };
    assert_eq!(titles(&ana.post("/v1/search", &only).json()), ["needle two"]);
    assert_eq!(
        titles(&eve.post("/v1/search", &query("needle")).json()),
        ["needle of Eve"]
    );
}

#[test]
fn common_words_do_not_hide_rare_ones() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    for _ in 0..5 {
        let lines: Vec<_> = (0..200)
            .map(|number| ana.sign(&project, &ana.record(&format!("server test {}", number % 3))))
            .collect();
        ana.push(&project, &lines);
    }
    ana.share(&project, "the quokka of the server");
    let answer: SearchAnswer = ana.post("/v1/search", &query("server test quokka")).json();
    assert_eq!(titles(&answer)[0], "the quokka of the server");
    assert_eq!(answer.documents, 1_001);
    assert!(answer.candidates.len() <= 60, "{}", answer.candidates.len());
}
