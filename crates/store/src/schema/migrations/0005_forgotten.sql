-- What a user gains: what was forgotten of a turn does not come back when the turn goes on; a worker that starts does not read
-- through everything that was ever recorded.

alter table turn add column forgotten integer not null default 0; -- something of it was: nothing more is made of it

-- What hooks reported and nobody needs any more is found by its age.
create index event_kept on event (at) where state = 'done' and payload <> '{}';
