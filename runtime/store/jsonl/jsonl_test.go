package jsonl_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/jsonl"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// full is a conversation with everything in it.
func full() store.Dump {
	args := message.JSON(`{"command":"ls <&> \u0041","n":12345678901234567890}`)
	call := func(args message.JSON) message.Message {
		return message.Message{Role: message.RoleAssistant, Content: message.ListOf(
			message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: `{"signature":"s"}`},
			message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "bash", JSON: args})}
	}
	result := message.Message{Role: message.RoleTool, CallID: "1", Tool: "bash",
		Result: message.ToolResult{Content: message.ListOf(message.TextBlock("a\x00b \u2028 😀\n")), Failure: message.FailOperation, Trust: message.TrustExternal, Meta: `{"k":"v"}`}}
	summary := message.UserText("what was before")
	summary.Label = "summary"
	return store.Dump{
		Key: store.Key{Agent: "coder", Sender: "é 2"}, Created: time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC), Turns: 3,
		Archive: []store.Kept{{Turn: 1, Message: message.UserText("1?")}, {Turn: 1, Message: call(args)}, {Turn: 1, Message: result},
			{Turn: 1, Summary: true, Message: summary},
			{Turn: 2, Message: message.UserText("2?")}, {Turn: 2, Message: call(`{"a":1,"a":2}`)}},
		Messages: []store.Kept{{Turn: 2, Summary: true, Message: summary}, {Turn: 2, Message: result},
			{Turn: 3, Message: message.UserText("3?")}, {Turn: 3, Message: call(`no { JSON`)},
			{Turn: 3, Message: call(`"a string"`)}, {Turn: 3, Message: result}, {Turn: 4, Message: message.UserText("4?")}},
	}
}

func written(t *testing.T, d store.Dump) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, jsonl.Write(&buf, d))
	return buf.String()
}

func TestTheFormIsWhatTheDocumentationShows(t *testing.T) {
	t.Parallel()
	summary := message.UserText("They greeted.")
	summary.Label = "summary"
	d := store.Dump{
		Key: store.Key{Agent: "coder", Sender: "me"}, Created: time.Date(2026, 5, 6, 9, 8, 9, 0, time.FixedZone("x", 7200)), Turns: 2,
		Archive: []store.Kept{{Turn: 1, Message: message.UserText("hi")},
			{Turn: 1, Message: message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("hello"))}}},
		Messages: []store.Kept{{Turn: 1, Summary: true, Message: summary}, {Turn: 2, Message: message.UserText("bye")}},
	}
	source, err := os.ReadFile("jsonl.go")
	require.NoError(t, err)
	for line := range strings.Lines(written(t, d)) {
		assert.Contains(t, string(source), "//\t"+line)
	}
}

func TestARoundTripIsEqualByteByByte(t *testing.T) {
	t.Parallel()
	first, s := written(t, full()), mem.New(nil)
	rec, err := jsonl.Import(t.Context(), s, strings.NewReader(first), nil)
	require.NoError(t, err)
	assert.Equal(t, full().Key, rec.Key)
	assert.Equal(t, 3, rec.Turns)
	var again bytes.Buffer
	require.NoError(t, jsonl.Export(t.Context(), s, rec.ID, &again))
	assert.Equal(t, first, again.String())

	_, err = jsonl.Import(t.Context(), s, strings.NewReader(first), nil)
	require.ErrorIs(t, err, store.ErrExists)
	other, err := jsonl.Import(t.Context(), s, strings.NewReader(first), &store.Key{Agent: "another"})
	require.NoError(t, err)
	assert.Equal(t, store.Key{Agent: "another"}, other.Key)
	require.ErrorIs(t, jsonl.Export(t.Context(), s, "nobody", io.Discard), store.ErrUnknown)
	d, err := jsonl.Read(iotest.OneByteReader(strings.NewReader(first)))
	require.NoError(t, err)
	assert.Equal(t, full(), d)
}

