//! Finds open work of earlier sessions: next steps that no later session completed or restated.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use backstory_model::{BranchState, Handle, MemoryKind, OpenItemKey, SessionId, Timestamp};
use backstory_store::{Store, StoreError, Summary, open_item_key};
use backstory_text::WordSet;

use super::{
    latest_summary::{MAX_SUMMARIES, latest_summary},
    request::ContextRequest,
};

/// Older steps are not listed: they were dropped, or done without a mention.
const TOO_OLD: Duration = Duration::from_hours(3 * 7 * 24);

/// The most earlier sessions whose open items are listed.
const MAX_SESSIONS: usize = 10;

/// Open work of a session.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenWork<'s> {
    /// The summary that states it.
    pub summary: &'s Summary,
    /// The steps, at least one.
    pub steps: Vec<String>,
}

impl OpenWork<'_> {
    /// Returns the steps in one line.
    pub fn text(&self) -> String {
        self.steps.join(" ")
    }
}

/// A step that a session left to do, on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenItem {
    /// Identifies it within the project, for [`Store::tick_off`].
    pub key: OpenItemKey,
    /// The step.
    pub text: String,
    /// The summary that states it.
    pub summary: Handle,
    /// The branch of the session.
    pub branch: Option<String>,
    /// The time of the summary.
    pub created_at: Timestamp,
}

/// The open items of a project, and those that were ticked off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenItems {
    /// Still open, as the context block of a new session states them.
    pub open: Vec<OpenItem>,
    /// Ticked off, the latest summary first.
    pub done: Vec<OpenItem>,
}

/// Lists the open items of a project: those of the last session whatever its age, then those of earlier sessions.
pub fn open_items(store: &Store, situation: &ContextRequest<'_>) -> Result<OpenItems, StoreError> {
    let summaries = store.latest_summaries(situation.project, MAX_SUMMARIES)?;
    let last = latest_summary(&summaries, situation.branch, None);
    let stated = last
        .into_iter()
        .map(|summary| (summary, steps(summary).collect()));
    let earlier = open_work(&summaries, last, situation, MAX_SESSIONS).into_iter();
    let mut items = OpenItems::default();
    for (summary, steps) in stated.chain(earlier.map(|work| (work.summary, work.steps))) {
        push_items(&mut items.open, summary, &steps);
    }
    for summary in &summaries {
        push_items(&mut items.done, summary, &summary.done_steps);
    }
    Ok(items)
}

/// Adds steps of a summary that are not listed yet.
fn push_items(items: &mut Vec<OpenItem>, summary: &Summary, steps: &[String]) {
    for step in steps {
        let key = open_item_key(step);
        if !items.iter().any(|known| known.key == key) {
            items.push(OpenItem {
                key,
                text: step.clone(),
                summary: Handle {
                    kind: MemoryKind::Summary,
                    id: summary.id,
                },
                branch: summary.branch.clone(),
                created_at: summary.created_at,
            });
        }
    }
}

/// Finds open work that `included` does not state, of at most `limit` sessions: of this branch first, then the latest. The
/// summaries are sorted newest first.
pub fn open_work<'s>(
    summaries: &'s [Summary],
    included: Option<&Summary>,
    situation: &ContextRequest<'_>,
    limit: usize,
) -> Vec<OpenWork<'s>> {
    let mut later: Vec<WordSet> = included.map(stated_words).into_iter().collect();
    let mut next_requests: HashMap<SessionId, &str> = HashMap::new();
    let mut has_one: HashSet<SessionId> = HashSet::new();
    let mut open = Vec::new();
    let is_elsewhere =
        |summary: &Summary| situation.branch.is_some() && summary.branch.as_deref() != situation.branch;
    let mut here = 0;
    for summary in summaries {
        if here == limit || situation.now.since(summary.created_at) > TOO_OLD {
            break;
        }
        let session = summary.session_db_id;
        let request = summary.request.as_deref().unwrap_or_default();
        let answer = session.and_then(|session| next_requests.insert(session, request));
        let is_told = included.is_some_and(|included| included.id == summary.id);
        let is_abandoned = summary.branch_state == Some(BranchState::Abandoned);
        if !is_told
            && !is_abandoned
            && !answer.is_some_and(agrees)
            && session.is_none_or(|id| !has_one.contains(&id))
        {
            let is_open = |step: &String| {
                let step = WordSet::of(step);
                !later.iter().any(|later| covers(later, &step))
            };
            let steps: Vec<String> = steps(summary).filter(is_open).collect();
            if !steps.is_empty() {
                has_one.extend(session);
                here += usize::from(!is_elsewhere(summary));
                open.push(OpenWork { summary, steps });
            }
        }
        later.push(stated_words(summary));
    }
    // Stable: the latest stays first within each.
    open.sort_by_key(|open| is_elsewhere(open.summary));
    open.truncate(limit);
    open
}

/// Counts the open steps of a summary.
pub(super) fn count_steps(summary: &Summary) -> usize {
    steps(summary).count()
}

