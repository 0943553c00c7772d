//! Records changes to files, by edit tools and by shell commands.

use backstory_model::EvidenceKind;

use super::{
    clean::clean,
    content,
    edit::{self, Edit},
    files::ShellChange,
    path,
    recorder::Recorder,
};
use crate::{Action, ChangeKind, FileChange, Replacement, ToolUse, english::gives_orders};

impl Recorder<'_> {
    /// Records the changes of an edit tool.
    pub(super) fn edits(&mut self, tool: &ToolUse) {
        let edits = edit::of(tool);
        if edits.is_empty() {
            self.failure(tool);
        }
        for edit in &edits {
            self.edit(tool, edit);
        }
    }

    /// Records one change.
    pub(super) fn edit(&mut self, tool: &ToolUse, edit: &Edit) {
        let path = self.shown(&edit.path);
        if let Some(content) = &edit.content {
            self.written.note(&edit.path, content);
            if path::is_plan(&path) {
                self.plan_text(tool, content, None);
                return;
            }
        }
        let (kind, text) = match &edit.content {
            Some(content) => (EvidenceKind::File, format!("{path}\n{content}")),
            None => (EvidenceKind::Edit, format!("{path}\n{}", edit.lines.join("\n"))),
        };
        let item = self.item(kind, clean(&text).into_owned(), Some(path.clone()), Some(tool));
        let kind = match (edit.created, edit.deleted) {
            (true, _) => ChangeKind::Created,
            (_, true) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let (added, removed): (Vec<&str>, Vec<&str>) = (edit.added().collect(), edit.removed().collect());
        let change = FileChange {
            header: edit
                .content
                .as_deref()
                .and_then(|content| content::header(&path, content)),
            ..change(path, kind, &added, &removed)
        };
        self.entry(Some(item), Some(tool), Action::Change(change));
    }

    /// Records a change by a shell command that is shown by an item already.
    pub(super) fn shell_change(&mut self, tool: &ToolUse, item: Option<u32>, shell: ShellChange<'_>) {
        let path = self.shown(&shell.path);
        let item = match shell.content {
            Some(content) => {
                self.written.note(&shell.path, content);
                let text = clean(&format!("{path}\n{content}")).into_owned();
                Some(self.item(EvidenceKind::File, text, Some(path.clone()), Some(tool)))
            }
            None => item,
        };
        let kind = match shell.kind {
            ChangeKind::MovedFrom(from) => ChangeKind::MovedFrom(self.shown(&from)),
            other => other,
        };
        let lines: Vec<&str> = shell.content.unwrap_or_default().lines().collect();
        let change = FileChange {
            header: shell.content.and_then(|content| content::header(&path, content)),
            ..change(path, kind, &lines, &[])
        };
        self.entry(item, Some(tool), Action::Change(change));
    }
}

fn change(path: String, kind: ChangeKind, added: &[&str], removed: &[&str]) -> FileChange {
    let defines = content::names(&path, added.iter().copied());
    let gone = content::names(&path, removed.iter().copied());
    FileChange {
        replaced: replacement(added, removed),
        scratch: path::is_scratch(&path),
        header: None,
        values: content::values(&path, added.iter().copied()),
        comments: content::reasons(&path, added.iter().copied()),
        // A name on both sides was neither defined nor removed.
        removes: gone
            .iter()
            .filter(|name| !defines.contains(name))
            .cloned()
            .collect(),
        defines: defines.into_iter().filter(|name| !gone.contains(name)).collect(),
        kind,
        path,
    }
}

/// Returns a change of one short line.
fn replacement(added: &[&str], removed: &[&str]) -> Option<Replacement> {
    const MAX_LINE: usize = 80;
    let ([after], [before]) = (added, removed) else {
        return None;
    };
    let (before, after) = (clean(before), clean(after));
    let (before, after) = (before.trim(), after.trim());
    let is_short = |line: &str| !line.is_empty() && line.chars().count() <= MAX_LINE;
    (is_short(before) && is_short(after) && before != after && !gives_orders(before)).then(|| Replacement {
        before: before.to_owned(),
        after: after.to_owned(),
    })
}
