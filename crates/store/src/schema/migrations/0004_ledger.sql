-- What a user gains: every call to a model is on record with its tokens, its cost and its outcome; spending keeps to a budget;
-- a provider that is in trouble is left alone for a while, also after a restart; no turn that waits for a model is lost.

create table model_call (
    id            integer primary key,
    at            integer not null,
    provider      text    not null,
    model         text    not null,
    session_db_id integer references session (id) on delete set null,
    turn_id       integer references turn (id) on delete set null,
    estimated_in  integer not null, -- tokens, set aside before the call
    estimated_out integer not null,
    tokens_in     integer, -- as the provider counts them; absent while the call runs, and where nobody counts
    tokens_out    integer,
    cost          integer, -- in millionths of a dollar, where the price is known
    duration_ms   integer,
    outcome       text     -- absent while the call runs
) strict;
create index model_call_by_time on model_call (at);
create index model_call_by_session on model_call (session_db_id) where session_db_id is not null;
create index model_call_by_turn on model_call (turn_id) where turn_id is not null;
create index model_call_running on model_call (id) where outcome is null;

-- Who is left alone, why and until when. Past that time one call is let through to see whether all is well again.
create table provider_pause (
    provider    text    primary key,
    reason      text    not null,
    said        text    not null,
    since       integer not null,
    until       integer not null,
    failures    integer not null,
    probe_until integer -- somebody is looking; should he die, another may look from then on
) strict, without rowid;

-- Turns that the rules have distilled and a model is to distil better.
create table turn_for_model (
    turn_id     integer primary key references turn (id) on delete cascade,
    revision    integer not null default 1, -- counts how often it was asked for
    not_before  integer not null default 0,
    lease_until integer
) strict;

alter table turn add column modelled integer; -- how many events it had when a model distilled it
