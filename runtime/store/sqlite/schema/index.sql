-- The index of words as files of the newest version have it. What says that a message
-- is in it is taken back: the next search puts them in.
CREATE VIRTUAL TABLE word USING fts5 (
	user, tools, assistant, title, summary,
	content = '', contentless_delete = 1,
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
UPDATE conversation SET indexed = 0 WHERE indexed > 0;
