//! English grammar, as far as the built-in rules need it: sentences, names of code, phrase tables, titles.
//!
//! Nothing here knows about sessions, tools or markdown. Rules about wording are data (tables of lower-case phrases);
//! code only matches them at word boundaries.

mod names;
mod orders;
mod phrases;
mod request;
mod sentences;
mod speech;
mod title;
mod verbs;
mod words;

pub(crate) use names::{code, count_names, is_name, is_outside_code, outside_code};
pub(crate) use orders::gives_orders;
pub(crate) use phrases::{Phrases, lower_head};
pub(crate) use request::{Intent, condense, cut_at_word, intent, is_output, without_client_markup};
pub(crate) use sentences::sentences;
pub(crate) use speech::{
    Deferral, announces_work, deferral, has_cause, has_contrast, imperative, is_directive, is_guess,
    is_instruction, is_narration, is_question, is_verdict, is_weighing, names_subject, opens_with_pronoun,
    strip_openers,
};
pub(crate) use title::{MAX_TITLE, fit_title, sentence_case};
pub(crate) use verbs::{Form, is_change_verb, is_statement, opens_with_change, verb};
pub(crate) use words::Words;