// Wherever the file is cut, what is in front of the cut is there, or it is an
// error that nothing can be made of it.
func TestAFileThatWasCut(t *testing.T) {
	t.Parallel()
	text, whole := written(t, full()), full()
	head := strings.Index(text, "\n") + 1
	lines := strings.SplitAfter(text, "\n")
	summaryAt := len(strings.Join(lines[:1+len(whole.Archive)+1], "")) // the end of the summary in front of the messages
	for at := range len(text) - 1 {
		d, err := jsonl.Read(strings.NewReader(text[:at]))
		if at < summaryAt-1 {
			var wrong *jsonl.LineError
			require.ErrorAs(t, err, &wrong, "%d", at)
			require.Equal(t, store.Dump{}, d)
			continue
		}
		var cut *jsonl.CutError
		require.ErrorAs(t, err, &cut, "%d", at)
		n := strings.Count(text[head:at], "\n")
		if text[at] == '\n' {
			n++
		}
		require.Equal(t, whole.Archive, d.Archive)
		require.Equal(t, whole.Messages[:n-len(whole.Archive)], d.Messages, "%d", at)
		require.Equal(t, len(whole.Messages)-len(d.Messages), cut.Missing)
		require.NoError(t, d.Check())
	}
	d, err := jsonl.Read(strings.NewReader(text[:len(text)-1]))
	require.NoError(t, err, "a line break is not a message")
	assert.Equal(t, whole, d)

	s := mem.New(nil)
	rec, err := jsonl.Import(t.Context(), s, strings.NewReader(text[:len(text)-9]), nil)
	var cut *jsonl.CutError
	require.ErrorAs(t, err, &cut)
	assert.ErrorContains(t, err, "line 14")
	assert.Equal(t, 1, cut.Missing)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Len(t, ms, len(whole.Messages)-1)
}

