//! The timeline of a project: a lane per branch, sessions as bars, decisions and failures as marks.
//!
//! The drawing is for the mouse and the eye: its links are not in the tab order, because the lists of the page have them all.
//! Each lane has its content as text.

use std::time::Duration;

use backstory_model::{Handle, Timestamp};
use backstory_store::{Project, SessionSpan, Store, TimelineMark, TimelineMarkKind};
use maud::{Markup, html};

use super::{
    link,
    text::{inline_text, opening},
    time::day_name,
    view::plural,
};
use crate::problem::ApiError;

/// Maximum number of sessions, marks and lanes.
const MAX_SESSIONS: u32 = 80;
const MAX_MARKS: u32 = 200;
const MAX_LANES: usize = 7;

/// The longest period that is drawn: older sessions would make the bars of the latest invisible.
const MAX_PERIOD: Duration = Duration::from_hours(60 * 24);

/// The latest sessions are drawn whatever their age, so that a project that was taken up again still has a history.
const MIN_SESSIONS: usize = 12;

/// Width of the drawing in its own units.
const WIDTH: i64 = 1_000;

/// Sessions and marks of a branch. The last lane collects the branches that have none of their own.
struct Lane {
    name: Option<String>,
    sessions: Vec<SessionSpan>,
    marks: Vec<TimelineMark>,
}

pub(super) struct Timeline {
    lanes: Vec<Lane>,
    from: Timestamp,
    to: Timestamp,
}

impl Timeline {
    /// Reads the timeline; `None` if the project has no sessions.
    pub(super) fn read(store: &Store, project: &Project) -> Result<Option<Self>, ApiError> {
        let mut sessions = store.session_spans(project, MAX_SESSIONS)?;
        let Some(to) = sessions.iter().map(|session| session.last_event_at).max() else {
            return Ok(None);
        };
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_event_at));
        let lately = sessions
            .iter()
            .take_while(|session| to.since(session.last_event_at) < MAX_PERIOD)
            .count();
        sessions.truncate(lately.max(MIN_SESSIONS));
        let first = sessions.iter().map(|session| session.started_at).min();
        let from = first.unwrap_or(to);
        let mut lanes: Vec<Lane> = Vec::new();
        for session in sessions {
            lane(&mut lanes, session.branch.as_deref()).sessions.push(session);
        }
        for mark in store.timeline_marks(project, from, MAX_MARKS)? {
            lane(&mut lanes, mark.branch.as_deref()).marks.push(mark);
        }
        Ok(Some(Self { lanes, from, to }))
    }

    pub(super) fn show(&self) -> Markup {
        html! {
            section.panel aria-labelledby="timeline" {
                h2 #timeline { "Timeline" }
                ol.lanes {
                    @for lane in &self.lanes {
                        li {
                            span.path { @match &lane.name { Some(name) => (inline_text(name)), None if self.lanes.len() > MAX_LANES => "other branches", None => "no branch" } }
                            (self.draw(lane))
                            span.unseen { (lane.about()) }
                        }
                    }
                }
                div.axis.lane-axis aria-hidden="true" {
                    span { (day_name(self.from)) }
                    @if day_name(self.from) != day_name(self.to) { span { (day_name(self.to)) } }
                }
                ul.legend aria-hidden="true" {
                    li { span.key.session-key {} "session" }
                    li { span.key.decision-key {} "decision" }
                    li { span.key.failure-key {} "failure" }
                }
            }
        }
    }

    fn draw(&self, lane: &Lane) -> Markup {
        const MIN_WIDTH: i64 = 4;
        html! {
            svg.lane viewBox={ "0 0 " (WIDTH) " 24" } preserveAspectRatio="none" aria-hidden="true" {
                @for session in &lane.sessions {
                    @let x = self.position(session.started_at);
                    @let width = (self.position(session.last_event_at) - x).max(MIN_WIDTH);
                    a href=(link::session(&session.session_id)) tabindex="-1" {
                        rect.session x=(x.min(WIDTH - MIN_WIDTH)) y="6" width=(width) height="12" rx="2" {
                            title { (opening(session.title.as_deref().unwrap_or("Session"), 120)) }
                        }
                    }
                }
                @for mark in &lane.marks {
                    @let x = self.position(mark.at);
                    @let (class, y1, y2) = match mark.kind {
                        TimelineMarkKind::Decision => ("decision", 0, 11),
                        TimelineMarkKind::Failure => ("failure", 13, 24),
                    };
                    a href=(link::memory(Handle::from(mark.id))) tabindex="-1" {
                        line class=(class) x1=(x) x2=(x) y1=(y1) y2=(y2) { title { (opening(&mark.title, 120)) } }
                    }
                }
            }
        }
    }

    /// Returns the horizontal position of a moment.
    fn position(&self, at: Timestamp) -> i64 {
        let whole = (self.to.as_millis() - self.from.as_millis()).max(1);
        let part = (at.as_millis() - self.from.as_millis()).clamp(0, whole);
        part * (WIDTH - 8) / whole + 2
    }
}

impl Lane {
    fn about(&self) -> String {
        let count = |kind| self.marks.iter().filter(|mark| mark.kind == kind).count() as u64;
        format!(
            ": {}, {}, {}",
            plural(self.sessions.len() as u64, "session", "sessions"),
            plural(count(TimelineMarkKind::Decision), "decision", "decisions"),
            plural(count(TimelineMarkKind::Failure), "failure", "failures"),
        )
    }
}

/// Returns the lane of a branch; branches come in the order of their latest session.
fn lane<'l>(lanes: &'l mut Vec<Lane>, branch: Option<&str>) -> &'l mut Lane {
    let named = |lane: &Lane| branch.is_some() && lane.name.as_deref() == branch;
    let at = match lanes.iter().position(named) {
        Some(at) => at,
        None => {
            let name = branch.filter(|_| lanes.len() < MAX_LANES).map(ToOwned::to_owned);
            match lanes.iter().position(|lane| lane.name.is_none()) {
                Some(at) if name.is_none() => at,
                _ => {
                    lanes.push(Lane {
                        name,
                        sessions: Vec::new(),
                        marks: Vec::new(),
                    });
                    lanes.len() - 1
                }
            }
        }
    };
    &mut lanes[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_beyond_the_limit_share_a_lane() {
        let mut lanes = Vec::new();
        for number in 0..10 {
            lane(&mut lanes, Some(&format!("branch-{number}")));
        }
        lane(&mut lanes, None);
        lane(&mut lanes, Some("branch-2"));
        assert_eq!(lanes.len(), MAX_LANES + 1);
        assert_eq!(lanes[2].name.as_deref(), Some("branch-2"));
        assert_eq!(lanes[MAX_LANES].name, None);
    }
}
