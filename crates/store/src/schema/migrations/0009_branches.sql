-- Benefit for users: a memory says on which branch and commit it was made and whether that work was merged, so that work that
-- was never merged does not mislead; a memory is out of date only if the lines that it cites changed.

-- Git state at the end of a turn. A table of its own: every session start reads it, and rows of `turn` are large.
create table turn_git (
    turn_id     integer primary key references turn (id) on delete cascade,
    branch      text not null,
    head        text, -- the commit that was checked out at the end of the turn
    work        text, -- the commit with the work of the turn; absent until there is one
    state       text, -- working, merged or abandoned; absent if unknown
    reverted_by text  -- the commit that reverts the work
) strict;
insert into turn_git (turn_id, branch)
    select turn.id, coalesce(turn.branch, session.branch) from turn join session on session.id = turn.session_db_id
    where coalesce(turn.branch, session.branch) is not null;
create index turn_git_by_work on turn_git (work) where work is not null;

-- Unmerged commits with memories that a branch contains, for branches on top of other branches.
create table branch_commit (
    project_id integer not null references project (id) on delete cascade,
    branch     text    not null,
    commit_id  text    not null,
    primary key (project_id, branch, commit_id)
) strict, without rowid;

-- Renames that git recorded.
create table renamed_file (
    project_id integer not null references project (id) on delete cascade,
    old_path   text    not null,
    new_path   text    not null,
    at         integer not null,
    primary key (project_id, old_path, new_path)
) strict, without rowid;

-- The refs of a repository when its branches were last checked.
create table repository_check (
    project_id  integer not null references project (id) on delete cascade,
    root        text    not null,
    fingerprint integer not null,
    checked_at  integer not null,
    primary key (project_id, root)
) strict, without rowid;

-- Ids of patches, by commit or range. A cache: a commit never changes.
create table patch_id (
    key   blob primary key,
    patch blob not null
) strict, without rowid;

alter table observation_file add column lines blob; -- hashes of the lines that the memory is about
