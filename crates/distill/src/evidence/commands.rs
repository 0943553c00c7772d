//! Records shell commands with everything they do: checks, commits, pushes, publications and changes to files.

use backstory_model::EvidenceKind;

use super::{
    clean::clean,
    edit, files, git, path, publication, purpose,
    recorder::Recorder,
    run::{self, Output, command_of},
    shell::{self, Joint, Simple},
};
use crate::{Action, ChangeKind, GitCommit, RunOutcome, ToolUse};

impl Recorder<'_> {
    /// Records a shell command.
    pub(super) fn command(&mut self, tool: &ToolUse) {
        let command = command_of(&tool.input);
        if command.trim().is_empty() {
            self.other(tool);
            return;
        }
        let output = Output::of(&tool.outcome);
        let parts = shell::parse(&command);
        let effects = self.effects(&parts, &output);
        let failed = output.status == Some(false);
        let says_all = |part: &Simple<'_>| {
            let is_git = matches!(
                git::subcommand(part).0,
                "add" | "commit" | "push" | "status" | "log" | "fetch"
            );
            part.program() == "git" && is_git
                || purpose::of(part).is_none()
                || part.joint == Joint::Pipe
                || publication::of_command(part, "", &self.written).is_some()
        };
        let is_told = |effect: &Effect<'_>| !matches!(effect, Effect::Change(_));
        // The message of a commit and the text of a pull request need no second item with the command around them.
        let item = if !failed && effects.iter().any(is_told) && parts.iter().all(says_all) {
            None
        } else {
            Some(self.run(tool, &command, &parts, &output))
        };
        for edit in &edit::of(tool) {
            self.edit(tool, edit);
        }
        let mut last = item;
        for effect in effects {
            last = self.effect(tool, effect, last).or(last);
        }
        // Short forms cannot be told from the output of the other commands.
        let status = parts.iter().find(|part| part.words == ["git", "status"]);
        if let Some(status) = status.filter(|_| item.is_none()) {
            let run = run::read(std::slice::from_ref(status), &output);
            run.into_iter()
                .for_each(|run| self.entry(last, Some(tool), Action::Run(run)));
        }
    }

    /// Adds the item of a command, and the entry of its run unless it only prepares others.
    fn run(&mut self, tool: &ToolUse, command: &str, parts: &[Simple<'_>], output: &Output) -> u32 {
        let run = run::read(parts, output);
        let outcome = match &run {
            Some(run) => run.outcome,
            None => match output.status {
                Some(true) => RunOutcome::Passed,
                Some(false) => RunOutcome::Failed,
                None => RunOutcome::Unknown,
            },
        };
        let (kind, mark) = match outcome {
            RunOutcome::Passed => (EvidenceKind::Command, "[ok]"),
            RunOutcome::Failed => (EvidenceKind::Error, "[failed]"),
            RunOutcome::Unknown => (EvidenceKind::Command, "[unknown]"),
        };
        let text = format!("$ {}\n{mark}\n{}", clean(command.trim()), output.text.trim());
        let item = self.item(kind, text.trim_end().to_owned(), None, Some(tool));
        if let Some(run) = run {
            self.entry(Some(item), Some(tool), Action::Run(run));
        }
        item
    }

    /// Returns what the parts of a command did, in order.
    fn effects<'c>(&self, parts: &[Simple<'c>], output: &Output) -> Vec<Effect<'c>> {
        let mut out = Vec::new();
        let failed = output.status != Some(true);
        let mut folder: Option<String> = None;
        // In a command that failed, only the parts before the first that can fail are certain to have run.
        let mut is_certain = true;
        for part in parts {
            if part.program() == "cd" {
                folder = part.words.get(1).map(|to| path::joined(folder.as_deref(), to));
                continue;
            }
            // `a || b`: b ran only if a failed.
            if part.joint == Joint::Or {
                continue;
            }
            let place = git::folder(part).or(folder.as_deref());
            let is_scratch = place.is_some_and(path::is_temporary);
            if !is_scratch {
                let commit = git::commit(part, &output.text, &self.written);
                out.extend(
                    commit
                        .filter(|commit| !failed || commit.hash.is_some())
                        .map(Effect::Commit),
                );
            }
            let changes = files::of(part);
            let writes_text = changes.iter().any(|change| change.content.is_some());
            for mut change in changes {
                let has_run = !failed || (is_certain && change.content.is_some());
                let is_all = change.path == ".";
                if !has_run || (is_all && is_scratch) {
                    continue;
                }
                if !is_all {
                    change.path = path::joined(place, &change.path);
                }
                if let ChangeKind::MovedFrom(from) = &mut change.kind {
                    *from = path::joined(place, from);
                }
                out.push(Effect::Change(change));
            }
            is_certain &= writes_text || purpose::of(part).is_none();
            if failed {
                continue;
            }
            if !is_scratch && let Some(push) = git::push(part, &output.text) {
                out.push(Effect::Push(push));
            }
            let publication = publication::of_command(part, &output.text, &self.written);
            out.extend(publication.map(Effect::Publication));
        }
        out
    }

    /// Records an effect; returns its item if it has one of its own.
    fn effect(&mut self, tool: &ToolUse, effect: Effect<'_>, item: Option<u32>) -> Option<u32> {
        match effect {
            Effect::Commit(commit) => {
                let item = self.item(EvidenceKind::Commit, commit_text(&commit), None, Some(tool));
                self.entry(Some(item), Some(tool), Action::Commit(commit));
                return Some(item);
            }
            Effect::Push(git::Push { branch, tip }) => {
                let item = item.unwrap_or_else(|| {
                    let text = format!("git push {}", branch.as_deref().unwrap_or_default());
                    self.item(
                        EvidenceKind::Command,
                        text.trim_end().to_owned(),
                        None,
                        Some(tool),
                    )
                });
                self.entry(Some(item), Some(tool), Action::Push { branch, tip });
                return Some(item);
            }
            Effect::Publication(publication) => self.publication(tool, publication),
            Effect::Change(change) => self.shell_change(tool, item, change),
        }
        None
    }
}

/// One thing that a command did.
enum Effect<'c> {
    Commit(GitCommit),
    Push(git::Push),
    Publication(crate::Publication),
    Change(files::ShellChange<'c>),
}

fn commit_text(commit: &GitCommit) -> String {
    let mut text = String::new();
    if let Some(hash) = &commit.hash {
        text.push_str(&format!("commit {hash}\n"));
    }
    text.push_str(&commit.subject);
    if let Some(body) = &commit.body {
        text.push_str(&format!("\n\n{body}"));
    }
    clean(&text).into_owned()
}
