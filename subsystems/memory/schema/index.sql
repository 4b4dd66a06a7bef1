-- The index of words as files of the newest version have it, with all memories in it.
CREATE VIRTUAL TABLE word USING fts5 (
	name, aliases, content,
	content = '',
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);
INSERT INTO word (rowid, name, aliases, content)
SELECT num, name, coalesce((SELECT group_concat(value, char(10)) FROM json_each(iif(json_valid(aliases), aliases, '[]'))), ''), content FROM memory;
