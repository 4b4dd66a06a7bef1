package storetest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func searchRules() []rule {
	return []rule{
		{"a search finds what people and models said, and the names of called tools", searchFinds},
		{"a search never returns an argument, a result, reasoning, metadata, media or what the framework said", secretsStay},
		{"a word of a person weighs more than the name of a tool, and that more than a word of a model", searchWeighs},
		{"a word of a summary weighs twice as much as one of a person, and one of a title is between them", searchTitles},
		{"a word in few messages weighs more than one in many", searchRare},
		{"a query is words and nothing else", searchSyntax},
		{"a search can be narrowed to an agent and a sender, can leave out a conversation, and is bounded", searchNarrows},
		{"a snippet is around the word, is short, and is cut between runes", searchSnippets},
		{"a match is shown with the messages around it", searchAround},
		{"what was said since the last search is found in the next", searchSince},
		{"compacted messages are found, with their present summary; earlier summaries, branches and children are not", searchPast},
		{"a fork is found beside what it was made from", searchForks},
	}
}

func find(t *testing.T, s store.Store, q store.Query) []store.Match {
	t.Helper()
	ms, err := s.(store.Searcher).Search(t.Context(), q)
	require.NoError(t, err)
	return ms
}

// places returns the places of matches: sender/position, or sender/~position in the
// archive, or sender/s0 for a summary.
func places(t *testing.T, s store.Store, text string) []string {
	t.Helper()
	out := []string{}
	for _, m := range find(t, s, store.Query{Text: text, Limit: 20}) {
		archived := ""
		if m.Archived {
			archived = "~"
		}
		if m.Summary {
			archived = "s"
		}
		out = append(out, fmt.Sprintf("%s/%s%d", m.Record.Key.Sender, archived, m.Message))
	}
	return out
}

func talk(t *testing.T, s store.Store, sender string, ms ...message.Message) store.Record {
	t.Helper()
	rec := create(t, s, "a", sender)
	_, err := s.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(ms...), TurnEnds: true})
	require.NoError(t, err)
	return look(t, s, rec)
}

