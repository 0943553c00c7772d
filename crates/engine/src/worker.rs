//! The worker: one process per home folder that ingests events, distills them, indexes memories and serves requests.
//!
//! [`run()`] is the loop. How a worker is found, started and stopped is in `worker_process`.

mod activity;
mod assemble;
mod branch_check;
mod config;
mod cycle;
mod distill;
mod final_message;
mod index;
mod maintenance;
mod model_call;
mod model_pool;
mod run;
mod team_thread;

pub use config::{HttpAddress, RunMode, WorkerConfig, WorkerReport};
pub(crate) use distill::compose_pending;
pub use distill::{DistillOptions, distill_queue};
pub use model_call::{CallOutcome, EXPECTED_ANSWER, ModelCaller, ModelConfig, build_request};
pub use run::{HttpServer, StartServer, run};
