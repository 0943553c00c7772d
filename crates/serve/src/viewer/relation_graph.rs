//! Draws the memories around one memory: earlier ones on the left, later ones on the right.
//!
//! A list with the full titles is its text alternative, and replaces it on narrow screens.

use backstory_model::Timestamp;
use backstory_store::{Memory, MemoryRelation, RelatedMemory, Sighting};
use maud::{Markup, html};

use super::{
    card::{MemoryCard, shown_handle},
    link,
    text::{inline_text, single_line},
    view::View,
};

const NODE_WIDTH: usize = 220;
const NODE_HEIGHT: usize = 34;
const ROW: usize = 44;
const MIDDLE: usize = 290;
const RIGHT: usize = 580;

/// Maximum length of a title in a node, in characters.
const MAX_TITLE: usize = 28;

/// Memories that are connected with one, and turns that repeated it.
pub(super) struct Relations {
    pub(super) related: Vec<RelatedMemory>,
    pub(super) sightings: Vec<Sighting>,
}

/// A related memory at its place in the drawing.
struct Node {
    card: MemoryCard,
    relation: MemoryRelation,
    x: usize,
    row: usize,
}

impl Relations {
    pub(super) fn show(&self, view: &View, memory: &Memory) -> Markup {
        html! {
            @if !self.related.is_empty() || !self.sightings.is_empty() {
                section aria-labelledby="relations" {
                    h2 #relations { "Relations" }
                    @if !self.related.is_empty() { (self.graph(memory)) }
                    ul.entries {
                        @for related in &self.related {
                            @let card = MemoryCard::new(&related.memory);
                            li data-kind=(card.kind_class()) {
                                span.relation data-relation=(class(related.relation)) { (label(related.relation)) } " "
                                a href=(link::memory(card.handle)) { span.handle { (shown_handle(card.handle)) } " " (inline_text(&card.title)) }
                                p.meta { (view.times.ago(card.created_at)) }
                            }
                        }
                        @for sighting in &self.sightings {
                            li {
                                span.relation { "seen again in" } " "
                                a href=(link::turn(&sighting.session_id, sighting.turn)) { "turn " (sighting.turn) " of a later session" }
                                p.meta { (view.times.ago(sighting.at)) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn graph(&self, memory: &Memory) -> Markup {
        let nodes = self.nodes(memory.created_at);
        let rows = nodes.iter().map(|node| node.row + 1).max().unwrap_or(1);
        let height = rows * ROW;
        let middle = (height - NODE_HEIGHT) / 2;
        // An empty side is left out.
        let left = if nodes.iter().any(|node| node.x == 0) {
            0
        } else {
            MIDDLE
        };
        let right = NODE_WIDTH
            + if nodes.iter().any(|node| node.x == RIGHT) {
                RIGHT
            } else {
                MIDDLE
            };
        let about = format!(
            "Graph of {} related memories; the list below has the same content",
            nodes.len()
        );
        html! {
            svg.graph viewBox={ (left) " 0 " (right - left) " " (height) } width=(right - left) role="img" aria-label=(about) {
                @for node in &nodes {
                    @let from = if node.x == 0 { NODE_WIDTH } else { MIDDLE + NODE_WIDTH };
                    @let to = if node.x == 0 { MIDDLE } else { RIGHT };
                    @let (own, other) = (middle + NODE_HEIGHT / 2, node.row * ROW + NODE_HEIGHT / 2);
                    @let (start, end) = if node.x == 0 { (other, own) } else { (own, other) };
                    line data-relation=(class(node.relation)) x1=(from) y1=(start) x2=(to) y2=(end) {}
                }
                (draw(&MemoryCard::new(memory), MIDDLE, middle, "this memory"))
                @for node in &nodes { (draw(&node.card, node.x, node.row * ROW, label(node.relation))) }
            }
        }
    }

    /// Places earlier memories on the left and later ones on the right. What is superseded is earlier, whatever its time.
    fn nodes(&self, created_at: Timestamp) -> Vec<Node> {
        let mut rows = [0, 0];
        let place = |related: &RelatedMemory| {
            let is_later = match related.relation {
                MemoryRelation::SupersededBy => true,
                MemoryRelation::Supersedes => false,
                MemoryRelation::SameError | MemoryRelation::SameFile => {
                    related.memory.created_at > created_at
                }
            };
            let row = rows[usize::from(is_later)];
            rows[usize::from(is_later)] += 1;
            Node {
                card: MemoryCard::new(&related.memory),
                relation: related.relation,
                x: if is_later { RIGHT } else { 0 },
                row,
            }
        };
        self.related.iter().map(place).collect()
    }
}

fn draw(card: &MemoryCard, x: usize, y: usize, relation: &str) -> Markup {
    html! {
        g data-kind=(card.kind_class()) {
            title { (relation) ": " (card.title) }
            rect.node x=(x) y=(y) width=(NODE_WIDTH) height=(NODE_HEIGHT) rx="6" {}
            rect.stripe x=(x) y=(y) width="4" height=(NODE_HEIGHT) rx="2" {}
            text.name x=(x + 12) y=(y + 15) { (single_line(&plain(&card.title), MAX_TITLE)) }
            text.about x=(x + 12) y=(y + 28) { (shown_handle(card.handle)) " · " (relation) }
        }
    }
}

/// Returns a title without backticks and invisible characters, which a drawing cannot mark.
fn plain(title: &str) -> String {
    let is_shown = |c: &char| *c != '`' && !c.is_control() && !backstory_text::is_invisible(*c);
    title.chars().filter(is_shown).collect()
}

const fn label(relation: MemoryRelation) -> &'static str {
    match relation {
        MemoryRelation::SupersededBy => "superseded by",
        MemoryRelation::Supersedes => "supersedes",
        MemoryRelation::SameError => "same error",
        MemoryRelation::SameFile => "same file",
    }
}

const fn class(relation: MemoryRelation) -> &'static str {
    match relation {
        MemoryRelation::SupersededBy | MemoryRelation::Supersedes => "supersedes",
        MemoryRelation::SameError => "error",
        MemoryRelation::SameFile => "file",
    }
}
