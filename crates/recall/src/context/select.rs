//! Selects the memories of a context block by relevance to the current work, not by age alone.

use std::{
    collections::{HashMap, HashSet},
    fs,
    time::Duration,
};

use backstory_model::{ObservationType, SessionId, Timestamp};
use backstory_store::{Observation, Project, Store, StoreError};
use backstory_text::WordSet;

use super::request::{ContextEntry, ContextRequest, Limits, root};
use crate::branch::{BranchMark, CurrentBranch};

/// Reads the memories that are considered: the latest, and where types or concepts are restricted also the latest of those.
/// Older ones can be searched.
pub(super) fn candidates(
    store: &Store,
    project: &Project,
    limits: &Limits,
) -> Result<Vec<Observation>, StoreError> {
    const MIN: usize = 100;
    // Twice as many as wanted: near-duplicates and memories of too many sessions are skipped.
    let limit = u32::try_from((2 * limits.observations).max(MIN)).unwrap_or(u32::MAX);
    let mut found = store.recent_observations(project, limit)?;
    let is_restricted = !limits.concepts.is_empty() || limits.types.len() < ObservationType::ALL.len();
    if is_restricted {
        for one in store.recent_observations_of(project, &limits.types, &limits.concepts, limit)? {
            if !found.iter().any(|known| known.id == one.id) {
                found.push(one);
            }
        }
    }
    if limits.team_percent > 0 {
        found.extend(store.recent_team_memories(project, limit)?);
    }
    Ok(found)
}

/// Included memories, most relevant first, and skipped ones.
#[derive(Debug, Default)]
pub(super) struct ContextSelection<'c> {
    pub(super) included: Vec<ScoredObservation<'c>>,
    pub(super) left_out: Vec<ContextEntry>,
}

/// A memory with its score and the reason for it.
#[derive(Debug)]
pub(super) struct ScoredObservation<'c> {
    pub(super) observation: &'c Observation,
    pub(super) worth: f64,
    pub(super) reason: String,
    /// The branch of its work, if that is not the current one.
    pub(super) mark: Option<BranchMark>,
}

/// Selects memories for a session. `session` is the one where work stopped, or that continues; `stated` has the words that
/// the block already says about it.
pub(super) fn select<'c>(
    candidates: &'c [Observation],
    situation: &ContextRequest<'_>,
    limits: &Limits,
    session: Option<SessionId>,
    stated: &WordSet,
    branch: CurrentBranch<'_>,
) -> Result<ContextSelection<'c>, StoreError> {
    let in_work = recently_changed_files(candidates, situation);
    let mut chosen = ContextSelection::default();
    let mut worths: Vec<ScoredObservation<'_>> = Vec::new();
    for observation in candidates {
        match is_wanted(observation, limits) {
            true => {
                let mark = branch.mark_observation(observation)?;
                worths.push(worth(observation, situation, session, &in_work).marked(mark));
            }
            false => chosen
                .left_out
                .push(skipped(observation, "excluded by type or concept")),
        }
    }
    worths.sort_by(|one, other| {
        other
            .worth
            .total_cmp(&one.worth)
            // Own memories come before those of others.
            .then_with(|| {
                one.observation
                    .shared_by
                    .is_some()
                    .cmp(&other.observation.shared_by.is_some())
            })
            .then(other.observation.id.cmp(&one.observation.id))
    });
    let mut sessions: HashSet<SessionId> = HashSet::new();
    let most_of_others = limits.observations * limits.team_percent / 100;
    let mut of_others = 0;
    let mut titles: Vec<WordSet> = Vec::new();
    for one in worths {
        // Only of those that may still be told.
        let mut title = WordSet::default();
        let is_of_known_session = one
            .observation
            .session_db_id
            .is_none_or(|id| sessions.contains(&id));
        let why_not = if chosen.included.len() >= limits.observations {
            Some("more relevant memories fill the limit")
        } else if one.observation.shared_by.is_some() && of_others >= most_of_others {
            Some("more relevant memories of others fill their share")
        } else if !is_of_known_session && sessions.len() >= limits.sessions {
            Some("more relevant sessions were chosen")
        } else {
            title = WordSet::of(&one.observation.title);
            let is_told = titles.iter().any(|told| are_near_duplicates(told, &title));
            is_told.then_some("near-duplicate")
        };
        match why_not {
            Some(why_not) => chosen.left_out.push(skipped(one.observation, why_not)),
            None => {
                sessions.extend(one.observation.session_db_id);
                of_others += usize::from(one.observation.shared_by.is_some());
                titles.push(title);
                chosen.included.push(one);
            }
        }
    }
    skip_covered_causes(&mut chosen, stated);
    Ok(chosen)
}

impl ScoredObservation<'_> {
    /// Ranks work that is not on the current branch below the rest of its age.
    fn marked(mut self, mark: Option<BranchMark>) -> Self {
        if let Some(mark) = &mark {
            // More than being seen often or being a decision can make up for.
            self.worth -= if mark.is_abandoned() { 1.2 } else { 0.6 };
            self.reason = format!("{}, {}", self.reason, mark.note());
        }
        self.mark = mark;
        self
    }
}

