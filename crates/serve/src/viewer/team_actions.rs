//! Form actions of `/team`: approve, keep local, take back, judge, replace, trust, forget.

use std::sync::Arc;

use axum::extract::{Form, State};
use backstory_engine::team::{
    opinion,
    share::{self, ShareOutcome, Sharer},
};
use backstory_model::Handle;
use backstory_store::{Store, Verdict};

use super::{
    undo::schedule_forget,
    view::{Paged, Pairs, field, redirect_back},
};
use crate::{extract::handle, problem::ApiError, project_scope, server::Server};

type Outcome = Result<(), ApiError>;

/// Returns the memory that a form names.
fn named(pairs: &Pairs) -> Result<Handle, ApiError> {
    handle(field(pairs, "handle").unwrap_or_default())
}

/// Changes the store and shows the page again from which the form was sent.
async fn change(
    server: &Arc<Server>,
    pairs: &Pairs,
    change: impl FnOnce(&Server, &mut Store) -> Outcome + Send + 'static,
) -> Paged {
    let state = Arc::clone(server);
    server.stores.write(move |store| change(&state, store)).await?;
    Ok(redirect_back(pairs, "/team"))
}

fn refused(error: &anyhow::Error) -> ApiError {
    ApiError::bad_request(error)
}

pub(super) async fn share(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let handle = named(&pairs)?;
    change(&server, &pairs, move |server, store| {
        let sharer = Sharer::new(&server.engine).map_err(|error| refused(&error))?;
        match sharer.share(store, handle).map_err(|error| refused(&error))? {
            ShareOutcome::Shared | ShareOutcome::Unchanged => Ok(()),
            ShareOutcome::Blocked(reason) => Err(ApiError::bad(format!("{handle} is not shared: {reason}"))),
        }
    })
    .await
}

pub(super) async fn keep(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let handle = named(&pairs)?;
    change(&server, &pairs, move |server, store| {
        let share = store
            .share_of(handle)?
            .ok_or_else(|| project_scope::unknown(handle))?;
        share::keep_local(store, &share, server.now()).map_err(|error| refused(&error))
    })
    .await
}

pub(super) async fn unshare(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let handle = named(&pairs)?;
    change(&server, &pairs, move |server, store| {
        let is_withdrawn = share::unshare(store, handle, server.now()).map_err(|error| refused(&error))?;
        if is_withdrawn {
            Ok(())
        } else {
            Err(ApiError::bad(format!("{handle} is not shared")))
        }
    })
    .await
}

pub(super) async fn propose(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    change(&server, &pairs, |server, store| {
        Sharer::new(&server.engine)
            .and_then(|sharer| sharer.propose_all(store))
            .map_err(|error| refused(&error))
    })
    .await
}

pub(super) async fn rate(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let handle = named(&pairs)?;
    let verdict = match field(&pairs, "verdict") {
        Some("useful") => Verdict::Useful,
        Some("wrong") => Verdict::Wrong,
        Some("none") => Verdict::None,
        _ => return Err(ApiError::bad("expected the verdict useful, wrong or none").into()),
    };
    change(&server, &pairs, move |_, store| {
        opinion::rate(store, handle, verdict).map_err(|error| refused(&error))
    })
    .await
}

pub(super) async fn replace(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let old = named(&pairs)?;
    let by = field(&pairs, "by").map(handle).transpose()?;
    change(&server, &pairs, move |_, store| {
        opinion::replace(store, old, by).map_err(|error| refused(&error))
    })
    .await
}

pub(super) async fn trust(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let name = field(&pairs, "name").unwrap_or_default().to_owned();
    change(&server, &pairs, move |_, store| {
        store.trust_team_devices(&name)?;
        Ok(())
    })
    .await
}

/// Forgets a record in quarantine, which has no page of its own.
pub(super) async fn forget(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let handle = named(&pairs)?;
    let exists = server.stores.read(move |store| Ok(store.exists(handle)?)).await?;
    if !exists {
        return Err(project_scope::unknown(handle).into());
    }
    schedule_forget(&server, handle, handle.to_string());
    Ok(redirect_back(&pairs, "/team"))
}
