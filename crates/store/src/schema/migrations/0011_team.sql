-- User-visible effect: memories can be shared with a team and received from it.

-- `document.kind` gains `team`. A check cannot be changed, so the table is made again; the triggers that name it are dropped
-- first, because renaming a table parses all of them.
drop trigger document_forgets;
drop trigger observation_forgets;
drop trigger summary_forgets;
drop trigger turn_forgets;
drop trigger note_forgets;
drop trigger passage_forgets;
create table document_next (
    id            integer primary key,
    kind          text    not null check (kind in ('observation', 'summary', 'prompt', 'note', 'passage', 'team')),
    memory_id     integer not null,
    session_db_id integer,
    created_at    integer not null,
    embedded      integer not null default 0, -- 1: its vector is in the table or in the file beside the database
    unique (kind, memory_id)
) strict;
insert into document_next (id, kind, memory_id, session_db_id, created_at, embedded)
    select id, kind, memory_id, session_db_id, created_at, embedded from document;
create table vector_next (
    document_id integer primary key references document_next (id) on delete cascade,
    scale       real not null,
    bytes       blob not null
) strict;
insert into vector_next (document_id, scale, bytes) select document_id, scale, bytes from vector;
drop table vector;
drop table document;
alter table document_next rename to document;
alter table vector_next rename to vector;
create index document_to_embed on document (kind, id) where embedded = 0;
create trigger document_forgets after delete on document begin
    delete from words where rowid = old.id;
    update document_count set documents = documents - 1 where project_id = old.id >> 40;
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

-- A project whose memories are shared. Kept by key: a forgotten project still has deletions to send.
create table team_project (
    project_key text    primary key,
    shared_key  text    not null, -- the key that signatures cover
    share_mode  text    not null check (share_mode in ('off', 'manual', 'review', 'auto')),
    enrolled_at integer not null, -- only later memories are proposed
    remote_id   integer, -- the project's number on the server; absent without one
    epoch       text,
    cursor      integer not null default 0,
    policy      text,
    role        text,
    synced_at   integer,
    last_error  text
) strict, without rowid;

-- Own memories that are, were or may be shared, by record. The newest state wins: there is no history.
create table team_share (
    record_id     blob    primary key,
    kind          text    not null,
    memory_id     integer not null,
    project_key   text    not null,
    state         text    not null check (state in ('pending', 'approved', 'kept', 'blocked', 'withdrawn')),
    version       integer not null,
    acked_version integer not null default 0, -- the last version that the server has stored or refused
    body          text, -- the signed text; absent once it is withdrawn
    signature     blob,
    title         text, -- for lists; absent once it is withdrawn
    reason        text, -- why it was blocked, refused or withdrawn
    changed_at    integer not null,
    unique (kind, memory_id)
) strict, without rowid;

-- Devices of other people and the keys that verify their records. A key is trusted on first use.
create table team_device (
    device_id  blob    primary key,
    account_id integer, -- absent for devices that are known from packs
    name       text    not null,
    public_key blob    not null,
    is_trusted integer not null,
    pinned_at  integer not null
) strict, without rowid;

-- Memories of others. `quarantine` is set: people see it, agents do not, and it is in no index.
create table team_memory (
    id             integer primary key autoincrement,
    record_id      blob    not null unique,
    project_id     integer not null references project (id) on delete cascade,
    device_id      blob    not null,
    account_id     integer,
    author         text    not null,
    version        integer not null,
    kind           text    not null,
    type           text,
    title          text    not null,
    subtitle       text,
    narrative      text,
    facts          text    not null default '[]',
    concepts       text    not null default '[]',
    files_read     text    not null default '[]',
    files_modified text    not null default '[]',
    branch         text,
    pinned         integer not null default 0,
    quarantine     text,
    pack           text, -- the pack file that it came from; absent if it came from the server
    created_at     integer not null,
    received_at    integer not null
) strict;
create index team_memory_by_project on team_memory (project_id, created_at);
create index team_memory_by_time on team_memory (created_at);
create index team_memory_by_device on team_memory (device_id, received_at);

create table team_memory_file (
    team_memory_id integer not null references team_memory (id) on delete cascade,
    path           text    not null,
    modified       integer not null,
    content_hash   blob,
    size           integer,
    primary key (team_memory_id, path)
) strict, without rowid;
create index team_memory_file_by_path on team_memory_file (path);

-- Records that were forgotten here: they do not come back with the next pull.
create table team_forgotten (
    record_id blob primary key
) strict, without rowid;
