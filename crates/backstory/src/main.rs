//! backstory: long-term memory for coding agents.

mod arena;
mod cli;
mod command;
mod doctor;
mod hook;
mod json_output;
mod output;
mod picker;
mod process;
mod progress;
mod receipt;
mod scratch;
mod statusline;
mod version;

use std::process::ExitCode;

use backstory_system::ignore_sigxfsz;

fn main() -> ExitCode {
    ignore_sigxfsz();
    let mut args = std::env::args_os().skip(1);
    let command = args.next().unwrap_or_default();
    let words: Vec<String> = args.filter_map(|word| word.into_string().ok()).collect();
    let asks_for_help = words.iter().any(|word| word == "-h" || word == "--help");
    // Checked before anything else: both run at every step of an agent and must not pay for the argument parser.
    if command == "hook" && !asks_for_help {
        hook::run(&words);
        return ExitCode::SUCCESS;
    }
    if command == "statusline" && !asks_for_help {
        statusline::run();
        return ExitCode::SUCCESS;
    }
    arena::turn_off();
    cli::main()
}
