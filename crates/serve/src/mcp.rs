//! The tools over MCP: on standard input and output for one agent, and at `/mcp` for any.

use std::{path::PathBuf, sync::Arc};

use axum::Router;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, stdio,
        streamable_http_server::session::never::NeverSessionManager,
    },
};
use serde_json::Value;

use crate::{
    Backend, Stores,
    problem::ApiError,
    server::Server,
    tools::{CallerContext, ask, definitions, remember},
};

const INSTRUCTIONS: &str = "Memory of past coding sessions. Before work that may have been done before, `search`; before \
    changing an unfamiliar file, `file_history`; when something is worth knowing next time, `remember`.";

/// Answers one agent.
#[derive(Clone)]
struct Tools {
    stores: Arc<Stores>,
    outside: Arc<Backend>,
    standpoint: CallerContext,
    version: &'static str,
}

impl Tools {
    async fn call(&self, name: String, wish: Value) -> Result<String, ApiError> {
        let (stores, outside) = (Arc::clone(&self.stores), Arc::clone(&self.outside));
        let standpoint = self.standpoint.clone();
        match name.as_str() {
            "remember" => {
                self.stores
                    .write(move |store| remember(wish, store, &outside, &standpoint))
                    .await
            }
            _ => {
                let read = move |store: &_| ask(&name, wish, store, stores.vectors(), &outside, &standpoint);
                self.stores.read(read).await
            }
        }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("backstory", self.version);
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = definitions().into_iter().map(|(name, about, schema)| {
            let schema = schema.as_object().cloned().unwrap_or_default();
            let reads = ToolAnnotations::new().read_only(name != "remember");
            Tool::new(name, about, Arc::new(schema)).with_annotations(reads)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let wish = Value::Object(request.arguments.unwrap_or_default());
        let answer = match self.call(request.name.into_owned(), wish).await {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(problem) => {
                let hint = problem
                    .hint
                    .map(|hint| format!("\nhint: {hint}"))
                    .unwrap_or_default();
                CallToolResult::error(vec![ContentBlock::text(format!("{}{hint}", problem.message))])
            }
        };
        Ok(answer.into())
    }
}

/// Serves one agent on standard input and output until it hangs up.
pub fn serve_stdio(
    stores: Stores,
    outside: Backend,
    folder: Option<PathBuf>,
    version: &'static str,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(4)
        .build()?;
    let tools = Tools {
        stores: Arc::new(stores),
        outside: Arc::new(outside),
        standpoint: CallerContext { folder },
        version,
    };
    runtime.block_on(async {
        // An agent that hangs up before it says anything wanted nothing.
        if let Ok(running) = tools.serve(stdio()).await {
            running.waiting().await.ok();
        }
    });
    // Reading standard input cannot be interrupted.
    runtime.shutdown_background();
    Ok(())
}

/// The route for agents that ask over HTTP. Who may ask is checked before.
pub(crate) fn routes(server: &Arc<Server>) -> Router<Arc<Server>> {
    let tools = Tools {
        stores: Arc::clone(&server.stores),
        outside: Arc::clone(&server.outside),
        standpoint: CallerContext::default(),
        version: server.version,
    };
    // Every request stands for itself: there is nothing to remember between two of them.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().route_service("/mcp", service)
}
