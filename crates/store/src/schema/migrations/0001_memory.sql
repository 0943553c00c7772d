-- What a user gains: every session is kept, with its turns, its events on their way to being distilled, and the
-- memories made of them.
--
-- Times are milliseconds since 1970, UTC. Lists are JSON arrays. `autoincrement` where a number is shown to people:
-- a handle that was forgotten never comes to mean something else.

create table project (
    id         integer primary key,
    key        text    not null unique,
    name       text    not null,
    root       text    not null,
    created_at integer not null
) strict;
create index project_by_name on project (name);
create index project_by_root on project (root);

create table session (
    id                integer primary key,
    session_id        text    not null unique,
    host              text    not null,
    project_id        integer not null references project (id),
    cwd               text,
    branch            text,
    worktree          text,
    model             text,
    transcript_path   text,
    transcript_read   text, -- how far, in the reader's own terms
    status            text    not null default 'active'
                              check (status in ('active', 'summarizing', 'completed', 'interrupted', 'failed')),
    end_reason        text,
    title             text,
    subtitle          text,
    started_at        integer not null,
    last_event_at     integer not null,
    ended_at          integer
) strict;
create index session_by_project on session (project_id, last_event_at);
create index session_by_time on session (last_event_at);

create table turn (
    id           integer primary key autoincrement,
    session_db_id integer not null references session (id) on delete cascade,
    number       integer not null,
    prompt       text, -- absent when the turn was under way before anyone listened
    prompt_id    text,
    machine_made integer not null default 0,
    branch       text,
    started_at   integer not null,
    ended_at     integer,
    distilled    integer not null default 0, -- how many events it had when it was last distilled
    transcript_from text, -- where its part of the transcript begins, in the reader's own terms; set when first distilled
    unique (session_db_id, number)
) strict;

create table event (
    id          integer primary key,
    key         text    not null unique,
    session_db_id integer not null references session (id) on delete cascade,
    turn_id     integer references turn (id) on delete cascade,
    kind        text    not null,
    agent_id    text,
    tool_name   text,
    tool_use_id text,
    at          integer not null,
    payload     text    not null,
    read_hash   integer, -- of what a file showed when it was read, to keep it once
    state       text    not null default 'pending' check (state in ('pending', 'processing', 'failed', 'done')),
    tries       integer not null default 0,
    not_before  integer not null default 0,
    lease_until integer,
    error       text
) strict;
create index event_by_session on event (session_db_id, key);
create index event_by_turn on event (turn_id, key);
create index event_by_read on event (session_db_id, read_hash) where read_hash is not null;
-- The queue stays small however large the table grows.
create index event_waiting on event (state, session_db_id, key) where state <> 'done';

-- Which of an agent's own records were taken over, and in which state they were then.
create table import (
    path       text primary key,
    stamp      text not null,
    session_id text not null
) strict, without rowid;

create table observation (
    id             integer primary key autoincrement,
    project_id     integer not null references project (id),
    session_db_id  integer references session (id) on delete cascade,
    turn_id        integer references turn (id) on delete cascade,
    type           text    not null,
    title          text    not null,
    subtitle       text,
    narrative      text,
    facts          text    not null default '[]',
    concepts       text    not null default '[]',
    files_read     text    not null default '[]',
    files_modified text    not null default '[]',
    evidence       text    not null default '[]', -- the agent's ids of the tool uses it rests on
    distiller      text,
    pinned         integer not null default 0,
    seen           integer not null default 1,
    superseded_by  integer references observation (id) on delete set null,
    external_id    text,
    created_at     integer not null,
    last_seen_at   integer not null
) strict;
create index observation_by_project on observation (project_id, created_at);
create index observation_by_session on observation (session_db_id, created_at);
create index observation_by_turn on observation (turn_id);
create index observation_superseding on observation (superseded_by) where superseded_by is not null;

create table summary (
    id           integer primary key autoincrement,
    project_id   integer not null references project (id),
    session_db_id integer references session (id) on delete cascade,
    turn_id      integer references turn (id) on delete cascade,
    request      text,
    investigated text,
    learned      text,
    completed    text,
    next_steps   text,
    files_read   text    not null default '[]',
    files_edited text    not null default '[]',
    notes        text,
    distiller    text,
    external_id  text,
    created_at   integer not null
) strict;
create index summary_by_project on summary (project_id, created_at);
create index summary_by_session on summary (session_db_id, created_at);
create index summary_by_turn on summary (turn_id);

create table note (
    id          integer primary key autoincrement,
    project_id  integer references project (id), -- absent: it holds everywhere
    session_db_id integer references session (id) on delete set null,
    type        text,
    text        text    not null,
    files       text    not null default '[]',
    pinned      integer not null default 0,
    external_id text,
    created_at  integer not null
) strict;
create index note_by_project on note (project_id, created_at);
create index note_by_session on note (session_db_id);

create table passage (
    id          integer primary key autoincrement,
    project_id  integer not null references project (id),
    session_db_id integer references session (id) on delete cascade,
    turn_id     integer references turn (id) on delete cascade,
    kind        text    not null check (kind in ('prompt', 'prose', 'edit', 'command', 'error')),
    text        text    not null,
    external_id text,
    created_at  integer not null
) strict;
create index passage_by_project on passage (project_id, created_at);
create index passage_by_session on passage (session_db_id, created_at);
create index passage_by_turn on passage (turn_id);

-- Which files a memory speaks of, to find memories by file and to tell later whether the file changed.
create table observation_file (
    observation_id integer not null references observation (id) on delete cascade,
    path           text    not null,
    modified       integer not null,
    content_hash   blob,
    primary key (observation_id, path)
) strict, without rowid;
create index observation_file_by_path on observation_file (path);

-- One row for everything that can be found by words or by meaning. Its number is the row number in the word index.
create table document (
    id         integer primary key,
    kind       text    not null check (kind in ('observation', 'summary', 'prompt', 'note', 'passage')),
    memory_id  integer not null,
    project_id integer references project (id),
    created_at integer not null,
    unique (kind, memory_id)
) strict;
create index document_by_project on document (project_id, created_at);

create table vector (
    document_id integer primary key references document (id) on delete cascade,
    scale       real not null,
    bytes       blob not null
) strict;

create virtual table words using fts5 (
    title, subtitle, facts, narrative, files,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

-- Whoever removes a memory, whatever goes with it is gone from search in the same transaction.
create trigger document_forgets after delete on document begin
    delete from words where rowid = old.id;
end;
create trigger observation_forgets after delete on observation begin
    delete from document where kind = 'observation' and memory_id = old.id;
end;
create trigger summary_forgets after delete on summary begin
    delete from document where kind = 'summary' and memory_id = old.id;
end;
create trigger turn_forgets after delete on turn begin
    delete from document where kind = 'prompt' and memory_id = old.id;
end;
create trigger note_forgets after delete on note begin
    delete from document where kind = 'note' and memory_id = old.id;
end;
create trigger passage_forgets after delete on passage begin
    delete from document where kind = 'passage' and memory_id = old.id;
end;
