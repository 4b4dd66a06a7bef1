-- A file of version 1, as that program wrote it: three turns of which one has
-- calls and one a skill, one turn without an answer, one that has not ended.
CREATE TABLE conversation (
	num      INTEGER PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,
	agent    TEXT    NOT NULL,
	sender   TEXT    NOT NULL,
	version  INTEGER NOT NULL DEFAULT 0,
	turns    INTEGER NOT NULL DEFAULT 0,
	messages INTEGER NOT NULL DEFAULT 0, -- how many, and so the seq of the next one
	created  INTEGER NOT NULL,           -- nanoseconds since 1970, as updated
	updated  INTEGER NOT NULL,
	UNIQUE (agent, sender)
) STRICT;
INSERT INTO "conversation" VALUES(1,'01K00000000000000000000001','coder','me',16,5,16,1778051290123456789,1778051309123456789);
INSERT INTO "conversation" VALUES(2,'01K00000000000000000000002','coder','é',2,1,2,1778051292123456789,1778051304123456789);
INSERT INTO "conversation" VALUES(3,'01K00000000000000000000003','none','',0,0,0,1778051310123456789,1778051310123456789);
INSERT INTO "conversation" VALUES(4,'01K00000000000000000000004','odd','x',1,1,6,1778051311123456789,1778051312123456789);
CREATE TABLE message (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,       -- from 0, without gaps
	body         TEXT    NOT NULL,       -- JSON
	PRIMARY KEY (conversation, seq)
) STRICT;
INSERT INTO "message" VALUES(1,0,'{"role":"user","content":[{"kind":"text","text":"1 question"}]}');
INSERT INTO "message" VALUES(2,0,'{"role":"user","content":[{"kind":"text","text":"hello"}]}');
INSERT INTO "message" VALUES(1,1,'{"role":"assistant","content":[{"kind":"text","text":"1 answer"}]}');
INSERT INTO "message" VALUES(1,2,'{"role":"user","content":[{"kind":"text","text":"2 question"}]}');
INSERT INTO "message" VALUES(1,3,'{"role":"assistant","content":[{"kind":"reasoning","text":"hm","meta":{"signature":"s"}},{"kind":"tool_call","json":{"command":"ls"},"call_id":"a","tool":"bash"}]}');
INSERT INTO "message" VALUES(1,4,'{"role":"tool","call_id":"a","tool":"bash","result":{"content":[{"kind":"text","text":"out\nput"}],"failure":"operation"}}');
INSERT INTO "message" VALUES(1,5,'{"role":"assistant","content":[{"kind":"reasoning","text":"hm","meta":{"signature":"s"}},{"kind":"tool_call","json":{"a":1,"a":2},"call_id":"b","tool":"bash"}]}');
INSERT INTO "message" VALUES(1,6,'{"role":"tool","call_id":"b","tool":"bash","result":{"content":[{"kind":"text","text":"out\nput"}],"failure":"operation"}}');
INSERT INTO "message" VALUES(1,7,'{"role":"user","content":[{"kind":"text","text":"2 feedback"}],"label":"feedback"}');
INSERT INTO "message" VALUES(1,8,'{"role":"assistant","content":[{"kind":"text","text":"2 answer"}]}');
INSERT INTO "message" VALUES(1,9,'{"role":"user","content":[{"kind":"text","text":"3 skill"}],"label":"skill"}');
INSERT INTO "message" VALUES(1,10,'{"role":"user","content":[{"kind":"text","text":"3 question"}]}');
INSERT INTO "message" VALUES(1,11,'{"role":"assistant","content":[{"kind":"text","text":"3 answer"}]}');
INSERT INTO "message" VALUES(2,1,'{"role":"assistant","content":[{"kind":"text","text":"hello yourself"}]}');
INSERT INTO "message" VALUES(1,12,'{"role":"user","content":[{"kind":"text","text":"4 question without an answer"}]}');
INSERT INTO "message" VALUES(1,13,'{"role":"user","content":[{"kind":"text","text":"5 question"}]}');
INSERT INTO "message" VALUES(1,14,'{"role":"assistant","content":[{"kind":"text","text":"5 answer"}]}');
INSERT INTO "message" VALUES(1,15,'{"role":"user","content":[{"kind":"text","text":"6 question"}]}');
INSERT INTO "message" VALUES(4,0,'{"role":"user","content":[{"kind":"text","text":"a"}]}');
INSERT INTO "message" VALUES(4,1,'{"role":"assistant","content":[{"kind":"text","text":"b"}]}');
INSERT INTO "message" VALUES(4,2,'{"role":"user","content":[{"kind":"text","text":"c"}]}');
INSERT INTO "message" VALUES(4,3,'{"role":"assistant","content":[{"kind":"text","text":"d"}]}');
INSERT INTO "message" VALUES(4,4,'{"role":"user","content":[{"kind":"text","text":"e"}]}');
INSERT INTO "message" VALUES(4,5,'{"role":"assistant","content":[{"kind":"text","text":"f"}]}');
