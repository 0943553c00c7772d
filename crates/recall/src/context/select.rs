//! Which memories a new session is told: those that bear on the present, not merely the latest.

use std::{
    collections::{HashMap, HashSet},
    fs,
    time::UNIX_EPOCH,
};

use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_store::Observation;

use super::{ContextEntry, ContextRequest, Limits, root};

/// So many of the latest are considered: older ones are a search away.
pub(super) const MAX_CANDIDATES: u32 = 100;

/// What is told, the most telling first, and what is not.
#[derive(Debug, Default)]
pub(super) struct ContextSelection<'c> {
    pub(super) included: Vec<ScoredObservation<'c>>,
    pub(super) left_out: Vec<ContextEntry>,
}

/// A memory with what speaks for it.
#[derive(Debug)]
pub(super) struct ScoredObservation<'c> {
    pub(super) observation: &'c Observation,
    pub(super) worth: f64,
    pub(super) reason: String,
}

/// Chooses for a situation; `session` is the one that work stopped in, or that goes on, and `stated` what is said of it
/// above.
pub(super) fn select<'c>(
    candidates: &'c [Observation],
    situation: &ContextRequest<'_>,
    limits: &Limits,
    session: Option<i64>,
    stated: &[Word],
) -> ContextSelection<'c> {
    let in_work = recently_changed_files(candidates, situation);
    let mut chosen = ContextSelection::default();
    let mut worths: Vec<ScoredObservation<'_>> = Vec::new();
    for observation in candidates {
        match is_wanted(observation, limits) {
            true => worths.push(worth(observation, situation, session, &in_work)),
            false => chosen
                .left_out
                .push(skipped(observation, "its type or concepts are not shown")),
        }
    }
    worths.sort_by(|one, other| {
        other
            .worth
            .total_cmp(&one.worth)
            .then(other.observation.id.cmp(&one.observation.id))
    });
    let mut sessions: HashSet<i64> = HashSet::new();
    let mut titles: Vec<Vec<Word>> = Vec::new();
    for one in worths {
        // Only of those that may still be told.
        let mut title = Vec::new();
        let is_of_known_session = one
            .observation
            .session_db_id
            .is_none_or(|id| sessions.contains(&id));
        let why_not = if chosen.included.len() >= limits.observations {
            Some("enough others are more telling")
        } else if !is_of_known_session && sessions.len() >= limits.sessions {
            Some("enough other sessions are more telling")
        } else {
            title = words(&one.observation.title);
            let is_told = titles.iter().any(|told| are_near_duplicates(told, &title));
            is_told.then_some("another says nearly the same")
        };
        match why_not {
            Some(why_not) => chosen.left_out.push(skipped(one.observation, why_not)),
            None => {
                sessions.extend(one.observation.session_db_id);
                titles.push(title);
                chosen.included.push(one);
            }
        }
    }
    skip_covered_causes(&mut chosen, stated);
    chosen
}

/// What a mended fault came from is part of the mending: where that is told, in these words, the cause needs no line.
fn skip_covered_causes(chosen: &mut ContextSelection<'_>, stated: &[Word]) {
    let is_of = |one: &ScoredObservation<'_>, kind: ObservationType| {
        ObservationType::from_name(&one.observation.kind) == Some(kind)
    };
    // What one turn left came to be at once.
    let turn = |one: &ScoredObservation<'_>| (one.observation.session_db_id, one.observation.created_ms);
    let is_cause = |one: &ScoredObservation<'_>| {
        let warns = one.observation.concepts.iter().any(|concept| concept == "gotcha");
        is_of(one, ObservationType::Discovery) && !warns && !one.observation.is_pinned
    };
    let causes = chosen.included.iter().filter(|one| is_cause(one));
    let with_cause: HashSet<_> = causes.map(turn).collect();
    let mut fixes: HashMap<(Option<i64>, i64), Vec<Word>> = HashMap::new();
    for fix in chosen
        .included
        .iter()
        .filter(|one| is_of(one, ObservationType::Bugfix) && with_cause.contains(&turn(one)))
    {
        let told = fix.observation;
        let text = [&told.title, told.narrative.as_deref().unwrap_or_default()].join(" ");
        fixes.entry(turn(fix)).or_default().extend(words(&text));
    }
    for said in fixes.values_mut() {
        said.extend(stated);
        said.sort_unstable();
    }
    let is_said = |one: &ScoredObservation<'_>| {
        let fix = fixes.get(&turn(one));
        fix.is_some_and(|fix| is_cause(one) && states(fix, &words(&one.observation.title)))
    };
    let (said, told): (Vec<_>, Vec<_>) = std::mem::take(&mut chosen.included)
        .into_iter()
        .partition(is_said);
    chosen.included = told;
    let said = said
        .iter()
        .map(|one| skipped(one.observation, "the mended fault says it"));
    chosen.left_out.extend(said);
}

/// Whether most of some words are among those that were said.
pub(super) fn states(said: &[Word], words: &[Word]) -> bool {
    let new = words
        .iter()
        .filter(|word| said.binary_search(word).is_err())
        .count();
    new * 10 <= words.len() * 3
}

fn skipped(observation: &Observation, reason: &str) -> ContextEntry {
    ContextEntry {
        handle: Handle {
            kind: MemoryKind::Observation,
            id: observation.id,
        },
        title: observation.title.clone(),
        reason: reason.to_owned(),
        tokens: 0,
        is_included: false,
        is_title_only: false,
    }
}

