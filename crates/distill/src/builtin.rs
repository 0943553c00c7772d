//! The built-in distiller: rules, no model. A turn goes in, memories come out.
//!
//! Two readings of the turn meet here: what the tools show (`evidence`) and what the agent said (`reading`). Words make the
//! titles, the facts and the reasons; only evidence makes lists of files. `change`, `insight`, `results`, `delegate` and
//! `answer` each propose drafts; `draft` chooses among them and keeps them short.

mod answer;
mod attempt;
mod cause;
mod change;
mod claim;
mod commit;
mod complaint;
mod deeds;
mod delegate;
mod draft;
mod edits;
mod entry;
mod evidence;
mod failure;
mod grammar;
mod headline;
mod insight;
mod likeness;
mod markdown;
mod opening;
mod order;
mod outcome;
mod passages;
mod patch;
mod paths;
mod pointer;
mod reading;
mod request;
mod results;
mod rewrite;
mod rule;
mod section;
mod sentence;
mod shell;
mod state;
mod story;
mod summary;
mod symbols;
mod text;
mod tidy;
mod title;
mod type_of;
mod undo;
mod verbs;

pub(crate) use deeds::of as deeds;
pub(crate) use passages::is_telling;

use change::Material;

use crate::{Distilled, TurnEnd, TurnInput};

/// Distils a turn by rules alone: the same turn gives the same memories, and no turn makes it panic.
pub fn distil(turn: &TurnInput) -> Distilled {
    let evidence = evidence::gather(turn);
    let reading = reading::read(turn);
    let request = turn
        .prompt
        .as_deref()
        .filter(|_| !turn.machine_made)
        .and_then(request::condense);
    let material = Material {
        request: request.as_ref(),
        evidence: &evidence,
        reading: &reading,
    };

    let mut drafts = change::drafts(material);
    let changed = !drafts.is_empty();
    let changes: Vec<String> = drafts.iter().map(|draft| draft.title.clone()).collect();
    let delegated = delegate::drafts(turn, &evidence);
    let rules = turn
        .prompt
        .as_deref()
        .filter(|_| !turn.machine_made)
        .map(rule::drafts)
        .unwrap_or_default();
    let room = room(evidence.calls) + delegated.len() + rules.len();
    drafts.extend(delegated);
    drafts.extend(rules);
    drafts.extend(results::drafts(&evidence));
    if changed || evidence.calls >= WORK || matches!(turn.end, TurnEnd::Open) {
        drafts.extend(insight::drafts(material, &changes));
    }
    if !changed && matches!(turn.end, TurnEnd::Stopped | TurnEnd::Background) {
        drafts.extend(answer::draft(material));
    }
    let drafts = draft::choose(drafts, room);

    let summary = summary::of(material, &drafts, turn.end);
    let title = request
        .as_ref()
        .map(|request| text::clip(&request.line, title::MAX_TITLE));
    let subtitle = drafts
        .iter()
        .max_by_key(|draft| draft.worth)
        .map(|draft| draft.title.clone());
    Distilled {
        observations: drafts.into_iter().map(draft::Draft::finish).collect(),
        summary,
        passages: passages::of(turn, &evidence),
        title,
        subtitle,
    }
}

/// From this many tool uses on, a turn without changes is work whose findings are kept.
const WORK: usize = 6;

/// How many memories a turn may leave: about one for every ten tool uses, and always one.
fn room(calls: usize) -> usize {
    (calls.saturating_add(5) / 10).clamp(1, 12)
}
