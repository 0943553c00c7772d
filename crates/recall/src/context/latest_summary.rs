//! Finds the summary where work stopped.

use std::time::Duration;

use backstory_model::{BranchState, SessionId};
use backstory_store::Summary;

/// Number of latest summaries that are searched for the hand-over and for open work.
pub const MAX_SUMMARIES: u32 = 60;

/// Returns the summary where work stopped: that of the session that continues, else the latest of this branch unless it is
/// much older than the latest of any branch.
pub(super) fn latest_summary<'s>(
    summaries: &'s [Summary],
    branch: Option<&str>,
    own: Option<SessionId>,
) -> Option<&'s Summary> {
    const NOT_MUCH: Duration = Duration::from_hours(7 * 24);
    let says_something = |summary: &&Summary| {
        let fields = [
            &summary.completed,
            &summary.next_steps,
            &summary.learned,
            &summary.notes,
        ];
        fields.into_iter().flatten().any(|text| !text.trim().is_empty())
    };
    // Work that was abandoned is not where work stopped.
    let is_live = |summary: &&Summary| summary.branch_state != Some(BranchState::Abandoned);
    let mut telling = summaries.iter().filter(is_live).filter(says_something);
    if own.is_some()
        && let Some(summary) = telling.clone().find(|summary| summary.session_db_id == own)
    {
        return Some(summary);
    }
    let latest = telling.next()?;
    let on_branch = summaries
        .iter()
        .filter(is_live)
        .filter(says_something)
        .find(|summary| {
            branch.is_some()
                && summary.branch.as_deref() == branch
                && latest.created_at.since(summary.created_at) < NOT_MUCH
        });
    Some(on_branch.unwrap_or(latest))
}
