-- The words of a message have one more, which its project has: by it a search within a project reads nothing of
-- the others. No text has it. Programs that do not write it would leave messages that such a search does not find.
UPDATE word w SET tsv = w.tsv || array_to_tsvector(ARRAY['/' || left(encode(sha256(c.project), 'hex'), 16)])
	FROM conversation c WHERE c.num = w.conversation;
ALTER TABLE grapnel_schema ALTER needs SET DEFAULT 4;
