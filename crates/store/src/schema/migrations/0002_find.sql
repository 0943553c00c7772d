-- What a user gains: memories are found by the parts of identifiers, by words in Chinese, Japanese and Korean, and by
-- meaning; verbatim evidence takes half the room; memories can be pinned and corrected; lines of another store are taken
-- over once.
--
-- The number of a document says which project it belongs to (the project's number is its upper part, 0 is "everywhere"),
-- so that searching one project reads one range of the word index and of the vectors.

drop trigger document_forgets;
drop table document;
drop table vector;
drop table words;

create table document (
    id         integer primary key,
    kind       text    not null check (kind in ('observation', 'summary', 'prompt', 'note', 'passage')),
    memory_id  integer not null,
    session_db_id integer,
    created_at integer not null,
    embedded   integer not null default 0, -- 1: its vector is in the table or in the file beside the database
    unique (kind, memory_id)
) strict;
create index document_to_embed on document (kind, id) where embedded = 0;
-- How many documents a project has, and the last number that was given to one. A number is never used twice: a vector
-- that is left over must not come to stand for another memory.
create table document_count (
    project_id integer primary key,
    documents  integer not null,
    last       integer not null
) strict;

-- Vectors on their way into the file.
create table vector (
    document_id integer primary key references document (id) on delete cascade,
    scale       real not null,
    bytes       blob not null
) strict;

create virtual table words using fts5 (
    title, subtitle, facts, narrative, files,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

create trigger document_forgets after delete on document begin
    delete from words where rowid = old.id;
    update document_count set documents = documents - 1 where project_id = old.id >> 40;
end;

-- Which lines of other tools were taken over, by a hash of what they say.
create table imported_line (
    hash     integer primary key,
    kind     text    not null,
    memory_id integer not null
) strict;

alter table passage add column packed blob; -- compressed text; `text` is empty then
alter table note add column author text not null default 'person' check (author in ('person', 'agent', 'import'));
alter table note add column updated_at integer;
alter table observation add column edited_at integer; -- a person corrected it: distilling again leaves it alone
alter table summary add column pinned integer not null default 0;
alter table summary add column edited_at integer;
alter table turn add column pinned integer not null default 0;
alter table turn add column external_id text;
alter table passage add column pinned integer not null default 0;
alter table observation_file add column size integer; -- of the file when it was hashed
create index passage_by_time on passage (created_at);

-- A later turn that says the same again: one memory, seen once more.
create table sighting (
    observation_id integer not null references observation (id) on delete cascade,
    turn_id        integer not null references turn (id) on delete cascade,
    at             integer not null,
    primary key (observation_id, turn_id)
) strict, without rowid;
create index sighting_by_turn on sighting (turn_id);

create index observation_pinned on observation (project_id) where pinned = 1;
