-- Benefit for users: everything that a session said and did can be found, not a selection; a session has one hand-over;
-- memories keep their number when a turn is distilled again.

-- A contiguous piece of work inside a session.
create table episode (
    id            integer primary key autoincrement,
    session_db_id integer not null references session (id) on delete cascade,
    number        integer not null,
    request       text,
    title         text    not null,
    unique (session_db_id, number)
) strict;

-- More kinds of passages, and what each is about. Checks cannot be changed, so the table is made again.
drop trigger passage_forgets;
create table passage_next (
    id            integer primary key autoincrement,
    project_id    integer not null references project (id),
    session_db_id integer references session (id) on delete cascade,
    turn_id       integer references turn (id) on delete cascade,
    episode_id    integer references episode (id) on delete set null,
    item_key      text, -- identifies the item within its turn; absent for passages of earlier versions and of imports
    position      integer not null default 0, -- in the turn
    kind          text    not null,
    path          text,
    intent        text, -- the last sentence of agent prose before it
    text          text    not null,
    packed        blob, -- compressed text; `text` is empty then
    external_id   text,
    pinned        integer not null default 0,
    created_at    integer not null
) strict;
insert into passage_next (id, project_id, session_db_id, turn_id, kind, text, packed, external_id, pinned, created_at)
    select id, project_id, session_db_id, turn_id, kind, text, packed, external_id, pinned, created_at from passage;
-- Numbers of forgotten passages are not used again.
insert into sqlite_sequence (name, seq)
    select 'passage_next', seq from sqlite_sequence where name = 'passage'
        and not exists (select 1 from sqlite_sequence where name = 'passage_next');
update sqlite_sequence set seq = (select seq from sqlite_sequence where name = 'passage')
    where name = 'passage_next' and exists (select 1 from sqlite_sequence where name = 'passage');
drop table passage;
alter table passage_next rename to passage;
create index passage_by_project on passage (project_id, created_at);
create index passage_by_session on passage (session_db_id, created_at);
create index passage_by_turn on passage (turn_id, position);
create index passage_by_episode on passage (episode_id) where episode_id is not null;
create index passage_by_time on passage (created_at);
create trigger passage_forgets after delete on passage begin
    delete from document where kind = 'passage' and memory_id = old.id;
end;

-- The work log of a turn: compressed JSON, the only input of episodes, memories and hand-over.
alter table turn add column log blob;

alter table observation add column item_key text; -- stable within its session; absent for memories of models and imports
alter table observation add column episode_id integer references episode (id) on delete set null;
alter table observation add column rejected integer not null default 0; -- 1: tried, did not work
alter table observation add column error_signature text; -- the normalized error that it resolves
create unique index observation_by_key on observation (session_db_id, item_key) where item_key is not null;
create index observation_by_error on observation (project_id, error_signature) where error_signature is not null;

-- The state of the work at the end of a session, as JSON.
create table handover (
    session_db_id integer primary key references session (id) on delete cascade,
    body          text    not null,
    updated_at    integer not null
) strict;

-- Numbers of observations that distilling again replaced by another memory: what was once shown keeps resolving.
create table successor (
    old_id integer primary key,
    new_id integer not null references observation (id) on delete cascade
) strict;
create index successor_by_new on successor (new_id);

-- Compressed payload of an event; `payload` is empty then.
alter table event add column packed blob;
