-- The index forgets at once: no word of a memory that is gone stays in it. A table that
-- deletes by rowid alone keeps the words until it merges, so rows are taken out by what
-- they were put in with.
DROP TABLE word;
CREATE VIRTUAL TABLE word USING fts5 (
	name, aliases, content,
	content = '',
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);
INSERT INTO word (rowid, name, aliases, content)
SELECT num, name, coalesce((SELECT group_concat(value, char(10)) FROM json_each(aliases)), ''), content FROM memory;
