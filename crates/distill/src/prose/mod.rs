//! Reads agent prose and reports: markdown into sections, sections into topics of statements.
//!
//! Knows nothing about tools or sessions. A topic holds only what was written under one heading, so that two subjects
//! of a report never end up in one memory.

mod choice;
mod document;
mod inline;
mod topics;

pub(crate) use choice::offered;
pub(crate) use document::{Section, SectionRole, announces_open_work};
pub(crate) use inline::plain;
pub(crate) use topics::{Point, Topic};

/// A message in markdown, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// All sections.
    pub(crate) sections: Vec<Section>,
    /// The statements, grouped by subject.
    pub(crate) topics: Vec<Topic>,
}

impl Message {
    /// Reads a message.
    pub(crate) fn read(text: &str) -> Self {
        let sections = document::parse(text);
        let topics = topics::topics(&sections);
        Self { sections, topics }
    }

    /// Returns the statements of all topics, in order.
    pub(crate) fn points(&self) -> impl DoubleEndedIterator<Item = &Point> {
        self.topics.iter().flat_map(|topic| &topic.points)
    }
}
