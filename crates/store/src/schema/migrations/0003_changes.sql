-- What a user gains: whoever watches (the viewer, a script) hears of every change within a second, whichever process made
-- it, and misses none after a pause; lists by time are fast in a store of any size.
--
-- A change says what happened to what, never what it says: the memory itself is read when the change is told. Written by
-- the code beside the change, not by triggers: every hook that reads would have to parse them.

create table change (
    id        integer primary key autoincrement,
    name      text    not null,
    memory_id integer not null
) strict;

create index observation_by_time on observation (created_at);
create index summary_by_time on summary (created_at);
create index turn_by_time on turn (started_at);
