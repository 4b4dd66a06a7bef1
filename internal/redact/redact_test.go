package redact_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// token is found by its form, and hidden only behind the name of its member.
const (
	token  = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
	hidden = "q7Wm2Lp5Xt9RvZ81kd"
	marker = "[secret: github-token]"
)

// said is a message with the token in every text of it.
func said() message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(
		message.TextBlock("use "+token+"."),
		message.Block{Kind: message.BlockReasoning, Text: "it is " + token, Meta: `{"w":{"signature":"s"}}`},
		message.Block{Kind: message.BlockToolCall, CallID: "c1", Tool: "put", JSON: `{"n":1,"password":"` + hidden + `","s":"a\n` + token + `"}`},
		message.Block{Kind: message.BlockToolCall, CallID: "c2", Tool: "put", JSON: `{"s":"a\n<b>"}`},
		message.Block{Kind: message.BlockToolCall, CallID: "c3", Tool: "put", JSON: `{"s": ` + token},
		message.Block{Kind: message.BlockResource, URI: "https://me:" + hidden + "@host/x", Name: token},
	)}
}

func answered() message.Message {
	return message.Message{Role: message.RoleTool, CallID: "c1", Tool: "put", Result: message.ToolResult{
		Content: message.ListOf(message.TextBlock(token), message.Block{Kind: message.BlockJSON, JSON: `{"api_key":"` + hidden + `"}`}),
		Meta:    `{"t":"` + token + `"}`, Failure: message.FailOperation,
	}}
}

func clean(t *testing.T, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	assert.NotContains(t, string(text), token)
	assert.NotContains(t, string(text), hidden)
}

func open(t *testing.T) (s *sqlite.Store, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "c.db")
	s, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s, file
}

func entries() []store.Entry {
	return []store.Entry{
		{Kind: store.EntryTurn, Data: `{"id":"t","token":"deploy-2024a7b9c1d3e5-x","model":{"extra":{"api_key":"` + hidden + `"}}}`},
		{Kind: store.EntryInput, Message: message.UserText(token), Data: `{}`},
		{Kind: store.EntryReply, Message: said(), Data: `{"calls":1}`},
		{Kind: store.EntryStart, CallID: "c1", Data: `{"tool":"put"}`},
		{Kind: store.EntryResult, CallID: "c1", Message: answered(), Data: `{}`},
		{Kind: store.EntryEnd, Data: `{"errors":["` + token + `"]}`},
	}
}

// TestNothingIsWritten: every way into the store, looked at in the file and its log, and again with
// masking off.
func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		s, file := open(t)
		var to redact.Full = s
		if on {
			to = redact.New(nil).Store(s)
		}
		write(t, to)
		raw := ""
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(file + suffix)
			if !os.IsNotExist(err) {
				require.NoError(t, err)
			}
			raw += string(data)
		}
		if on {
			assert.NotContains(t, raw, token)
			assert.NotContains(t, raw, hidden)
			assert.Contains(t, raw, marker)
			continue
		}
		assert.GreaterOrEqual(t, strings.Count(raw, token), 12, "what the other run looks for is found")
		assert.GreaterOrEqual(t, strings.Count(raw, hidden), 3)
	}
}

// write writes secrets in all ways.
func write(t *testing.T, s redact.Full) {
	t.Helper()
	ctx := t.Context()
	rec, err := s.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(t, err)
	events := []store.Event{{Seq: 1, Data: `{"kind":"turn_start","text":"` + token + `"}`}}
	states := []hook.StateValue{{Name: "s", Data: `{"plan":"` + token + `"}`}}
	_, err = s.Note(ctx, rec.ID, store.Note{Entries: entries(), Events: events, States: states})
	require.NoError(t, err)
	version, err := s.Append(ctx, rec.ID, store.Append{
		Messages: message.MessagesOf(message.UserText(token), said(), answered()), Entries: entries(), States: states,
		Events: []store.Event{{Seq: 2, Data: events[0].Data}}, TurnEnds: true,
	})
	require.NoError(t, err)
	version, err = s.Compact(ctx, rec.ID, store.At{Version: version, Events: []store.Event{{Seq: 3, Data: events[0].Data}}}, 3, message.UserText("sum "+token))
	require.NoError(t, err)
	version, err = s.Append(ctx, rec.ID, store.Append{Version: version, Messages: message.MessagesOf(message.UserText("2")), TurnEnds: true})
	require.NoError(t, err)
	version, err = s.Rewind(ctx, rec.ID, store.At{Version: version, Events: []store.Event{{Seq: 4, Data: events[0].Data}}}, 1)
	require.NoError(t, err)
	d, err := s.Dump(ctx, rec.ID)
	require.NoError(t, err)
	d.Key.Sender, d.Messages[0].Message = "other", message.UserText("again "+token)
	_, err = s.Restore(ctx, d)
	require.NoError(t, err)
	require.NoError(t, s.WriteRuns(ctx, []store.Run{{ID: "r", Status: event.RunFailed, Error: token, Started: time.Unix(1, 0), Attempts: []store.RunAttempt{{Number: 1, Error: token}}}}))
	_, err = s.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "k", Key: "1", Payload: `{"s":"` + token + `"}`}})
	if _, masks := s.(*redact.Store); masks {
		require.ErrorIs(t, err, redact.ErrMasked)
	} else {
		require.NoError(t, err)
	}
	secret := []store.Job{{Job: hook.Job{Kind: "k", Key: "3", Payload: `{"s":"` + token + `"}`}}}
	_, noted := s.Note(ctx, rec.ID, store.Note{Jobs: secret})
	_, appended := s.Append(ctx, rec.ID, store.Append{Version: version, Jobs: secret})
	if _, masks := s.(*redact.Store); masks {
		require.ErrorIs(t, noted, redact.ErrMasked)
		require.ErrorIs(t, appended, redact.ErrMasked)
	}
	_, err = s.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "k", Key: "2", Payload: `{"s":"a\n<b>"}`}})
	require.NoError(t, err, "a job without a secret is queued")
	j, err := s.TakeJob(ctx, store.JobTake{Owner: "o", Kinds: []string{"k"}, Hold: time.Minute})
	require.NoError(t, err)
	require.NoError(t, s.EndJob(ctx, j.ID, j.Epoch, store.JobEnd{Status: store.JobFailed, Failure: token}))
}