func TestALineThatIsWrong(t *testing.T) {
	t.Parallel()
	head := `{"format":"grapnel conversation","version":1,"agent":"a","sender":"","created":"2026-05-06T07:08:09Z","turns":1,"archived":0,"messages":2}`
	good := `{"turn":1,"message":{"role":"user","content":[{"kind":"text","text":"hi"}]}}`
	summed := strings.Replace(head, `"archived":0`, `"archived":1`, 1)
	summary := strings.Replace(good, `"message"`, `"summary":true,"message"`, 1)
	change := func(in, old, with string) string {
		out := strings.Replace(in, old, with, 1)
		require.NotEqual(t, in, out)
		return out
	}
	for name, c := range map[string]struct {
		lines []string
		line  int
		want  string
	}{
		"nothing":                        {nil, 1, "the file is empty"},
		"something else":                 {[]string{"hello", good}, 1, "name a file that was exported"},
		"other JSON":                     {[]string{`{"format":"x"}`, good}, 1, `its format is "x"`},
		"a newer version":                {[]string{change(head, `"version":1`, `"version":2,"more":true`), good, good}, 1, "import it with the program that wrote it"},
		"an unknown member of line 1":    {[]string{change(head, `"agent"`, `"extra":1,"agent"`), good, good}, 1, "unknown object member name \"extra\""},
		"a member of line 1 twice":       {[]string{change(head, `"agent":"a"`, `"agent":"a","agent":"b"`), good, good}, 1, "duplicate"},
		"a member in capitals":           {[]string{change(head, `"agent"`, `"Agent"`), good, good}, 1, "unknown"},
		"a number below zero":            {[]string{change(head, `"messages":2`, `"messages":-2`), good, good}, 1, "cannot be"},
		"a number that is none":          {[]string{change(head, `"messages":2`, `"messages":"2"`), good, good}, 1, "/messages"},
		"no JSON":                        {[]string{head, "x", good}, 2, "invalid character 'x'"},
		"a blank line":                   {[]string{head, "", good}, 2, "EOF"},
		"two values":                     {[]string{head, good + good, good}, 2, "after"},
		"an unknown member":              {[]string{head, change(good, `"turn"`, `"archived":true,"turn"`), good}, 2, "unknown object member name \"archived\""},
		"an unknown member of a message": {[]string{head, change(good, `"role"`, `"name":"x","role"`), good}, 2, "unknown object member name \"name\""},
		"an unknown member of a block":   {[]string{head, change(good, `"kind"`, `"color":"x","kind"`), good}, 2, "unknown object member name \"color\""},
		"a member of a message twice":    {[]string{head, change(good, `"role":"user"`, `"role":"user","role":"tool"`), good}, 2, "duplicate"},
		"no message":                     {[]string{head, `{"turn":1}`, good}, 2, "no message"},
		"a message that is null":         {[]string{head, `{"turn":1,"message":null}`, good}, 2, "role"},
		"an unknown role":                {[]string{head, change(good, `"user"`, `"system"`), good}, 2, `the role of its message is "system"`},
		"turn 0":                         {[]string{head, change(good, `"turn":1`, `"turn":0`), good}, 2, "is of turn 0"},
		"a turn that goes back": {[]string{change(change(head, `"turns":1`, `"turns":2`), `"messages":2`, `"messages":4`), good,
			change(good, `"turn":1`, `"turn":2`), good, change(good, `"turn":1`, `"turn":2`)}, 4, "is of turn 1"},
		"a summary by a model": {[]string{summed, good, change(summary, `"user"`, `"assistant"`), good}, 3, "message.role: it is \"assistant\" in a summary"},
		"a summary by a tool":  {[]string{summed, good, change(summary, `"user"`, `"tool"`), good}, 3, "message.role: it is \"tool\" in a summary"},
		"a summary with a call": {[]string{summed, good, change(summary, `{"kind":"text","text":"hi"}`,
			`{"kind":"tool_call","call_id":"1","tool":"bash","json":{}}`), good}, 3, "message.role: a user calls no tools"},
		"a summary in the archive": {[]string{change(summed, `"archived":1`, `"archived":2`), good, change(summary, `"user"`, `"assistant"`), summary, good},
			3, "message.role: it is \"assistant\" in a summary"},
		"a turn that has not begun":    {[]string{head, good, change(good, `"turn":1`, `"turn":3`)}, 3, "is of turn 3"},
		"a summary of nothing":         {[]string{head, change(good, `"message"`, `"summary":true,"message"`), good}, 2, "summary"},
		"an archive without a summary": {[]string{summed, good, good, good}, 3, "summary"},
		"a day that no clock has":      {[]string{change(head, `"created":"2026`, `"created":"9026`), good, good}, 1, "created: the year 9026"},
		"reversed roles":               {[]string{head, change(good, `"user"`, `"assistant"`), good}, 2, `message.role: it is "assistant" at the beginning of turn 1`},
		"a result of nothing at first": {[]string{head, change(good, `"user"`, `"tool"`), good}, 2, `message.role: it is "tool" at the beginning of turn 1`},
		"reversed roles later": {[]string{change(head, `"turns":1`, `"turns":2`), good,
			change(change(good, `"user"`, `"assistant"`), `"turn":1`, `"turn":2`)}, 3, `message.role: it is "assistant" at the beginning of turn 2`},
		"a user who calls a tool": {[]string{head, good,
			`{"turn":1,"message":{"role":"user","content":[{"kind":"tool_call","call_id":"1","tool":"bash","json":{}}]}}`}, 3, "message.role: a user calls no tools"},
		"a message too many": {[]string{head, good, good, good}, 4, "more than the 2 messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := jsonl.Read(strings.NewReader(strings.Join(append(c.lines, ""), "\n")))
			var wrong *jsonl.LineError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, c.line, wrong.Line)
			assert.ErrorContains(t, err, fmt.Sprintf("line %d: ", c.line))
			assert.ErrorContains(t, err, c.want)
			assert.NotEmpty(t, wrong.Fix)
			assert.Equal(t, store.Dump{}, d)
			s := mem.New(nil)
			_, err = jsonl.Import(t.Context(), s, strings.NewReader(strings.Join(append(c.lines, ""), "\n")), nil)
			require.ErrorAs(t, err, &wrong)
			all, err := s.List(t.Context())
			require.NoError(t, err)
			assert.Empty(t, all, "everything is checked before anything is written")
		})
	}
}

