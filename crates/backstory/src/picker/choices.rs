//! What the list is narrowed to: scope, kind and time, each chosen from a short menu.

use backstory_model::{MemoryKind, ObservationType};

/// The memories that are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeChoice {
    Project,
    Branch,
    All,
}

/// The kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindChoice {
    Everything,
    Sessions,
    Memories(MemoryKind),
    Type(ObservationType),
}

impl KindChoice {
    /// Returns all kinds, as the menu lists them.
    pub(super) fn all() -> Vec<Self> {
        let kinds = [
            Self::Everything,
            Self::Sessions,
            Self::Memories(MemoryKind::Summary),
            Self::Memories(MemoryKind::Note),
            Self::Memories(MemoryKind::Team),
        ];
        let types = ObservationType::ALL.into_iter().map(Self::Type);
        let verbatim = [MemoryKind::Prompt, MemoryKind::Passage].map(Self::Memories);
        kinds.into_iter().chain(types).chain(verbatim).collect()
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Sessions => "sessions",
            Self::Memories(MemoryKind::Summary) => "hand-overs",
            Self::Memories(MemoryKind::Note) => "notes",
            Self::Memories(MemoryKind::Team) => "team",
            Self::Memories(MemoryKind::Prompt) => "prompts",
            Self::Memories(MemoryKind::Passage) => "evidence",
            Self::Memories(MemoryKind::Observation) => "observations",
            Self::Type(kind) => kind.name(),
        }
    }
}

/// The time from which memories are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeChoice {
    Any,
    Today,
    Week,
    Month,
    Year,
}

impl TimeChoice {
    pub(super) const ALL: [Self; 5] = [Self::Any, Self::Today, Self::Week, Self::Month, Self::Year];

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Any => "any time",
            Self::Today => "today",
            Self::Week => "last 7 days",
            Self::Month => "last 30 days",
            Self::Year => "last year",
        }
    }

    /// Returns the time as `--since` takes it.
    pub(super) const fn since(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::Today => Some("today"),
            Self::Week => Some("7d"),
            Self::Month => Some("30d"),
            Self::Year => Some("365d"),
        }
    }
}

/// A list of choices over the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) of: MenuOf,
    pub(super) labels: Vec<String>,
    pub(super) selected: usize,
}

/// The setting that a menu changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MenuOf {
    Scope,
    Kind,
    Time,
}

impl MenuOf {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Scope => "Search in",
            Self::Kind => "Show",
            Self::Time => "From",
        }
    }
}

impl Menu {
    pub(super) fn down(&mut self) {
        self.selected = (self.selected + 1) % self.labels.len().max(1);
    }

    pub(super) fn up(&mut self) {
        let count = self.labels.len().max(1);
        self.selected = (self.selected + count - 1) % count;
    }

    /// Selects the next choice that starts with a letter.
    pub(super) fn jump(&mut self, letter: char) {
        let count = self.labels.len();
        let starts = |at: &usize| {
            let first = self.labels[*at].chars().next();
            first.is_some_and(|first| first.eq_ignore_ascii_case(&letter))
        };
        let next = (1..=count)
            .map(|step| (self.selected + step) % count)
            .find(starts);
        self.selected = next.unwrap_or(self.selected);
    }
}
