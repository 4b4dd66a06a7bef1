-- The rows of a file that version 4 has written. The index has the words of messages 0 to 3 of the first conversation.
INSERT INTO conversation (num, id, agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until, noted, entries, events, first, archived, branches, indexed) VALUES (1, '01K00000000000000000000001', 'coder', 'me', 6, 2, 5, 1778051290000000000, 1778051298000000000, '', 'grapnel-x', 1, 1778051358000000000, 2, 1, 3, 1, 2, 1, 4);
INSERT INTO conversation (num, id, agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until, noted, entries, events, first, archived, branches, indexed) VALUES (2, '01K00000000000000000000002', 'helper', 't/call/0', 0, 0, 0, 1778051299000000000, 1778051299000000000, '01K00000000000000000000001', '', 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO conversation (num, id, agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until, noted, entries, events, first, archived, branches, indexed) VALUES (3, '01K00000000000000000000003', 'coder', 'fork', 1, 2, 4, 1778051300000000000, 1778051301000000000, '', '', 0, 0, 0, 0, 0, 1, 2, 0, 0);
INSERT INTO message (num, turn, body) VALUES (4294967297, 1, '{"role":"user","content":[{"kind":"text","text":"sum"}],"label":"summary"}');
INSERT INTO message (num, turn, body) VALUES (4294967298, 2, '{"role":"user","content":[{"kind":"text","text":"anchor two"}]}');
INSERT INTO message (num, turn, body) VALUES (4294967299, 2, '{"role":"user","content":[{"kind":"text","text":"answer two"}]}');
INSERT INTO message (num, turn, body) VALUES (4294967300, 3, '{"role":"user","content":[{"kind":"text","text":"anchor open"}]}');
INSERT INTO message (num, turn, body) VALUES (12884901889, 1, '{"role":"user","content":[{"kind":"text","text":"sum"}],"label":"summary"}');
INSERT INTO message (num, turn, body) VALUES (12884901890, 2, '{"role":"user","content":[{"kind":"text","text":"anchor two"}]}');
INSERT INTO message (num, turn, body) VALUES (12884901891, 2, '{"role":"user","content":[{"kind":"text","text":"answer two"}]}');
INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (1, 0, 0, 0, 1, 0, '{"role":"user","content":[{"kind":"text","text":"anchor one"}]}');
INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (1, 0, 1, 1, 1, 0, '{"role":"user","content":[{"kind":"text","text":"answer one"}]}');
INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (1, 1, 0, 4, 3, 0, '{"role":"user","content":[{"kind":"text","text":"anchor three"}]}');
INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (3, 0, 0, 0, 1, 0, '{"role":"user","content":[{"kind":"text","text":"anchor one"}]}');
INSERT INTO archive (conversation, branch, pos, seq, turn, summary, body) VALUES (3, 0, 1, 1, 1, 0, '{"role":"user","content":[{"kind":"text","text":"answer one"}]}');
INSERT INTO entry (num, kind, call_id, message, data) VALUES (4294967298, 'turn', '', NULL, '{"id":"t","number":3,"from":3,"started":"2026-05-06T07:08:09Z"}');
INSERT INTO archived_entry (conversation, branch, seq, kind, call_id, message, data) VALUES (1, 1, 1, 'turn', '', NULL, '{"id":"old"}');
INSERT INTO event (num, body) VALUES (4294967297, '1 {"kind":"turn_end"}
');
INSERT INTO event (num, body) VALUES (4294967298, '2 {"kind":"turn_end"}
');
INSERT INTO event (num, body) VALUES (4294967299, '3 {"kind":"turn_end"}
');
INSERT INTO state (conversation, name, data) VALUES (1, 'Approval.conversations', '{"k":{"answer":"approve"}}');
INSERT INTO state (conversation, name, data) VALUES (3, 'Approval.conversations', '{"k":{"answer":"approve"}}');
INSERT INTO job (num, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated) VALUES (1, 'k', '1', '{"n":1}', '01K00000000000000000000001', 't', 'running', 1, 1778051365000000000, 'grapnel-x', 1, '', 1778051302000000000, 1778051305000000000);
INSERT INTO job (num, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated) VALUES (2, 'k', '2', '', '', '', 'queued', 0, 1778051303000000000, '', 0, '', 1778051303000000000, 1778051303000000000);
INSERT INTO word (rowid, user, tools, assistant) SELECT (conversation << 32) | seq, json_extract(body, '$.content[0].text'), '', '' FROM archive WHERE branch = 0 AND summary = 0 AND conversation = 1;
INSERT INTO word (rowid, user, tools, assistant) SELECT num, json_extract(body, '$.content[0].text'), '', '' FROM message WHERE num BETWEEN (1 << 32) + 2 AND (1 << 32) + (SELECT indexed - 1 FROM conversation WHERE num = 1);