// TestTheKeyThatCounts is the one that the conversation gets.
func TestTheKeyThatCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  store.Key
		want string
	}{
		"an agent that is a path": {store.Key{Agent: "../x"}, `the agent "../x" has to match`},
		"no agent":                {store.Key{}, `the agent "" has to match`},
		"a sender that hides":     {store.Key{Agent: "a", Sender: "me\u202e"}, `the sender has the character \u{202e}`},
		"a sender of two lines":   {store.Key{Agent: "a", Sender: "me\nyou"}, `the sender has the character \x0a`},
		"a sender of blanks":      {store.Key{Agent: "a", Sender: "  "}, `the sender "  " begins or ends with a blank`},
		"a sender without end":    {store.Key{Agent: "a", Sender: strings.Repeat("x", 257)}, "the sender has 257 bytes, and may have 256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, s := written(t, store.Dump{Key: c.key, Created: full().Created}), mem.New(nil)
			_, err := jsonl.Import(t.Context(), s, strings.NewReader(text), nil)
			require.ErrorIs(t, err, store.ErrKey)
			assert.ErrorContains(t, err, c.want)
			var wrong *jsonl.LineError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, 1, wrong.Line)
			good := store.Key{Agent: "a", Sender: "me"}
			rec, err := jsonl.Import(t.Context(), s, strings.NewReader(text), &good)
			require.NoError(t, err)
			assert.Equal(t, good, rec.Key)
			_, err = jsonl.Import(t.Context(), s, strings.NewReader(written(t, full())), &c.key)
			require.ErrorIs(t, err, store.ErrKey)
			assert.False(t, errors.As(err, &wrong), "the file is not what is wrong")
		})
	}
}

func TestErrorsOfFilesAreTheirs(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	text := written(t, full())
	_, err := jsonl.Read(io.MultiReader(strings.NewReader(text[:300]), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	var cut *jsonl.CutError
	assert.False(t, errors.As(err, &cut), "that is no end of a file")
	_, err = jsonl.Read(io.MultiReader(strings.NewReader(text[:strings.Index(text, "\n")+1]), strings.NewReader(strings.Repeat("x", jsonl.MaxLine+1))))
	assert.ErrorContains(t, err, "line 2: it is longer")
	require.ErrorIs(t, jsonl.Write(failing{broken}, full()), broken)
	assert.ErrorContains(t, jsonl.Write(io.Discard, store.Dump{Key: store.Key{Agent: "\xff"}}), "not UTF-8")
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// What is read can be written, and is then what was read; a store takes it.
func FuzzRead(f *testing.F) {
	var buf bytes.Buffer
	require.NoError(f, jsonl.Write(&buf, full()))
	f.Add(buf.Bytes())
	f.Add(buf.Bytes()[:buf.Len()-9])
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := jsonl.Read(bytes.NewReader(text))
		var cut *jsonl.CutError
		var wrong *jsonl.LineError
		switch {
		case errors.As(err, &wrong):
			require.Equal(t, store.Dump{}, d)
			return
		case err != nil:
			require.ErrorAs(t, err, &cut)
			require.Positive(t, cut.Missing)
		}
		first := written(t, d)
		again, err := jsonl.Read(strings.NewReader(first))
		require.NoError(t, err)
		require.Equal(t, d.Messages, again.Messages)
		require.Equal(t, d.Archive, again.Archive)
		require.Equal(t, first, written(t, again))
		s := mem.New(nil)
		if d.Key.Check() != nil {
			d.Key = full().Key
			first = written(t, d)
		}
		rec, err := s.Restore(t.Context(), d)
		require.NoError(t, err)
		kept, err := s.Dump(t.Context(), rec.ID)
		require.NoError(t, err)
		require.Equal(t, first, written(t, kept))
	})
}