fn is_wanted(observation: &Observation, limits: &Limits) -> bool {
    let of_type =
        ObservationType::from_name(&observation.kind).is_none_or(|kind| limits.types.contains(&kind));
    let of_concept = limits.concepts.is_empty()
        || observation
            .concepts
            .iter()
            .any(|concept| limits.concepts.contains(concept));
    observation.is_pinned || of_type && of_concept
}

fn worth<'c>(
    observation: &'c Observation,
    situation: &ContextRequest<'_>,
    session: Option<i64>,
    in_work: &HashSet<&str>,
) -> ScoredObservation<'c> {
    let age_ms = (situation.now.as_millisecond() - observation.created_ms).max(0);
    let days = f64::from(i32::try_from(age_ms / 3_600_000).unwrap_or(i32::MAX)) / 24.0;
    // Half of it is gone after a week, and it never falls to nothing.
    let mut worth = 1.0 / (1.0 + days / 7.0);
    let mut reasons = Vec::new();
    let mut add = |more: f64, reason: &'static str| {
        worth += more;
        reasons.push(reason);
    };
    if observation.is_pinned {
        add(3.0, "pinned");
    }
    if session.is_some() && observation.session_db_id == session {
        add(
            0.6,
            if situation.compacted_session.is_some() {
                "this session's own"
            } else {
                "of the last session"
            },
        );
    }
    if situation.branch.is_some() && observation.branch.as_deref() == situation.branch {
        // The main line is where most work is: being on it says less.
        let is_main = matches!(situation.branch, Some("main" | "master" | "trunk" | "develop"));
        add(if is_main { 0.1 } else { 0.5 }, "on this branch");
    }
    if observation
        .files_modified
        .iter()
        .any(|path| in_work.contains(path.as_str()))
    {
        add(0.5, "about a file in work");
    }
    let (more, reason) = match ObservationType::from_name(&observation.kind) {
        Some(ObservationType::Decision) => (0.5, "a decision"),
        Some(ObservationType::Bugfix) => (0.3, "a mended fault"),
        Some(ObservationType::Discovery) => (0.3, "a discovery"),
        Some(ObservationType::Feature) => (0.25, "a feature"),
        Some(ObservationType::Refactor) => (0.15, "a refactoring"),
        Some(ObservationType::Change) | None => (0.0, "a change"),
    };
    add(more, reason);
    if observation.concepts.iter().any(|concept| concept == "gotcha") {
        add(0.3, "a gotcha");
    }
    if observation.seen > 1 {
        add(0.1 * f64::from(observation.seen.min(5)), "seen several times");
    }
    ScoredObservation {
        observation,
        worth,
        reason: reasons.join(", "),
    }
}

/// The files, of those that memories speak of, that somebody wrote to within the last days and after the memory was made.
fn recently_changed_files<'c>(
    candidates: &'c [Observation],
    situation: &ContextRequest<'_>,
) -> HashSet<&'c str> {
    const LAST_DAYS_MS: i64 = 2 * 24 * 3_600_000;
    const MAX_FILES: usize = 60;
    let mut latest: HashMap<&str, i64> = HashMap::new();
    for observation in candidates {
        for path in observation.files_modified.iter().take(4) {
            if latest.len() < MAX_FILES || latest.contains_key(path.as_str()) {
                let when = latest.entry(path).or_insert(observation.created_ms);
                *when = (*when).max(observation.created_ms);
            }
        }
    }
    let now_ms = situation.now.as_millisecond();
    let is_in_work = |path: &str, memory_ms: i64| {
        let modified = fs::metadata(root(situation.project).join(path)).and_then(|file| file.modified());
        let since = modified
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ms = since
            .and_then(|since| i64::try_from(since.as_millis()).ok())
            .unwrap_or(0);
        modified_ms > memory_ms && now_ms - modified_ms < LAST_DAYS_MS
    };
    let in_work = latest
        .into_iter()
        .filter(|(path, memory_ms)| is_in_work(path, *memory_ms));
    in_work.map(|(path, _)| path).collect()
}

/// Whether two titles share most of their words, and all of their numbers.
fn are_near_duplicates(one: &[Word], other: &[Word]) -> bool {
    let missing = |from: &[Word], word: &&Word| from.binary_search(word).is_err();
    // Seven tenths of all words are to be in both. Most pairs are told apart by the first few.
    let least = ((one.len() + other.len()) * 7).div_ceil(17);
    let Some(spare) = one.len().checked_sub(least) else {
        return false;
    };
    let absent = one.iter().filter(|word| missing(other, word));
    if least == 0 || absent.take(spare + 1).count() > spare {
        return false;
    }
    let other_number = |one: &[Word], other: &[Word]| {
        one.iter()
            .filter(|word| missing(other, word))
            .any(|word| word.is_number)
    };
    !other_number(one, other) && !other_number(other, one)
}

/// A word of a title, as far as it is compared: a hash tells words apart well enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    hash: u64,
    is_number: bool,
}

/// The words of a text that say something, in order and each once. By bytes: letters outside ASCII are part of words.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let mut bytes = text.bytes();
    while bytes.len() > 0 {
        let (mut hash, mut is_number, mut length) = (NOT_HASHED, false, 0);
        for byte in bytes.by_ref().take_while(is_letter) {
            hash = hashed(hash, byte.to_ascii_lowercase().into());
            is_number |= byte.is_ascii_digit();
            length += 1;
        }
        if length > 2 || is_number {
            words.push(Word { hash, is_number });
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// The hash of nothing.
pub(super) const NOT_HASHED: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds a letter to a hash: FNV-1a tells words apart well enough.
pub(super) fn hashed(hash: u64, letter: u64) -> u64 {
    (hash ^ letter).wrapping_mul(0x0100_0000_01b3)
}