// calling is a message that calls tools of these names.
func calling(text string, tools ...string) message.Message {
	blocks := []message.Block{message.TextBlock(text)}
	for i, tool := range tools {
		blocks = append(blocks, message.Block{Kind: message.BlockToolCall, CallID: fmt.Sprint(i), Tool: tool, JSON: `{}`})
	}
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

func searchFinds(t *testing.T, s *bench) {
	assert.Empty(t, find(t, s.Store, store.Query{Text: "boat"}))
	rec := talk(t, s, "x", message.UserText("Where is the Sailboat?"), assistant("In the harbour,\nsails FURLED. Größe 12."), calling("Looking.", "read_file", "grep"))
	for text, want := range map[string][]string{
		"sailboat": {"x/0"}, "SAILBOAT": {"x/0"}, "sail": {}, "sail*": {"x/0", "x/1"}, "furled": {"x/1"}, "größe": {"x/1"}, "12": {"x/1"},
		"grep": {"x/2"}, "file": {"x/2"}, "read_file": {"x/2"}, "nothing furled": {"x/1"}, "looking": {"x/2"}, "nothing": {}, "": {}, "?!": {}, "*": {},
	} {
		got := places(t, s.Store, text)
		assert.ElementsMatch(t, want, got, "%q", text)
	}
	m := find(t, s.Store, store.Query{Text: "furled"})[0]
	assert.Equal(t, store.Match{
		Record: rec, Message: 1, Role: message.RoleAssistant, Snippet: "In the harbour, sails FURLED. Größe 12.",
		Around: []store.Line{{Message: 1, Role: message.RoleAssistant, Text: "In the harbour, sails FURLED. Größe 12."}},
	}, m)
}

// Secret is a conversation with a secret in one place that a search must not find.
type Secret struct {
	Place    string
	Messages []message.Message
}

// Secrets returns all places, each with a secret of its own: one word of ASCII
// letters and digits, which begins with "canary".
func Secrets() []Secret {
	n := 0
	word := func() string { n++; return fmt.Sprintf("canary%03dx", n) }
	object := func() message.JSON { return message.JSON(`{"visible":"` + word() + `"}`) }
	call := func(change func(*message.Block)) []message.Message {
		b := message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "tool", JSON: `{}`}
		change(&b)
		return []message.Message{
			{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("visible"), b)},
			{Role: message.RoleTool, CallID: b.CallID, Tool: b.Tool, Result: message.TextResult("visible")},
		}
	}
	result := func(change func(*message.Message)) []message.Message {
		m := message.Message{Role: message.RoleTool, CallID: "1", Tool: "tool"}
		change(&m)
		return []message.Message{calling("visible", "tool"), m}
	}
	said := func(role message.Role, b message.Block) []message.Message {
		return []message.Message{{Role: role, Content: message.ListOf(message.TextBlock("visible"), b)}}
	}
	labelled := func(role message.Role) []message.Message {
		m := message.Message{Role: role, Label: "feedback", Content: message.ListOf(message.TextBlock("visible " + word()))}
		return []message.Message{assistant("visible"), m}
	}
	out := []Secret{
		{"arguments of a call", call(func(b *message.Block) { b.JSON = object() })},
		{"a name in the arguments", call(func(b *message.Block) { b.JSON = message.JSON(`{"` + word() + `":1}`) })},
		{"arguments that are no JSON", call(func(b *message.Block) { b.JSON = message.JSON(`{"visible ` + word()) })},
		{"arguments that are a string", call(func(b *message.Block) { b.JSON = message.JSON(`"visible ` + word() + `"`) })},
		{"the id of a call", call(func(b *message.Block) { b.CallID = word() })},
		{"the name of a tool that is none", call(func(b *message.Block) { b.Tool = `tool {"visible":"` + word() + `"}` })},
		{"metadata of a call", call(func(b *message.Block) { b.Meta = object() })},
		{"text of a call", call(func(b *message.Block) { b.Text = "visible " + word() })},
		{"text of a result", result(func(m *message.Message) { m.Result = message.TextResult("visible " + word()) })},
		{"text of a failed result", result(func(m *message.Message) { m.Result = message.FailedResult(message.FailOperation, "visible "+word()) })},
		{"JSON of a result", result(func(m *message.Message) { m.Result = message.JSONResult(object()) })},
		{"metadata of a result", result(func(m *message.Message) { m.Result.Meta = object() })},
		{"a resource in a result", result(func(m *message.Message) {
			m.Result.Content = message.ListOf(message.Block{Kind: message.BlockResource, URI: "file:///visible", Text: "visible " + word()})
		})},
		{"an image in a result", result(func(m *message.Message) {
			m.Result.Content = message.ListOf(message.Block{Kind: message.BlockImage, MIME: "image/png", Data: word()})
		})},
		{"content of a tool message", result(func(m *message.Message) { m.Content = message.ListOf(message.TextBlock("visible " + word())) })},
		{"the result of a message that is none", []message.Message{{Role: message.RoleUser,
			Content: message.ListOf(message.TextBlock("visible")), Result: message.TextResult("visible " + word())}}},
		{"what the framework said as a user", labelled(message.RoleUser)},
		{"what the framework said as a model", labelled(message.RoleAssistant)},
		{"a label that is none", []message.Message{assistant("visible"), {Role: message.RoleUser, Label: "visible " + word(), Content: message.ListOf(message.TextBlock("x"))}}},
	}
	for _, role := range []message.Role{message.RoleUser, message.RoleAssistant} {
		for _, kind := range []message.BlockKind{message.BlockReasoning, message.BlockImage, message.BlockResource, message.BlockJSON, "a kind to come"} {
			out = append(out,
				Secret{fmt.Sprintf("text of %s, %s", kind, role), said(role, message.Block{Kind: kind, Text: "visible " + word()})},
				Secret{fmt.Sprintf("JSON of %s, %s", kind, role), said(role, message.Block{Kind: kind, JSON: object()})},
				Secret{fmt.Sprintf("metadata of %s, %s", kind, role), said(role, message.Block{Kind: kind, Meta: object()})},
				Secret{fmt.Sprintf("data of %s, %s", kind, role), said(role, message.Block{Kind: kind, Data: word(), MIME: "text/" + word(), URI: "file:///" + word()})})
		}
		out = append(out, Secret{fmt.Sprintf("metadata of text, %s", role), said(role, message.Block{Kind: message.BlockText, Text: "visible", Meta: object()})})
	}
	return out
}

func secretsStay(t *testing.T, s *bench) { KeepsSecrets(t, s.Store) }

