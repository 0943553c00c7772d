//! Settings: shown and changed.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    routing::{get, put},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Answer, Input};
use crate::{api::Api, server::Server};

/// Every setting by its name.
#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
    settings: BTreeMap<String, Value>,
}

/// New values by name, such as `context.full`; null brings the default back.
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
                .says("Shows every setting, its value, where it comes from and what it accepts")
                .json::<Settings>();
        },
        get(async |State(server): State<Arc<Server>>| Json(all(&server))),
    )
    .route(
        "PUT",
        "/api/settings",
        |about| {
            about
                .says("Changes settings, all that are given or none")
                .body::<NewSettings>()
                .json::<Settings>();
        },
        put(change),
    )
}

fn all(server: &Server) -> Settings {
    let Value::Object(settings) = (server.outside.settings)() else {
        return Settings {
            settings: BTreeMap::new(),
        };
    };
    Settings {
        settings: settings.into_iter().collect(),
    }
}

async fn change(State(server): State<Arc<Server>>, Input(new): Input<NewSettings>) -> Answer<Settings> {
    // Sections may be nested, as they stand in the file.
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
    (server.outside.change_settings)(&flat)?;
    Ok(Json(all(&server)))
}