/// Returns the steps of a summary, without questions: those were for the user of that session.
fn steps(summary: &Summary) -> impl Iterator<Item = String> {
    let steps = summary.open_work().into_iter();
    steps.filter(|step| !step.ends_with('?'))
}

/// Returns the words of a summary about completed work and next steps, ticked off or not. A later summary decides whether a
/// step is open.
fn stated_words(summary: &Summary) -> WordSet {
    let request = summary.request.as_ref().filter(|_| summary.completed.is_some());
    let fields = [request, summary.completed.as_ref(), summary.next_steps.as_ref()];
    let texts = fields.into_iter().flatten().chain(&summary.done_steps);
    texts.map(String::as_str).collect()
}

/// Reports whether most words of a step are among the stated ones.
fn covers(stated: &WordSet, step: &WordSet) -> bool {
    step.containment(stated) >= 0.6
}

/// Reports whether a request only agrees ("yes please", "go ahead"), so that the steps named just before are done in it.
fn agrees(request: &str) -> bool {
    const YES: &str = "|yes|yep|ok|okay|sure|go|do|continue|proceed|next|";
    const BESIDES: &str =
        "|please|ahead|it|that|this|them|both|all|on|with|the|step|steps|sounds|good|great|now|";
    let lower = request.to_lowercase();
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    let is_in = |list: &str, word: &str| list.contains(&format!("|{word}|"));
    words.peek().is_some_and(|first| is_in(YES, first))
        && words.all(|word| is_in(YES, word) || is_in(BESIDES, word))
}

#[cfg(test)]
mod tests {
    use backstory_model::ProjectId;
    use backstory_store::Project;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    const NOW: Timestamp = Timestamp::from_millis(100 * 24 * 3_600_000);

    /// Returns a summary from some days ago with its request, completed work and next steps.
    fn summary(id: i64, session: i64, days: u32, says: [&str; 3]) -> Summary {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Summary {
            id,
            session_db_id: Some(SessionId::new(session)),
            request: text(says[0]),
            learned: None,
            completed: text(says[1]),
            next_steps: text(says[2]),
            open_steps: None,
            done_steps: Vec::new(),
            notes: None,
            branch: (session == 1).then(|| "topic".to_owned()),
            branch_state: None,
            created_at: NOW - DAY * days,
        }
    }

    fn open(summaries: &[Summary], included: usize) -> Vec<(i64, String)> {
        let project = Project {
            db_id: ProjectId::new(1),
            id: "p".to_owned(),
            name: "p".to_owned(),
            root: "/p".to_owned(),
        };
        let situation = ContextRequest {
            project: &project,
            branch: Some("topic"),
            compacted_session: None,
            is_withheld: false,
            now: NOW,
        };
        let open = open_work(summaries, summaries.get(included), &situation, 9);
        open.into_iter()
            .map(|open| (open.summary.id, open.text()))
            .collect()
    }

    const COUPON: &str = "Add a test for a coupon larger than the net amount.";

    #[test]
    fn a_small_session_does_not_close_what_another_left() {
        let committed = summary(3, 3, 0, ["ok commit", "Committed `a1b2c3d`.", ""]);
        let french = summary(
            2,
            2,
            1,
            ["Translate", "German texts are there.", "Write the French texts."],
        );
        let coupon = summary(1, 1, 2, ["Coupons", "Coupons are taken off.", COUPON]);
        assert_eq!(
            open(&[committed, french, coupon], 0),
            [(1, COUPON.to_owned()), (2, "Write the French texts.".to_owned())]
        );
    }

    #[test]
    fn steps_that_were_done_restated_resumed_or_are_old_are_not_open() {
        let first = |days| summary(1, 1, days, ["Coupons", "Coupons are taken off.", COUPON]);
        let last = summary(9, 9, 0, ["ok commit", "Committed.", ""]);
        for (later, why) in [
            (
                ["Test it", "Added a test for coupons larger than the amount.", ""],
                "done",
            ),
            (
                [
                    "Look",
                    "",
                    "Adding the test of a coupon larger than the net amount.",
                ],
                "again",
            ),
            (["yes, go ahead", "Wrote it.", ""], "taken up"),
        ] {
            let later = summary(2, 1, 1, later);
            let included = open(&[last.clone(), later, first(2)], 0);
            assert!(!included.iter().any(|(id, _)| *id == 1), "{why}: {included:?}");
        }
        assert_eq!(open(&[last.clone(), first(22)], 0), []);
        assert_eq!(open(&[first(2)], 0), [], "included already");
        let says = ["x", "y", "Offered: add a flag. Stop the old worker. Which one?"];
        let offered = Summary {
            open_steps: Some(vec!["Stop the old worker.".to_owned()]),
            ..summary(1, 1, 1, says)
        };
        assert_eq!(
            open(&[last, offered], 0),
            [(1, "Stop the old worker.".to_owned())]
        );
    }
}
