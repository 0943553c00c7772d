//! Registers routes together with their OpenAPI description, so that no route can lack one.

use axum::{Router, routing::MethodRouter};
use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};

use crate::problem::ErrorAnswer;

/// Routes with their OpenAPI paths and schemas.
pub(crate) struct Api<S> {
    router: Router<S>,
    paths: Map<String, Value>,
    input: SchemaGenerator,
    output: SchemaGenerator,
}

/// Description of a route: summary, parameters, body and response.
#[derive(Debug, Default)]
pub(crate) struct RouteSpec {
    summary: &'static str,
    query: Option<Schema>,
    body: Option<Schema>,
    response: Option<(&'static str, Schema)>,
    is_public: bool,
}

impl<S: Clone + Send + Sync + 'static> Api<S> {
    pub(crate) fn new() -> Self {
        let generator = |contract| {
            SchemaSettings::draft2020_12()
                .with(|settings| {
                    settings.definitions_path = "/components/schemas".into();
                    settings.meta_schema = None;
                    settings.contract = contract;
                })
                .into_generator()
        };
        Self {
            router: Router::new(),
            paths: Map::new(),
            input: generator(Contract::Deserialize),
            output: generator(Contract::Serialize),
        }
    }

    /// Adds a route with its description and handler.
    pub(crate) fn route(
        mut self,
        method: &str,
        path: &'static str,
        about: impl FnOnce(&mut RouteSpecBuilder<'_>),
        handler: MethodRouter<S>,
    ) -> Self {
        let mut spec = RouteSpecBuilder {
            about: RouteSpec::default(),
            input: &mut self.input,
            output: &mut self.output,
        };
        about(&mut spec);
        let operation = operation(method, path, spec.about, &mut self.output);
        let item = self.paths.entry(path).or_insert_with(|| json!({}));
        item[method.to_lowercase()] = operation;
        self.router = self.router.route(path, handler);
        self
    }

    /// Returns the router and the OpenAPI document.
    pub(crate) fn finish(mut self, version: &str) -> (Router<S>, Value) {
        let mut schemas = self.output.take_definitions(true);
        schemas.extend(self.input.take_definitions(true));
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "backstory",
                "version": version,
                "description": "Long-term memory of the coding agents on this machine. Served on loopback only.",
            },
            "security": [{"token": []}],
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        });
        (self.router, document)
    }
}

/// Builds the description of a route.
pub(crate) struct RouteSpecBuilder<'g> {
    about: RouteSpec,
    input: &'g mut SchemaGenerator,
    output: &'g mut SchemaGenerator,
}

impl RouteSpecBuilder<'_> {
    pub(crate) fn summary(&mut self, summary: &'static str) -> &mut Self {
        self.about.summary = summary;
        self
    }

    pub(crate) fn query<T: JsonSchema>(&mut self) -> &mut Self {
        self.about.query = Some(self.input.root_schema_for::<T>());
        self
    }

    pub(crate) fn body<T: JsonSchema>(&mut self) -> &mut Self {
        self.about.body = Some(self.input.subschema_for::<T>());
        self
    }

    pub(crate) fn json<T: JsonSchema>(&mut self) -> &mut Self {
        self.about.response = Some(("application/json", self.output.subschema_for::<T>()));
        self
    }

    /// Marks a route that needs no credential.
    pub(crate) fn public(&mut self) -> &mut Self {
        self.about.is_public = true;
        self
    }

    pub(crate) fn text(&mut self, media: &'static str) -> &mut Self {
        self.about.response = Some((media, self.output.subschema_for::<String>()));
        self
    }
}

fn operation(method: &str, path: &str, about: RouteSpec, output: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": path_schema(path, name)}))
        .collect();
    parameters.extend(about.query.iter().flat_map(query_parameters));
    let problem = output.subschema_for::<ErrorAnswer>();
    let content = json!({"application/json": {"schema": problem}});
    let success = match about.response {
        Some((media, schema)) => json!({"description": "Success.", "content": {media: {"schema": schema}}}),
        None => json!({"description": "Success."}),
    };
    let responses = json!({
        "200": success,
        "4XX": {"description": "The request was rejected; `error` has the reason.", "content": content},
        "5XX": {"description": "The request failed; `error` has the reason.", "content": content},
    });
    let id = format!(
        "{}{}",
        method.to_lowercase(),
        path.replace(['/', '.'], "_").replace(['{', '}'], "")
    );
    let mut operation = json!({
        "operationId": id,
        "summary": about.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if about.is_public {
        operation["security"] = json!([]);
    }
    if let Some(body) = about.body {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": body}}});
    }
    operation
}

/// Returns the schema of a path parameter.
fn path_schema(path: &str, name: &str) -> Value {
    match name {
        "db_id" => json!({"type": "string", "pattern": "^[0-9]{1,18}$"}),
        _ if path.starts_with("/api/observations/") => {
            json!({"type": "string", "pattern": "^[SPNV]?[0-9]{1,18}$"})
        }
        _ => json!({"type": "string", "minLength": 1}),
    }
}

/// Converts the fields of a query type to parameters.
fn query_parameters(schema: &Schema) -> Vec<Value> {
    let empty = Map::new();
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array);
    fields
        .iter()
        .map(|(name, field)| {
            let mut field = field.clone();
            let about = field
                .as_object_mut()
                .and_then(|field| field.remove("description"))
                .unwrap_or_default();
            // An optional parameter is absent, never null.
            if let Some(Value::Array(types)) = field.get("type") {
                let one = types.iter().find(|one| *one != "null").cloned();
                field["type"] = one.unwrap_or_default();
            }
            let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
            json!({"name": name, "in": "query", "required": is_required, "description": about, "schema": field})
        })
        .collect()
}
