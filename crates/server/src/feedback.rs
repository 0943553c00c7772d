//! Pins, verdicts and supersessions: one view per person and record.

use std::collections::HashMap;

use backstory_protocol::{Feedback, FeedbackAnswer, FeedbackRequest, RecordId, limits};
use deadpool_postgres::Object;

use crate::{access::Access, app::App, problem::Problem, sql};

/// Replaces the caller's views of records. Views that do not change keep their sequence number.
pub(crate) async fn store(
    app: &App,
    access: &Access,
    client: &mut Object,
    request: FeedbackRequest,
) -> Result<FeedbackAnswer, Problem> {
    if request.feedback.len() > limits::MAX_PUSH_RECORDS {
        return Err(Problem::bad(format!(
            "at most {} views can be sent at once",
            limits::MAX_PUSH_RECORDS
        )));
    }
    // The last view of a record counts.
    let views: HashMap<RecordId, Feedback> = request
        .feedback
        .into_iter()
        .map(|view| (view.memory, view))
        .collect();
    let mut views: Vec<Feedback> = views.into_values().collect();
    views.sort_unstable_by_key(|view| view.memory);
    let project = access.space.id;
    let transaction = client.transaction().await?;
    let locked = sql::project::lock(&transaction, project).await?;
    let (known, changed) =
        sql::feedback::store(&transaction, project, locked.head, access.caller.account, &views).await?;
    let head = locked.head + changed;
    if changed > 0 {
        sql::project::advance(&transaction, project, head, 0).await?;
    }
    transaction.commit().await?;
    app.heads.advance(project, head);
    Ok(FeedbackAnswer {
        stored: known.unsigned_abs(),
        head,
    })
}