// TestNothingIsRead: what a store has from before.
func TestNothingIsRead(t *testing.T) {
	t.Parallel()
	before, _ := open(t)
	ctx := t.Context()
	rec, err := before.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(t, err)
	version, err := before.Append(ctx, rec.ID, store.Append{
		Messages: message.MessagesOf(message.UserText("find "+token), said(), answered()), TurnEnds: true,
		Events: []store.Event{{Seq: 1, Data: `{"text":"` + token + `"}`}}, States: []hook.StateValue{{Name: "s", Data: `"` + token + `"`}},
	})
	require.NoError(t, err)
	_, err = before.Note(ctx, rec.ID, store.Note{Entries: entries()})
	require.NoError(t, err)
	s := redact.New(nil).Store(before)

	title, err := s.Find(ctx, rec.ID)
	require.NoError(t, err)
	assert.Equal(t, "find "+marker, title.Title)
	titles, err := s.Titles(ctx, []string{rec.ID})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{rec.ID: "find " + marker}, titles)
	ms, err := s.Messages(ctx, rec.ID)
	require.NoError(t, err)
	clean(t, ms)
	journal, err := s.Journal(ctx, rec.ID)
	require.NoError(t, err)
	clean(t, journal)
	assert.Contains(t, string(journal[0].Data), "deploy-2024a7b9c1d3e5-x", "the name of a credential is no secret")
	found, err := s.Search(ctx, store.Query{Text: "find", Before: 1, After: 1})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	clean(t, found)
	events, err := s.Events(ctx, rec.ID, 0, 9)
	require.NoError(t, err)
	clean(t, events)
	states, err := s.States(ctx, rec.ID)
	require.NoError(t, err)
	clean(t, states)
	d, err := s.Dump(ctx, rec.ID)
	require.NoError(t, err)
	clean(t, d)
	_, err = before.Compact(ctx, rec.ID, store.At{Version: version}, 3, message.UserText("sum"))
	require.NoError(t, err)
	old, err := s.Archive(ctx, rec.ID)
	require.NoError(t, err)
	require.Len(t, old, 3)
	clean(t, old)
	require.NoError(t, before.WriteRuns(ctx, []store.Run{{ID: "r", Status: event.RunFailed, Error: token, Started: time.Unix(1, 0), Attempts: []store.RunAttempt{{Number: 1, Error: token}}}}))
	runs, err := s.Runs(ctx, store.RunFilter{})
	require.NoError(t, err)
	clean(t, runs)
	_, err = before.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "k", Key: "1", Payload: `{"s":"` + token + `"}`}})
	require.NoError(t, err)
	jobs, err := s.Jobs(ctx, store.JobFilter{})
	require.NoError(t, err)
	clean(t, jobs)
	job, err := s.ChangeJob(ctx, "", jobs[0].ID, store.JobCancel)
	require.NoError(t, err)
	clean(t, job)
}

// TestMaskedCallsAreKnown: a call is marked if and only if its arguments changed, and the mark is read back.
func TestMaskedCallsAreKnown(t *testing.T) {
	t.Parallel()
	under, _ := open(t)
	s := redact.New(nil).Store(under)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Entries: entries()})
	require.NoError(t, err)
	all, err := under.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	blocks := all[2].Message.Content.Slice()
	assert.Equal(t, []bool{false, false, true, false, true, false}, []bool{
		blocks[0].Masked, blocks[1].Masked, blocks[2].Masked, blocks[3].Masked, blocks[4].Masked, blocks[5].Masked,
	})
	assert.JSONEq(t, `{"n":1,"password":"[secret: assigned-secret]","s":"a\n`+marker+`"}`, string(blocks[2].JSON))
	assert.Equal(t, message.JSON(`{"s":"a\n<b>"}`), blocks[3].JSON, "nothing else changes")
	assert.Empty(t, blocks[1].Meta, "the signature of another text")
	assert.Equal(t, "c1", blocks[2].CallID)
}

