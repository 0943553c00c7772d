//! Agents on the health page: when each reported last, and what the checks found about it.

use backstory_capture::host::HOSTS;
use backstory_engine::connection::Connection;
use backstory_store::HostSeen;
use maud::{Markup, html};

use super::{
    checks::finding,
    text::inline_text,
    view::{View, plural},
};
use crate::checks::{CheckFinding, CheckReport};

/// Renders all agents that have reported or that the checks know.
pub(super) fn section(connection: &Connection, report: Option<&CheckReport>, view: &View) -> Markup {
    let seen: &[HostSeen] = match connection {
        Connection::Connected(hosts) => hosts,
        Connection::NotConnected | Connection::Waiting => &[],
    };
    let findings = report.map_or(&[][..], |report| &report.findings);
    let mut names: Vec<&str> = seen.iter().map(|seen| seen.host.as_str()).collect();
    for name in findings.iter().filter_map(CheckFinding::agent) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    html! {
        section #agents aria-labelledby="agents-title" {
            h2 #agents-title { "Agents" }
            @if names.is_empty() {
                p.muted {
                    @if *connection == Connection::Waiting { "None has reported yet: start a new session in your agent." }
                    @else { "None is connected. Run " code { "backstory setup" } " in a terminal." }
                }
            }
            ul.list {
                @for name in names {
                    @let of_agent = findings.iter().filter(|finding| finding.agent() == Some(name));
                    (agent(name, seen.iter().find(|seen| seen.host == name), of_agent, view))
                }
            }
        }
    }
}

fn agent<'f>(
    name: &str,
    seen: Option<&HostSeen>,
    findings: impl Iterator<Item = &'f CheckFinding>,
    view: &View,
) -> Markup {
    let title = HOSTS.into_iter().find(|host| host.name == name);
    html! {
        li.item data-item data-status=[seen.map(|_| "active")] {
            div.head { span.title { (inline_text(title.map_or(name, |host| host.title))) } }
            @for one in findings { (finding(one)) }
            p.meta {
                @match seen {
                    Some(seen) => {
                        span { (plural(seen.sessions, "session", "sessions")) }
                        span { "last event " (view.times.ago(seen.last_at)) }
                    }
                    None => span { "has not reported yet" },
                }
            }
        }
    }
}
