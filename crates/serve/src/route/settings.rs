//! Routes that read and change settings.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Json,
    extract::State,
    routing::{get, put},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    access::Credential,
    api::Api,
    extract::{JsonBody, JsonResult},
    server::Server,
};

/// All settings by key.
#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
    settings: BTreeMap<String, Value>,
}

/// New values by key, such as `context.full`; null restores the default.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewSettings {
    #[serde(flatten)]
    values: Map<String, Value>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/settings",
        |about| {
            about
                .summary("All settings with value, source and accepted values")
                .json::<Settings>();
        },
        get(async |State(server): State<Arc<Server>>| all(&server).await),
    )
    .route(
        "PUT",
        "/api/settings",
        |about| {
            about
                .summary("Change settings, all or none; with a cookie only those that are not guarded")
                .body::<NewSettings>()
                .json::<Settings>();
        },
        put(change),
    )
}

async fn all(server: &Arc<Server>) -> JsonResult<Settings> {
    let settings = match server.settings().await? {
        Value::Object(settings) => settings.into_iter().collect(),
        _ => BTreeMap::new(),
    };
    Ok(Json(Settings { settings }))
}

async fn change(
    State(server): State<Arc<Server>>,
    credential: Option<Extension<Credential>>,
    JsonBody(new): JsonBody<NewSettings>,
) -> JsonResult<Settings> {
    // Sections may be nested, as in `config.toml`.
    let mut flat = Map::new();
    for (name, value) in new.values {
        match value {
            Value::Object(section) => {
                flat.extend(
                    section
                        .into_iter()
                        .map(|(key, value)| (format!("{name}.{key}"), value)),
                );
            }
            value => {
                flat.insert(name, value);
            }
        }
    }
    server
        .change_settings(flat, credential.map(|Extension(one)| one))
        .await?;
    all(&server).await
}
