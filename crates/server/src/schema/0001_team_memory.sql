-- Identity. An account has devices; a device has a signing key and a token. Only hashes of tokens and codes are stored.
create table account (
    id bigint generated always as identity primary key,
    name text not null,
    is_admin boolean not null default false,
    removed_at timestamptz, -- set: every token of the account is refused
    created_at timestamptz not null default now()
);

create table device (
    id uuid primary key,
    account_id bigint not null references account on delete cascade,
    name text not null,
    public_key bytea not null check (octet_length(public_key) = 32),        -- Ed25519
    token_hash bytea not null unique check (octet_length(token_hash) = 32), -- SHA-256
    joined_with bytea not null, -- the hash of its invitation: a repeated join of the same device is the same join
    revoked_at timestamptz,
    created_at timestamptz not null default now()
);
create index device_by_account on device (account_id);

create table team (
    id bigint generated always as identity primary key,
    name text not null unique,
    owner_id bigint unique references account on delete cascade, -- set: the encrypted spaces of one person
    created_at timestamptz not null default now()
);

create table membership (
    team_id bigint not null references team on delete cascade,
    account_id bigint not null references account on delete cascade,
    role text not null check (role in ('reader', 'writer', 'maintainer')),
    removed_at timestamptz, -- set: a former member, whose clients are told to delete their copies
    primary key (team_id, account_id)
);
create index membership_by_account on membership (account_id);

-- One-time codes: to join a team as a new account, or to add a device to an account.
create table invitation (
    code_hash bytea primary key check (octet_length(code_hash) = 32),
    team_id bigint references team on delete cascade,
    role text check (role in ('reader', 'writer', 'maintainer')),
    account_id bigint references account on delete cascade,
    is_admin boolean not null default false,
    remaining_uses integer not null default 1,
    expires_at timestamptz not null,
    check ((team_id is null) = (role is null)),
    check ((team_id is null) <> (account_id is null))
);

-- A space. Writers allocate sequence numbers while they hold this row's lock, so that sequence order is commit order.
create table project (
    id integer generated always as identity primary key,
    team_id bigint not null references team on delete cascade,
    key text not null,
    name text not null,
    is_encrypted boolean not null default false,
    key_id text, -- of an encrypted space: tells keys apart without revealing them
    sharing_policy text not null default 'review' check (sharing_policy in ('off', 'manual', 'review', 'auto')),
    epoch uuid not null default gen_random_uuid(), -- replaced after a restore
    head_seq bigint not null default 0,            -- the last sequence number allocated
    compacted_seq bigint not null default 0,       -- tombstones up to here are dropped: older cursors have expired
    record_count bigint not null default 0,        -- live records
    created_at timestamptz not null default now(),
    unique (team_id, key)
);
create table project_alias (
    team_id bigint not null references team on delete cascade,
    key text not null,
    project_id integer not null references project on delete cascade,
    primary key (team_id, key)
);

-- One row per memory in its current state: edits and deletions leave no history. Partitions keep small what has to be
-- rewritten when something is erased. Every key starts with project_id, so that the table can be distributed by it.
create table memory (
    project_id integer not null,
    id uuid not null,
    seq bigint not null,
    version integer not null,
    author_id bigint not null,
    device_id uuid not null,
    kind smallint not null,    -- 0 tombstone, 1 note, 2 observation, 3 summary
    created_at timestamptz,    -- as its author says; null in tombstones and encrypted spaces
    changed_at timestamptz not null default now(),
    body bytea,                -- the signed bytes, deflated
    signature bytea,           -- Ed25519
    search_terms tsvector,     -- this and sign_bits: null in tombstones and encrypted spaces
    sign_bits bit(256),
    deletion_reason smallint,  -- 1 unshared, 2 forgotten by its author, 3 by a maintainer, 4 its author left
    primary key (project_id, id),
    check ((kind = 0) = (body is null)),
    check ((kind = 0) = (deletion_reason is not null)),
    check (octet_length(body) <= 65536)
) partition by hash (project_id);

do $$ begin for i in 0..63 loop
    execute format('create table memory_%s partition of memory for values with (modulus 64, remainder %s)
        with (autovacuum_vacuum_scale_factor = 0.02)', i, i);
    -- Bodies are deflated already.
    execute format('alter table memory_%s alter column body set storage external', i);
end loop; end $$;

-- ANALYZE would copy samples of these columns into pg_statistic, where nothing erases them. This includes the partitions.
alter table memory alter column body set statistics 0, alter column signature set statistics 0,
    alter column search_terms set statistics 0, alter column sign_bits set statistics 0;

create unique index memory_by_seq on memory (project_id, seq);
-- Covers the semantic search: an index-only scan of 37 bytes per memory.
create index memory_by_sign_bits on memory (project_id) include (seq, sign_bits) where sign_bits is not null;
create extension if not exists btree_gin;
create index memory_by_terms on memory using gin (project_id, search_terms) with (fastupdate = off)
    where search_terms is not null;
create index memory_by_author on memory (author_id) where kind <> 0;
create index memory_by_tombstone on memory (changed_at) where kind = 0;

-- One person's view of a memory; verdict: 1 helpful, -1 wrong or harmful. Its seq comes from project.head_seq.
create table feedback (
    project_id integer not null,
    memory_id uuid not null,
    account_id bigint not null references account on delete cascade,
    seq bigint not null,
    is_pinned boolean not null default false,
    verdict smallint not null default 0 check (verdict between -1 and 1),
    superseded_by uuid,
    primary key (project_id, memory_id, account_id)
);
create unique index feedback_by_seq on feedback (project_id, seq);

-- Partitions that hold bytes of deleted records until they are rewritten.
create table purge_queue (
    partition_name text primary key,
    queued_at timestamptz not null default now(),
    row_count bigint not null default 1
);

-- Who did what, with ids and without content. Kept for a year.
create table audit_log (
    id bigint generated always as identity primary key,
    occurred_at timestamptz not null default now(),
    account_id bigint,  -- null: an operator at the command line
    device_id uuid,
    project_id integer,
    action text not null,
    subject text
);
create index audit_log_by_project on audit_log (project_id, id);
create index audit_log_by_time on audit_log (occurred_at);
