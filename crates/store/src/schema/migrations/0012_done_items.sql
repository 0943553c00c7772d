-- User-visible effect: open work can be ticked off, and stays so when a session is distilled again.

-- The key is a hash of the words of the item, see `done_items`. The text itself is that of the hand-over alone, so that
-- forgetting a session leaves no word of it here.
create table done_item (
    project_id integer not null references project (id) on delete cascade,
    key        integer not null,
    at         integer not null,
    primary key (project_id, key)
) strict, without rowid;
