use backstory_model::{
    Episode, EvidenceItem, EvidenceKind, Handover, ItemRef, NewObservation, ObservationType, Timestamp,
};

use super::*;
use crate::testing::store_with_turn;

const SESSION: SessionRef = SessionRef {
    session_db_id: SessionId::new(1),
    project_db_id: ProjectId::new(1),
};

fn item(text: &str) -> EvidenceItem {
    EvidenceItem {
        kind: EvidenceKind::Prose,
        text: text.to_owned(),
        intent: None,
        path: None,
        tool_use_id: None,
        at: Timestamp::from_millis(1_000),
    }
}

fn observation(key: &str, title: &str) -> SessionObservation {
    SessionObservation {
        key: key.to_owned(),
        turn: 1,
        episode: 1,
        rejected: false,
        error_signature: None,
        at: Timestamp::from_millis(1_000),
        observation: NewObservation {
            kind: ObservationType::Change,
            title: title.to_owned(),
            subtitle: None,
            narrative: None,
            facts: Vec::new(),
            concepts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
            evidence: Vec::new(),
            supersedes: Vec::new(),
        },
    }
}

fn put(store: &mut Store, items: &[EvidenceItem], observations: Vec<SessionObservation>) {
    let turn = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
    let mut held = EvidenceItems::default();
    items.iter().for_each(|item| held.push(item.clone()));
    let record = TurnRecord {
        turn: &turn,
        items: &held,
        log: "{}",
        transcript_read: None,
        follow_up: ModelFollowUp::Never,
    };
    let memory = SessionMemory {
        episodes: vec![Episode {
            number: 1,
            title: "Parser".to_owned(),
            first: ItemRef { turn: 1, item: 0 },
            ..Episode::default()
        }],
        observations,
        handover: Handover {
            open: vec!["Release notes".to_owned()],
            ..Handover::default()
        },
        ..SessionMemory::default()
    };
    store
        .store_session(SESSION, &[record], &memory, &Fingerprints::new())
        .unwrap();
}

fn rows(store: &Store, sql: &str) -> Vec<(i64, String)> {
    let mut statement = store.connection.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

const OBSERVATIONS: &str = "select id, title from observation order by id";
const PASSAGES: &str = "select id, text from passage order by position";

#[test]
fn distilling_again_keeps_numbers() {
    let mut store = store_with_turn();
    put(
        &mut store,
        &[item("one"), item("two")],
        vec![
            observation("a", "Parser accepts tabs"),
            observation("b", "Tests run in CI"),
        ],
    );
    let passages = rows(&store, PASSAGES);
    put(
        &mut store,
        &[item("zero"), item("one"), item("two")],
        vec![
            observation("b", "Tests run in CI"),
            observation("a", "Parser accepts tabs and blanks"),
        ],
    );
    assert_eq!(
        rows(&store, OBSERVATIONS),
        [
            (1, "Parser accepts tabs and blanks".to_owned()),
            (2, "Tests run in CI".to_owned())
        ]
    );
    let again = rows(&store, PASSAGES);
    assert_eq!(again[1..], passages, "items that were there keep their numbers");
}

#[test]
fn a_number_that_is_gone_leads_to_its_successor() {
    let mut store = store_with_turn();
    put(&mut store, &[], vec![observation("a", "Parser accepts tabs")]);
    put(&mut store, &[], vec![observation("c", "Parser accepts tabs now")]);
    assert_eq!(
        rows(&store, "select old_id, new_id || '' from successor"),
        [(1, "2".to_owned())]
    );
    put(
        &mut store,
        &[],
        vec![observation("d", "Parser accepts tabs at last")],
    );
    assert_eq!(
        rows(&store, "select old_id, new_id || '' from successor order by 1"),
        [(1, "3".to_owned()), (2, "3".to_owned())]
    );
}

#[test]
fn a_pinned_memory_stays_as_it_is() {
    let mut store = store_with_turn();
    put(&mut store, &[], vec![observation("a", "Parser accepts tabs")]);
    store
        .connection
        .execute("update observation set pinned = 1", [])
        .unwrap();
    put(&mut store, &[], vec![observation("a", "Parser accepts blanks")]);
    put(&mut store, &[], Vec::new());
    assert_eq!(
        rows(&store, OBSERVATIONS),
        [(1, "Parser accepts tabs".to_owned())]
    );
}

#[test]
fn the_hand_over_is_read_back() {
    let mut store = store_with_turn();
    put(&mut store, &[], Vec::new());
    assert_eq!(
        store.handover(SessionId::new(1)).unwrap().unwrap().open,
        ["Release notes"]
    );
    assert_eq!(store.turn_logs(SessionId::new(1)).unwrap()[0].json, "{}");
}
