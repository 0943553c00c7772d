//! backstory: long-term memory for coding agents.

mod arena;
mod backups;
mod cli;
mod clock;
mod command;
mod doctor;
mod environment;
mod given;
mod home;
mod hook;
mod import;
mod jsonl;
mod log;
mod output;
mod outside;
mod process;
mod repair;
mod scratch;
mod settings;
mod wash;
mod when;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    // Looked at before anything else: a hook runs for every tool call of an agent, and must not pay for a parser.
    if args.next().is_some_and(|command| command == "hook") {
        let words: Vec<String> = args.filter_map(|word| word.into_string().ok()).collect();
        if !words.iter().any(|word| word == "-h" || word == "--help") {
            hook::run(&words);
            return ExitCode::SUCCESS;
        }
    }
    arena::turn_off();
    cli::main()
}
