-- Benefit for users: before an agent repeats a command that failed here, it learns what worked instead; commands that the
-- user ruled out are recognized.

-- The last result of an invocation in a session. The key is a hash, see `command_keys`.
create table command_result (
    session_db_id integer not null references session (id) on delete cascade,
    key           integer not null,
    project_id    integer not null references project (id),
    turn_id       integer not null references turn (id) on delete cascade,
    at            integer not null,
    failed        text, -- the command; absent if it passed
    error         text,
    remedy        text, -- the command that worked instead
    primary key (session_db_id, key)
) strict, without rowid;
create index command_result_by_key on command_result (project_id, key, at);
create index command_result_by_turn on command_result (turn_id);

-- Commands that the user ruled out, in the user's own words.
create table command_rule (
    session_db_id integer not null references session (id) on delete cascade,
    key           integer not null,
    target        text    not null, -- a word that the command must contain; empty for none
    project_id    integer not null references project (id),
    turn_id       integer not null references turn (id) on delete cascade,
    at            integer not null,
    words         text    not null,
    primary key (session_db_id, key, target)
) strict, without rowid;
create index command_rule_by_key on command_rule (project_id, key, at);
create index command_rule_by_turn on command_rule (turn_id);

-- The hook before a command reads all pinned notes of a project.
create index note_pinned on note (project_id) where pinned = 1;
