-- User-visible effect: people say what they think of memories of others, and memories replace those of other people.

-- What a person thinks of a record. Account 0 is the user of this store. Kept by record: an opinion may arrive before its record.
create table team_opinion (
    record_id     blob    not null,
    account_id    integer not null,
    pinned        integer not null default 0,
    verdict       integer not null default 0 check (verdict between -1 and 1), -- 1 is useful, -1 is wrong
    superseded_by blob, -- the record that replaces it, in the person's view
    unsent        integer not null default 0, -- of the user: the server does not have it yet
    primary key (record_id, account_id)
) strict, without rowid;

-- Records that a memory of another person replaces, as its author says.
create table team_replaced (
    record_id blob    not null,
    by_id     integer not null references team_memory (id) on delete cascade,
    primary key (record_id, by_id)
) strict, without rowid;
create index team_replaced_by on team_replaced (by_id);

-- The commit that a memory of another person was made on.
alter table team_memory add column commit_id text;
