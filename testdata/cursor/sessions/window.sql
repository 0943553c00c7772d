create table ItemTable (key text unique on conflict replace, value blob);
insert into ItemTable values ('composer.composerData', '{"allComposers": [{"composerId": "5b0c1d2e-0000-4000-8000-00000000c0de", "lastUpdatedAt": 1794864900000}]}');
