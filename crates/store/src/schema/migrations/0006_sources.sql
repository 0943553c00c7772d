-- User-visible effect: a session that an import and a hook both report is told apart whatever its id is, and an offer or a
-- question to the user never counts as open work.
--
-- The source of an event and the open steps of a summary were read out of texts ("-import-" in the key, "Offered: " in
-- `next_steps`). They are columns now; `open_steps` of older rows is filled in by code.

alter table event add column source text not null default 'hook' check (source in ('hook', 'import'));
update event set source = 'import' where key like '%-import-%';

-- JSON array: the entries of next_steps that are work to do. Null: every entry is.
alter table summary add column open_steps text;
