//! Lets the user choose agents in the terminal: space toggles, `d` shows the changes of one, Enter confirms.

use std::io::{self, Write as _};

use anstream::println;
use anyhow::{Context as _, Result};
use backstory_system::read_key;
use backstory_text::one_line;

use super::agent::Agent;
use crate::{
    command::install,
    output::{self, BOLD, DIM, GOOD},
};

const HELP: &str = "space: toggle, up and down: move, d: show its changes, Enter: connect, q: quit";

/// Columns up to the description of an agent.
const NAME_END: usize = 20;

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
                // Only of this agent: those of all would scroll away.
                let changes = agents.get(at).and_then(|agent| agent.changes.as_deref().ok());
                for change in changes.unwrap_or_default() {
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
        // A wrapped line would take two rows, and the next drawing would begin in the wrong one.
        let line = one_line(&agent.line(), output::width().saturating_sub(NAME_END));
        println!(
            "{cursor} {GOOD}[{mark}]{GOOD:#} {BOLD}{:<12}{BOLD:#} {line}",
            agent.host.title
        );
    }
    println!("{DIM}{}{DIM:#}", one_line(HELP, output::width()));
}
