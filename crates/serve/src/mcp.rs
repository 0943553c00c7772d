//! MCP server: over standard input and output for one agent, and at `/mcp` over HTTP.

use std::{path::PathBuf, sync::Arc};

use axum::Router;
use backstory_engine::engine::Engine;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::never::NeverSessionManager,
    },
};
use serde_json::Value;

use crate::{
    mcp_lines,
    problem::ApiError,
    server::Server,
    stores::{IngestMode, Stores},
    tools::{CallerContext, call_read_only, correct, definitions, remember},
};

/// Size of the pipes between the standard streams and the server; longer messages pass in parts.
const PIPE_BYTES: usize = 64 << 10;

const INSTRUCTIONS: &str = "Memory of past coding sessions. Call `search` before work that may have been done before, \
    `fix` when something fails, `file_history` before changing an unfamiliar file, `remember` to save what future sessions \
    should know, and `correct` when a memory turns out to be wrong.";

/// Handles the tool calls of one agent.
#[derive(Clone)]
struct Tools {
    stores: Arc<Stores>,
    engine: Arc<Engine>,
    caller: CallerContext,
    version: &'static str,
}

impl Tools {
    async fn call(&self, name: String, args: Value) -> Result<String, ApiError> {
        let (stores, engine) = (Arc::clone(&self.stores), Arc::clone(&self.engine));
        let caller = self.caller.clone();
        match name.as_str() {
            "remember" => {
                self.stores
                    .write(move |store| remember(args, store, &engine, &caller))
                    .await
            }
            "correct" => {
                self.stores
                    .write(move |store| correct(args, store, &engine, &caller))
                    .await
            }
            _ => {
                let read =
                    move |store: &_| call_read_only(&name, args, store, &stores.vectors(), &engine, &caller);
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
            let annotations = ToolAnnotations::new().read_only(!matches!(name, "remember" | "correct"));
            Tool::new(name, about, Arc::new(schema)).with_annotations(annotations)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.call(request.name.into_owned(), args).await {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(problem) => {
                let hint = problem
                    .hint
                    .map(|hint| format!("\nhint: {hint}"))
                    .unwrap_or_default();
                CallToolResult::error(vec![ContentBlock::text(format!("{}{hint}", problem.message))])
            }
        };
        Ok(result.into())
    }
}

/// Serves one agent over standard input and output until it disconnects.
pub fn serve_stdio(engine: Engine, folder: Option<PathBuf>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(4)
        .build()?;
    let engine = Arc::new(engine);
    let tools = Tools {
        stores: Arc::new(Stores::new(Arc::clone(&engine), IngestMode::BeforeRead)),
        engine,
        caller: CallerContext { folder },
        version: env!("CARGO_PKG_VERSION"),
    };
    runtime.block_on(async {
        let (input, requests) = tokio::io::duplex(PIPE_BYTES);
        let (answers, output) = tokio::io::duplex(PIPE_BYTES);
        let (errors, parse_errors) = tokio::sync::mpsc::unbounded_channel();
        let serve = async {
            // Fails if the agent disconnects before the handshake.
            if let Ok(running) = tools.serve((requests, answers)).await {
                running.waiting().await.ok();
            }
        };
        // The server ends when its input does, and the last answers are written after that.
        let read = mcp_lines::forward_requests(tokio::io::stdin(), input, errors);
        let write = mcp_lines::write_answers(output, parse_errors, tokio::io::stdout());
        tokio::join!(serve, read, write);
    });
    // A blocked read of standard input cannot be canceled.
    runtime.shutdown_background();
    Ok(())
}

/// Returns the route for MCP over HTTP. Access is checked before.
pub(crate) fn routes(server: &Arc<Server>) -> Router<Arc<Server>> {
    let tools = Tools {
        stores: Arc::clone(&server.stores),
        engine: Arc::clone(&server.engine),
        caller: CallerContext::default(),
        version: server.version,
    };
    // Stateless: no sessions between requests.
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