// KeepsSecrets puts every secret into the store and searches for it. It is a rule of Run.
// It is exported for stores whose tests inspect the index: when it returns, everything is
// indexed.
func KeepsSecrets(t *testing.T, s store.Store) {
	for i, secret := range Secrets() {
		talk(t, s, fmt.Sprint(i), secret.Messages...)
	}
	for i, secret := range Secrets() {
		key := store.Query{Agent: "a", Sender: fmt.Sprint(i), Limit: 20, Before: 8, After: 8}
		key.Text = "visible"
		seen := find(t, s, key)
		require.NotEmpty(t, seen, "%s: what can be seen is found", secret.Place)
		for _, m := range seen {
			m.Record = store.Record{}
			assert.NotContains(t, fmt.Sprintf("%+v", m), "canary", secret.Place)
		}
		key.Text = "canary*"
		assert.Empty(t, find(t, s, key), secret.Place)
	}
	assert.Empty(t, find(t, s, store.Query{Text: "canary* feedback*", Limit: 20}))
}

func searchWeighs(t *testing.T, s *bench) {
	talk(t, s, "model", assistant("harbour one two three"))
	talk(t, s, "person", message.UserText("harbour one two three"))
	talk(t, s, "tool", calling("one two three", "harbour"))
	talk(t, s, "twice", assistant("harbour one harbour three"))
	for i := range 20 {
		talk(t, s, fmt.Sprint(i), message.UserText("four words of nothing"))
	}
	assert.Equal(t, []string{"twice/0", "person/0", "tool/0", "model/0"}, places(t, s.Store, "harbour"))
	talk(t, s, "later", assistant("harbour one two three"))
	assert.Equal(t, []string{"twice/0", "person/0", "tool/0", "later/0", "model/0"}, places(t, s.Store, "harbour"))
}

// searchTitles: of messages of one length, those with a word of more weight come first.
func searchTitles(t *testing.T, s *bench) {
	head := message.UserText("one two three four")
	talk(t, s, "user", head, message.UserText("harbour one two three"))
	talk(t, s, "title", message.UserText("harbour one two three"))
	for i := range 20 {
		talk(t, s, fmt.Sprint(i), message.UserText("four words of nothing"))
	}
	long := strings.Repeat("a", 77)
	talk(t, s, "long", message.UserText(long+" harbour one two"), message.UserText(long+" one harbour two"))
	talk(t, s, "labelled", message.Message{Role: message.RoleUser, Label: "skill", Content: message.ListOf(message.TextBlock("harbour"))})
	if _, ok := s.Store.(store.Compacter); ok {
		rec := talk(t, s, "summary", head)
		compacted(t, s.Store, rec.ID, rec.Version, 1, "harbour one two three")
		assert.Equal(t, []string{"summary/s0", "long/0", "title/0", "long/1", "user/1"}, places(t, s.Store, "harbour"))
		m := find(t, s.Store, store.Query{Text: "harbour", Sender: "summary"})
		require.Len(t, m, 1)
		assert.True(t, m[0].Summary && !m[0].Archived && m[0].Message == 0)
		assert.Equal(t, "harbour one two three", m[0].Snippet)
		return
	}
	assert.Equal(t, []string{"long/0", "title/0", "long/1", "user/1"}, places(t, s.Store, "harbour"))
}

func searchRare(t *testing.T, s *bench) {
	for i := range 9 {
		talk(t, s, fmt.Sprint(i), message.UserText(fmt.Sprint("common word number ", i)), assistant("another thing entirely here"))
	}
	talk(t, s, "rare", assistant("rare thing entirely here"))
	assert.Equal(t, "rare/0", places(t, s.Store, "common rare")[0])
	assert.Equal(t, []string{"3/0"}, places(t, s.Store, "3"))
	both := talk(t, s, "both", assistant("rare common entirely here"))
	assert.Equal(t, both.Key.Sender+"/0", places(t, s.Store, "common rare")[0], "a message with both words")
}