// TestAnAskSaysWhatIsMasked: who approves a call knows how much of it cannot be seen, and that answer is for nothing else.
func TestAnAskSaysWhatIsMasked(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	ask := hook.ApprovalRequest{
		Tool: "bash", Args: message.JSON(`{"command":"curl -H 'X-Key: ` + token + `' x"}`), Remarks: message.ListOf("be careful"),
		Offers: message.ListOf(hook.Offer{ID: "tool", Text: "all calls"}),
	}
	got := r.Inquiry(hook.Inquiry{Approval: &ask}).Approval
	assert.Equal(t, message.JSON(`{"command":"curl -H 'X-Key: `+marker+`' x"}`), got.Args)
	assert.True(t, got.Masked)
	assert.Zero(t, got.Offers.Len())
	assert.Equal(t, []string{"be careful", fmt.Sprintf("what looks like a secret is masked here, %d bytes in all; the tool gets it as it is", len(token))}, got.Remarks.Slice())
	assert.False(t, ask.Masked, "that of others stays")

	// Escapes do not make it less.
	ask.Args = message.JSON(`{"s":"x\npassword=\"q8W2e9R4t6Y1u3I5o7P0\"","token":"` + token + `"}`)
	got = r.Inquiry(hook.Inquiry{Approval: &ask}).Approval
	assert.Contains(t, got.Remarks.At(1), fmt.Sprintf("%d bytes in all", len("q8W2e9R4t6Y1u3I5o7P0")+len(token)))

	ask.Args = `{"command":"ls"}`
	assert.Equal(t, ask, *r.Inquiry(hook.Inquiry{Approval: &ask}).Approval)
}

// TestTwiceIsOnce: what is masked stays as it is.
func TestTwiceIsOnce(t *testing.T) {
	t.Parallel()
	r := redact.New(&redact.Options{Personal: true})
	once := hook.Event{Kind: event.CallResult, Text: "me@nic.tv " + token}.WithDetail(hook.EventDetail{
		Args: said().Content.At(2).JSON, Result: answered().Result,
		Inquiry:  hook.Inquiry{ID: "i", Questions: message.ListOf(hook.Question{Text: token, Options: message.ListOf(hook.Choice{Label: token, Description: token})})},
		Response: hook.Response{Given: message.ListOf(hook.Given{Text: token, Chosen: message.ListOf(token)})},
	})
	shared := once.Detail().Result
	masked := r.Event(once)
	clean(t, masked)
	assert.Equal(t, masked, r.Event(masked))
	assert.Equal(t, shared, once.Detail().Result, "other events keep theirs")
	assert.Equal(t, "[personal: email] "+marker, masked.Text)
}

// passes are the methods of stores that have no texts of people, models and tools.
var passes = map[string]bool{
	"Conversation": true, "List": true, "Claim": true, "Volatile": true, "Fork": true, "Adopt": true, "Child": true, "Children": true,
	"TakeJob": true, "HoldJob": true, "CountJobs": true, "Reserve": true, "Settle": true, "Spent": true,
	"Erase": true, "EraseProject": true, "Weigh": true, "Shrink": true, "Close": true,
}

// TestNoMethodOfAStoreIsLost: every method of the stores masks, or is known to have nothing to mask.
func TestNoMethodOfAStoreIsLost(t *testing.T) {
	t.Parallel()
	own := reflect.TypeFor[*redact.Store]()
	full := reflect.TypeFor[redact.Full]()
	for _, s := range []reflect.Type{reflect.TypeFor[*sqlite.Store](), reflect.TypeFor[*mem.Store]()} {
		for i := range s.NumMethod() {
			name := s.Method(i).Name
			switch name {
			case "Close", "Beat", "Leave", "Nodes", "Watch", "Unfinished": // who opens the store has it
				continue
			case "History", "Rows", "Load": // left out on purpose: they show and keep what is not masked
				continue
			}
			_, has := own.MethodByName(name)
			assert.True(t, has, "%s of %s is lost", name, s)
		}
	}
	for i := range full.NumMethod() {
		name := full.Method(i).Name
		assert.NotEqual(t, passes[name], overridden(t, name), "%s: either it masks, or it is in the list of those that need not", name)
	}
}

// overridden reports whether redact.Store has a method of its own of that name.
func overridden(t *testing.T, name string) bool {
	t.Helper()
	source, err := os.ReadFile("store.go")
	require.NoError(t, err)
	return strings.Contains(string(source), "func (s *Store) "+name+"(")
}
