//! Lets the user choose agents in the terminal: space toggles, `d` shows the changes, Enter confirms.

use std::io::{self, Write as _};

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_system::read_key;

use super::agent::Agent;
use crate::{
    command::install,
    output::{BOLD, DIM, GOOD},
};

const HELP: &str = "space: toggle, up and down: move, d: show the changes, Enter: connect, q: quit";

/// Shows the agents until the user confirms or quits. Returns true if they were confirmed.
pub(super) fn pick(agents: &mut [Agent]) -> Result<bool> {
    let mut at = 0;
    show(agents, at);
    loop {
        let key = read_key().context("could not read the terminal")?;
        match key.unwrap_or(b'q') {
            b' ' => {
                if let Some(agent) = agents.get_mut(at).filter(|agent| agent.changes.is_ok()) {
                    agent.is_chosen = !agent.is_chosen;
                }
            }
            b'j' | b'B' => at = (at + 1).min(agents.len().saturating_sub(1)),
            b'k' | b'A' => at = at.saturating_sub(1),
            b'd' => {
                for change in agents
                    .iter()
                    .flat_map(|agent| agent.changes.as_deref().unwrap_or_default())
                {
                    install::print(change, true);
                }
                show(agents, at);
                continue;
            }
            b'\r' | b'\n' => return Ok(true),
            // Ctrl-C and Ctrl-D.
            b'q' | 3 | 4 => return Ok(false),
            _ => continue,
        }
        // Draws over the list and the help line.
        let lines = agents.len() + 1;
        write!(io::stdout(), "\x1b[{lines}A\x1b[J").and_then(|()| io::stdout().flush())?;
        show(agents, at);
    }
}

fn show(agents: &[Agent], at: usize) {
    for (index, agent) in agents.iter().enumerate() {
        let cursor = if index == at { ">" } else { " " };
        let mark = if agent.is_chosen { "x" } else { " " };
        println!(
            "{cursor} {GOOD}[{mark}]{GOOD:#} {BOLD}{:<12}{BOLD:#} {}",
            agent.host.title,
            agent.line()
        );
    }
    println!("{DIM}{HELP}{DIM:#}");
}