func searchSyntax(t *testing.T, s *bench) {
	talk(t, s, "x", message.UserText("boat AND harbour OR NOT near user tools"))
	for _, text := range []string{
		`"boat`, `boat"`, `boat AND`, `AND`, `NOT boat`, `NEAR(boat harbour)`, `user:boat`, `{user} : boat`, `^boat`, `boat + harbour`, `(boat`, `boat)`,
		`bo*at boat`, `-boat`, `boat\`, "boat\x00", "boat'; DROP TABLE message; --", `boat OR`, "\xffboat", "boat*", "*boat", strings.Repeat("boat ", 1000),
	} {
		assert.Equal(t, []string{"x/0"}, places(t, s.Store, text), "%q", text)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("word", i))
	}
	assert.Empty(t, places(t, s.Store, strings.Join(many, " ")))
}

func searchNarrows(t *testing.T, s *bench) {
	first := ""
	for i := range 25 {
		key := store.Key{Agent: fmt.Sprint("agent", i%2), Sender: fmt.Sprint("sender", i%5)}
		rec, err := s.Conversation(t.Context(), key)
		require.NoError(t, err)
		if i == 0 {
			first = rec.ID
		}
		_, err = s.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Messages: message.MessagesOf(user(fmt.Sprint("boat ", i))...)})
		require.NoError(t, err)
	}
	for limit, want := range map[int]int{-1: 5, 0: 5, 1: 1, 7: 7, 20: 20, 21: 20, 1 << 40: 20} {
		assert.Len(t, find(t, s.Store, store.Query{Text: "boat", Limit: limit}), want)
	}
	for q, want := range map[store.Query]int{
		{Except: first}: 20, {Agent: "agent0", Except: first}: 10, {Except: "nobody", Agent: "agent0"}: 13,
		{Agent: "agent0"}: 13, {Sender: "sender1"}: 5, {Agent: "agent1", Sender: "sender1"}: 3, {Agent: "agent2"}: 0, {Agent: "AGENT0"}: 0, {Sender: "sender"}: 0,
	} {
		narrow := q
		narrow.Text, narrow.Limit = "boat", 20
		got := find(t, s.Store, narrow)
		assert.Len(t, got, want, "%+v", q)
		for _, m := range got {
			assert.True(t, q.Agent == "" || m.Record.Key.Agent == q.Agent)
			assert.True(t, q.Sender == "" || m.Record.Key.Sender == q.Sender)
		}
	}
}

func searchSnippets(t *testing.T, s *bench) {
	for i, filler := range []string{"é😀", "word ", "€", "x", "\n\t", "\x1b[31m"} {
		for j, parts := range [][2]int{{0, 0}, {1500, 0}, {0, 1500}, {341, 700}} {
			text := strings.Repeat(filler, parts[0]) + " needle " + strings.Repeat(filler, parts[1])
			talk(t, s, fmt.Sprint(i, j), calling(text, "tool"))
			q := store.Query{Text: "needle", Sender: fmt.Sprint(i, j)}
			got := find(t, s.Store, q)
			require.Len(t, got, 1)
			assert.Contains(t, got[0].Snippet, "needle", "%q %v", filler, parts)
			for _, shown := range []string{got[0].Snippet, got[0].Around[0].Text} {
				assert.LessOrEqual(t, len(shown), 1024)
				assert.True(t, utf8.ValidString(shown))
				assert.NotContains(t, shown, "\ufffd")
				assert.NotContains(t, shown, "\n")
				assert.NotContains(t, shown, "\x1b")
			}
			assert.True(t, strings.HasSuffix(got[0].Around[0].Text, "[tool]"), "calls are shown in any case")
		}
	}
}

func searchAround(t *testing.T, s *bench) {
	skill := message.UserText("the text of a skill")
	skill.Label = "skill"
	var ms []message.Message
	for i := range 12 {
		ms = append(ms, message.UserText(fmt.Sprint("before ", i)))
	}
	ms = append(ms, skill, calling("", "bash", "read"),
		message.Message{Role: message.RoleTool, CallID: "0", Tool: "bash", Result: message.TextResult("secret")}, message.UserText("needle"), calling("answer", "grep"), assistant("done"))
	talk(t, s, "x", ms...)
	talk(t, s, "y", assistant("another conversation"))
	around := func(before, after int) (out []string) {
		m := find(t, s.Store, store.Query{Text: "needle", Before: before, After: after})[0]
		for _, l := range m.Around {
			assert.Equal(t, ms[l.Message].Role, l.Role)
			out = append(out, fmt.Sprint(l.Message, " ", l.Text))
		}
		return out
	}
	assert.Equal(t, []string{"15 needle"}, around(0, 0))
	assert.Equal(t, []string{"15 needle"}, around(-1, -5))
	assert.Equal(t, []string{"12 [skill]", "13 [bash, read]", "14 [result of bash]", "15 needle", "16 answer [grep]"}, around(3, 1))
	assert.Equal(t, []string{"15 needle", "16 answer [grep]", "17 done"}, around(0, 8))
	assert.Len(t, around(100, 100), 8+1+2)
	m := find(t, s.Store, store.Query{Text: "before 0", Before: 8, Limit: 1})[0]
	assert.Len(t, m.Around, 1, "there is nothing in front of the first")
}

func searchSince(t *testing.T, s *bench) {
	talk(t, s, "x", message.UserText("one boat"))
	assert.Equal(t, []string{"x/0"}, places(t, s.Store, "boat"))
	talk(t, s, "x", message.UserText("two boat"))
	talk(t, s, "y", message.UserText("three boat"))
	assert.ElementsMatch(t, []string{"x/0", "x/1", "y/0"}, places(t, s.Store, "boat"))
	assert.ElementsMatch(t, []string{"x/0", "x/1", "y/0"}, places(t, s.Store, "boat"))
	f, ok := s.Store.(store.Forker)
	if !ok {
		t.Log("not tested, because the store rewinds nothing")
		return
	}
	rec := create(t, s, "a", "x")
	_, err := f.Rewind(t.Context(), rec.ID, store.At{Version: rec.Version}, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"x/0"}, places(t, s.Store, "one two"))
	talk(t, s, "x", message.UserText("four boat"))
	assert.Equal(t, []string{"x/1"}, places(t, s.Store, "two four"))
	rec = create(t, s, "a", "x")
	_, err = f.Rewind(t.Context(), rec.ID, store.At{Version: rec.Version}, 0)
	require.NoError(t, err)
	talk(t, s, "x", message.UserText("five"), message.UserText("six"))
	assert.ElementsMatch(t, []string{"x/0", "y/0"}, places(t, s.Store, "one two three four five"))
}

func searchPast(t *testing.T, s *bench) {
	rec := talk(t, s, "x", message.UserText("zero"), assistant("one"), message.UserText("two"), assistant("three"))
	if c, ok := s.Store.(store.Compacter); ok {
		assert.Equal(t, []string{"x/1"}, places(t, s.Store, "one"), "before the compaction")
		v := compacted(t, s.Store, rec.ID, rec.Version, 2, "summary of zero and one")
		assert.Equal(t, []string{"x/s0", "x/~1"}, places(t, s.Store, "one summary"))
		assert.Equal(t, []string{"x/2"}, places(t, s.Store, "three"))
		talk(t, s, "x", message.UserText("four"), assistant("five"))
		v = compacted(t, s.Store, rec.ID, v+1, 4, "summary of all")
		assert.Equal(t, []string{"x/~5"}, places(t, s.Store, "four"), "it was compacted before it was searched for")
		assert.Equal(t, []string{"x/s0", "x/1"}, places(t, s.Store, "five summary"))
		assert.Empty(t, places(t, s.Store, "and"), "the earlier summary is not found")
		v = compacted(t, s.Store, rec.ID, v, 1, "summary of a summary")
		assert.Equal(t, []string{"x/s0", "x/~1"}, places(t, s.Store, "one summary"))
		assert.Empty(t, places(t, s.Store, "all"))
		assert.Equal(t, "summary of a summary", find(t, s.Store, store.Query{Text: "summary"})[0].Snippet)
		archive, err := c.Archive(t.Context(), rec.ID)
		require.NoError(t, err)
		m := find(t, s.Store, store.Query{Text: "two", Before: 1, After: 8})[0]
		assert.Equal(t, "two", archive[m.Message].Text())
		assert.Equal(t, []store.Line{{Message: 2, Role: message.RoleUser, Text: "summary of zero and one"}, {Message: 3, Role: message.RoleUser, Text: "two"},
			{Message: 4, Role: message.RoleAssistant, Text: "three"}, {Message: 5, Role: message.RoleUser, Text: "four"}, {Message: 6, Role: message.RoleUser, Text: "summary of all"}}, m.Around)
		assert.Equal(t, v, look(t, s, rec).Version)
	}
	if c, ok := s.Store.(store.Child); ok {
		child, err := c.Child(t.Context(), store.Key{Agent: "a", Sender: "child"}, rec.ID)
		require.NoError(t, err)
		_, err = s.Append(t.Context(), child.ID, store.Append{Messages: message.MessagesOf(user("offspring")...)})
		require.NoError(t, err)
		assert.Empty(t, places(t, s.Store, "offspring"))
	}
}

func searchForks(t *testing.T, s *bench) {
	f, ok := s.Store.(store.Forker)
	if !ok {
		t.Log("not tested, because the store forks nothing")
		return
	}
	rec := talk(t, s, "x", message.UserText("zero"), assistant("one"))
	_, compacts := s.Store.(store.Compacter)
	if compacts {
		compacted(t, s.Store, rec.ID, rec.Version, 1, "summary")
	}
	places(t, s.Store, "one")
	_, err := f.Fork(t.Context(), rec.ID, 1, store.Key{Agent: "a", Sender: "y"})
	require.NoError(t, err)
	if compacts {
		assert.Equal(t, []string{"y/s0", "x/s0", "y/~0", "x/~0"}, places(t, s.Store, "zero summary"))
	}
	assert.Equal(t, []string{"y/1", "x/1"}, places(t, s.Store, "one"))
}
