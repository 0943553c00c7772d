//! Renders the hand-over of a session: a list per section, long ones folded, open items with boxes.

use backstory_model::Handover;
use backstory_store::{Session, Store};
use maud::{Markup, html};

use super::{open_items::TickItem, text::inline_text, view::View};
use crate::problem::ApiError;

/// Lines of a section that are not folded.
const MAX_LINES: usize = 5;

/// The label of open items among the sections of a hand-over.
const OPEN: &str = "open";

/// A hand-over with the items that were ticked off.
pub(super) struct HandoverView {
    pub(super) handover: Handover,
    ticked: Vec<String>,
    pub(super) session_id: String,
    project: String,
}

impl HandoverView {
    /// Reads the hand-over of a session; `None` if it has none yet.
    pub(super) fn read(store: &Store, session: &Session) -> Result<Option<Self>, ApiError> {
        let Some(handover) = store.handover(session.db_id)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            handover,
            ticked: store.ticked_items(session.db_id)?,
            session_id: session.session_id.clone(),
            project: session.project_id.clone(),
        }))
    }

    /// Renders all sections.
    pub(super) fn show(&self, view: &View) -> Markup {
        // Ticked items are shown after the open ones, also if none is open.
        let mut all = self.handover.clone();
        all.open.extend(self.ticked.iter().cloned());
        panel(&all, &|label, lines| {
            if label == OPEN {
                self.boxes(lines, view)
            } else {
                folded_bullets(lines)
            }
        })
    }

    /// Renders all sections except open items, for a page that lists them apart.
    pub(super) fn show_without_open(&self) -> Markup {
        let rest = Handover {
            open: Vec::new(),
            ..self.handover.clone()
        };
        panel(&rest, &|_, lines| folded_bullets(lines))
    }

    fn boxes(&self, lines: &[String], view: &View) -> Markup {
        html! {
            ul.todos {
                @for line in lines { (TickItem::new(line, self.ticked.contains(line)).show(view, &self.project)) }
            }
        }
    }
}

fn panel(handover: &Handover, section: &dyn Fn(&str, &[String]) -> Markup) -> Markup {
    html! {
        section.panel.handover #handover data-live="swap" aria-labelledby="handover-title" {
            h2 #handover-title { "Hand-over" }
            dl.fields { @for (label, lines) in handover.sections() { dt { (label) } dd { (section(label, lines)) } } }
        }
    }
}

fn folded_bullets(lines: &[String]) -> Markup {
    let (first, more) = lines.split_at(lines.len().min(MAX_LINES));
    html! {
        (bullets(first))
        @if !more.is_empty() { details { summary { (more.len()) " more" } (bullets(more)) } }
    }
}

fn bullets(lines: &[String]) -> Markup {
    html! { ul.bullets { @for line in lines { li { (inline_text(line)) } } } }
}