/// Skips a discovery whose words are in an included bug fix: the fix states the cause.
fn skip_covered_causes(chosen: &mut ContextSelection<'_>, stated: &WordSet) {
    let is_of = |one: &ScoredObservation<'_>, kind: ObservationType| one.observation.kind == kind;
    // Memories of one turn have the same time.
    let turn = |one: &ScoredObservation<'_>| (one.observation.session_db_id, one.observation.created_at);
    let is_cause = |one: &ScoredObservation<'_>| {
        let warns = one.observation.concepts.iter().any(|concept| concept == "gotcha");
        is_of(one, ObservationType::Discovery) && !warns && !one.observation.is_pinned
    };
    let causes = chosen.included.iter().filter(|one| is_cause(one));
    let with_cause: HashSet<_> = causes.map(turn).collect();
    let mut fixes: HashMap<(Option<SessionId>, Timestamp), WordSet> = HashMap::new();
    for fix in chosen
        .included
        .iter()
        .filter(|one| is_of(one, ObservationType::Bugfix) && with_cause.contains(&turn(one)))
    {
        let observation = fix.observation;
        let words = fixes.entry(turn(fix)).or_insert_with(|| stated.clone());
        words.extend([
            observation.title.as_str(),
            observation.narrative.as_deref().unwrap_or_default(),
        ]);
    }
    let is_covered = |one: &ScoredObservation<'_>| {
        let fix = fixes.get(&turn(one));
        fix.is_some_and(|fix| is_cause(one) && states(fix, &one.observation.title))
    };
    let (covered, included): (Vec<_>, Vec<_>) = std::mem::take(&mut chosen.included)
        .into_iter()
        .partition(is_covered);
    chosen.included = included;
    let covered = covered
        .iter()
        .map(|one| skipped(one.observation, "already covered by the fix"));
    chosen.left_out.extend(covered);
}

/// Reports whether most words of a text are among the stated ones.
fn states(stated: &WordSet, text: &str) -> bool {
    WordSet::of(text).containment(stated) >= 0.7
}

/// Reports whether a text has no word of its own.
pub(super) fn repeats(stated: &WordSet, text: &str) -> bool {
    WordSet::of(text).containment(stated) >= 0.95
}

fn skipped(observation: &Observation, reason: &str) -> ContextEntry {
    ContextEntry {
        handle: observation.handle(),
        title: observation.title.clone(),
        reason: reason.to_owned(),
        tokens: 0,
        is_included: false,
        is_title_only: false,
        is_withheld: false,
    }
}

fn is_wanted(observation: &Observation, limits: &Limits) -> bool {
    let of_type = limits.types.contains(&observation.kind);
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
    session: Option<SessionId>,
    in_work: &HashSet<&str>,
) -> ScoredObservation<'c> {
    let hours = situation.now.since(observation.created_at).as_secs() / 3_600;
    let days = f64::from(u32::try_from(hours).unwrap_or(u32::MAX)) / 24.0;
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
                "from the last session"
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
        add(0.5, "cites a recently changed file");
    }
    let (more, reason) = match observation.kind {
        ObservationType::Decision => (0.5, "a decision"),
        ObservationType::Bugfix => (0.3, "bug fix"),
        ObservationType::Discovery => (0.3, "a discovery"),
        ObservationType::Feature => (0.25, "a feature"),
        ObservationType::Refactor => (0.15, "a refactoring"),
        ObservationType::Change => (0.0, "a change"),
    };
    add(more, reason);
    if observation.concepts.iter().any(|concept| concept == "gotcha") {
        add(0.3, "a gotcha");
    }
    // Bounded by the weight itself: at most three tenths up, six down.
    let feedback = 2.0 * (f64::from(observation.weight) / 1_000.0 - 1.0);
    if feedback > 0.0 {
        add(feedback, "used before");
    } else if feedback < 0.0 {
        add(feedback, "not used before");
    }
    if observation.seen > 1 {
        add(0.1 * f64::from(observation.seen.min(5)), "seen several times");
    }
    ScoredObservation {
        observation,
        worth,
        reason: reasons.join(", "),
        mark: None,
    }
}

/// Returns the cited files that were written within the last days and after the memory was made.
fn recently_changed_files<'c>(
    candidates: &'c [Observation],
    situation: &ContextRequest<'_>,
) -> HashSet<&'c str> {
    const LAST_DAYS: Duration = Duration::from_hours(2 * 24);
    const MAX_FILES: usize = 60;
    let mut latest: HashMap<&str, Timestamp> = HashMap::new();
    for observation in candidates {
        for path in observation.files_modified.iter().take(4) {
            if latest.len() < MAX_FILES || latest.contains_key(path.as_str()) {
                let when = latest.entry(path).or_insert(observation.created_at);
                *when = (*when).max(observation.created_at);
            }
        }
    }
    let is_in_work = |path: &str, memory: Timestamp| {
        let modified = fs::metadata(root(situation.project).join(path)).and_then(|file| file.modified());
        let modified = modified.map_or(Timestamp::EPOCH, Timestamp::from);
        modified > memory && situation.now.since(modified) < LAST_DAYS
    };
    let in_work = latest
        .into_iter()
        .filter(|(path, memory)| is_in_work(path, *memory));
    in_work.map(|(path, _)| path).collect()
}

/// Reports whether two titles share most of their words, and all of their numbers.
fn are_near_duplicates(one: &WordSet, other: &WordSet) -> bool {
    one.similarity(other) >= 0.7 && one.has_numbers_of(other)
}
