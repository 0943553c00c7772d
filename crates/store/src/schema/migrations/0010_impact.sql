-- Benefit for users: `backstory stats --impact` shows whether memories help on their own work, and memories that help rank higher.

-- What became of a memory that was injected into a session.
create table recall_outcome (
    session_db_id integer not null references session (id) on delete cascade,
    handle        text    not null,
    moment        text    not null,
    at            integer not null,
    outcome       text    not null, -- used, ignored or contradicted
    evidence      text,
    primary key (session_db_id, handle, at)
) strict, without rowid;
create index recall_outcome_by_handle on recall_outcome (handle, at);

-- Numbers of a session, for the comparison of sessions with and without recall.
create table session_impact (
    session_db_id integer primary key references session (id) on delete cascade,
    judged_to     integer not null, -- the last event that was taken into account
    tool_calls    integer not null,
    tokens        integer not null,
    reads         integer not null,
    known_reads   integer not null,
    avoided       integer not null,
    repeated      integer not null,
    failures      text    not null, -- JSON array of [time, hash of the error]
    eligible_at   integer, -- the first moment of an experiment at which there was something to recall
    withheld      integer  -- 1: nothing was injected then
) strict;

-- Experiments, and the moment from which outcomes count for the ranking.
create table experiment (
    id         integer primary key,
    started_at integer not null,
    stopped_at integer,
    share      real    not null
) strict;
create table feedback_start (
    handle text primary key, -- empty: of all memories
    at     integer not null
) strict, without rowid;

-- The factor by which outcomes change the rank of a memory, in thousandths; absent for 1.
create table memory_weight (
    observation_id integer primary key references observation (id) on delete cascade,
    weight         integer not null
) strict;
