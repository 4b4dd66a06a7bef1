package daemon_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// The canaries, each by the way it comes in. None is in the sources of two.
var canaries = map[string]string{
	"text of a user":     "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5",
	"file":               "glpat-" + "Zq8Wm2Lp5Xt9RvZ81kd7",
	"output of a tool":   "npm_" + "bC4eF6hJ8kL1nP3qR5tV7wX9zA2cD4fG6hK8",
	"arguments":          "AIza" + "SyD7fG9hJ2kL4mN6pQ8rT1vW3xZ5bC7dE9g",
	"error of a server":  "kQ4rT8wZn1",
	"environment":        "dop_v1_" + "4f8a1c9e7b3d5f2a6c8e1b4d7f9a3c5e8b1d4f7a9c2e5b8d1f4a7c9e3b6d8f2a",
	"headers":            "tR7wQ2mX9kL4nB6vC1zD5fG8hJ3pS0a",
	"diagnostic":         "pul-" + "9c1e5b8d2f4a7c9e3b6d8f2a4c7e9b1d5f8a3c6e",
	"memory":             "sq0atp-" + "Wm2Lp5Xt9RvZq8kd7aB3dE",
	"file of an agent":   "rubygems_" + "5e8b1d4f7a9c2e5b8d1f4a7c9e3b6d8f2a4c7e9b1d5f8a3c",
	"message to a turn":  "squ_" + "8d1f4a7c9e3b6d8f2a4c7e9b1d5f8a3c6e9b2d4f",
	"task of a child":    "pnu_" + "xY7zA9bC2dE4fG6hJ8kL1mN3pQ5rS7tV9wX2",
	"answer of a model":  "dckr_pat_" + "mN6pQ8rT1vW3xZ5bC7dE9gH2jK4",
	"reason of a gate":   "sgp_" + "1d4f7a9c2e5b8d1f4a7c9e3b6d8f2a4c7e9b1d5f",
	"password in an URL": "hT5rQ9wXk2",
}

// session is a daemon with everything that it writes and says.
type session struct {
	t     *testing.T
	paths app.Paths
	c     *client.Client

	mu   sync.Mutex
	said strings.Builder
	// got is what tools and models have got.
	got map[string]bool
}

func (s *session) say(v any) {
	text, err := json.Marshal(v)
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Write(append(text, '\n'))
}

func (s *session) file(name, text string) {
	s.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(s.paths.Root, name)
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

func newSession(t *testing.T, conf string) *session {
	t.Helper()
	s := &session{t: t, paths: project(t), got: map[string]bool{}}
	c := canaries
	s.file(filepath.Join(s.paths.Home, ".grapnel", "config.yaml"), conf)
	s.file("secret.txt", "token = "+c["file"]+"\n")
	s.file("make.sh", "printf %s "+c["output of a tool"][:10]+"; echo "+c["output of a tool"][10:]+"\n")
	s.file("settings.env", "export SETTINGS="+c["environment"]+"\n")
	s.file("headers.txt", "> POST /x HTTP/1.1\n> Authorization: Bearer "+c["headers"]+"\n")
	s.file("server.err", "no answer from amqp://me:"+c["error of a server"]+"@queue.local/\n") // MCP hides long words itself
	s.file(".mcp.json", `{"mcpServers": {"broken": {"command": "sh", "args": ["-c", "cat server.err >&2; exit 1"]}}}`)
	s.file(".grapnel/agents/helper.md", "---\nmodel: script:model.yaml\nmemory: {}\n---\nThe key is "+c["file of an agent"]+".\n")
	s.file(".grapnel/agents/child.md", "---\ndescription: Works.\nmodel: script:child.yaml\n---\nWork.\n")
	s.file("child.yaml", "rules: [{when: always, say: Done with ${user}}]")
	s.file("model.yaml", fmt.Sprintf(`rules:
- when: {step: 1}
  reason: The way to it is postgres://me:%s@db.local/x
  say: I begin.
  calls:
  - {tool: read, args: {file_path: secret.txt}}
  - {tool: bash, args: {command: sh make.sh}}
  - {tool: bash, args: {command: ". ./settings.env; env; cat headers.txt"}}
  - {tool: write, args: {file_path: out.txt, content: "a\n%s"}}
  - {tool: remember, args: {name: key, content: "The key of the boat is %s."}}
  - {tool: delegate, args: {tasks: [{agent: child, message: "use %s"}]}}
  - {tool: wait}
- {when: always, say: "My key is %s. That is all."}
`, c["password in an URL"], c["arguments"], c["memory"], c["task of a child"], c["answer of a model"]))
	return s
}

// hooks are those of the program: a tool that waits, and a gate that has something to say.
func (s *session) hooks(waited <-chan struct{}) []hook.Hook {
	type none struct{}
	wait := tool.New("wait", "Wait waits.", func(ctx context.Context, _ none) (string, error) {
		select {
		case <-waited:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
	gate := point.BeforeToolFunc(func(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
		s.mu.Lock()
		for name, canary := range canaries {
			s.got[name] = s.got[name] || strings.Contains(string(call.Args()), canary)
		}
		s.mu.Unlock()
		if call.Name() == "wait" {
			return hook.ToolDecision{}, nil
		}
		call.Host().Emit(ctx, hook.Diagnostic{Code: "gate.saw", Text: "seen " + canaries["diagnostic"], Visibility: event.VisibleUser}.Event())
		return hook.AskTool("it may need " + canaries["reason of a gate"]), nil
	})
	return []hook.Hook{tool.Set(wait), gate}
}

// inquire allows everything, and keeps what the person has seen.
func (s *session) inquire(_ context.Context, r term.Request) (hook.Response, string, error) {
	s.say(r.Inquiry)
	if r.Approval == nil {
		return hook.Response{}, "ann", nil
	}
	s.say(r.Approval)
	return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}, "ann", nil
}

// run runs a whole session: a turn with all canaries, and all that a client can read of it.
func (s *session) run() {
	t := s.t
	waited := make(chan struct{})
	yes := func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{
		Paths: s.paths, Note: func(text string) { s.say(text) }, Trust: yes, TrustLater: yes, Inquire: s.inquire, Extra: s.hooks(waited), RecordHooks: true,
	}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	s.c = client.New(at, &client.Options{Hooks: event.VisibleInternal})

	conv, err := s.c.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	turn, err := s.c.Send(t.Context(), conv.ID, "Take "+canaries["text of a user"]+" and begin.")
	require.NoError(t, err)
	steered := false
	for item, err := range s.c.Follow(t.Context(), turn) {
		require.NoError(t, err)
		s.say(item.Event)
		if item.Event.Kind == event.SubagentEnd && !steered {
			steered = true
			_, err := s.c.SendWhenBusy(t.Context(), conv.ID, "Also "+canaries["message to a turn"], wire.BusySteer)
			require.NoError(t, err)
			close(waited)
		}
	}
	require.True(t, steered)
	s.read(conv.ID)
	stop()
	s.say(fmt.Sprint(<-ended))
}

// read reads all that there is about the conversation.
func (s *session) read(id string) {
	t, ctx := s.t, s.t.Context()
	messages, err := s.c.Messages(ctx, id)
	require.NoError(t, err)
	s.say(messages)
	var exported bytes.Buffer
	require.NoError(t, s.c.Export(ctx, id, &exported))
	s.say(exported.String())
	all, err := s.c.Conversations(ctx)
	require.NoError(t, err)
	s.say(all)
	found, err := s.c.Search(ctx, client.Query{Text: "key"})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	s.say(found)
	agent, err := s.c.Agent(ctx, "helper")
	require.NoError(t, err)
	s.say(agent)
	prompt, err := s.c.Prompt(ctx, "helper")
	require.NoError(t, err)
	s.say(prompt)
	audited, err := s.c.Audit(ctx, 1000, "")
	require.NoError(t, err)
	require.NotEmpty(t, audited.Entries)
	s.say(audited)
	_, err = s.c.Import(ctx, strings.NewReader(exported.String()), "no "+canaries["text of a user"], "x")
	require.Error(t, err)
	s.say(err.Error())
	for item, err := range s.c.Events(ctx, id, "0-0") { // from the store
		require.NoError(t, err)
		s.say(item.Event)
		if item.Event.Kind == event.TurnEnd && item.Event.Depth == 0 {
			break
		}
	}
}

// found returns where each canary is, as it is or in a common encoding.
func (s *session) found() map[string][]string {
	out := map[string][]string{}
	look := func(where string, data []byte) {
		for name, canary := range canaries {
			quoted, err := json.Marshal(canary)
			require.NoError(s.t, err)
			for _, form := range []string{
				canary, string(quoted[1 : len(quoted)-1]), hex.EncodeToString([]byte(canary)), url.QueryEscape(canary),
				base64.StdEncoding.EncodeToString([]byte(canary))[:len(canary)],
			} {
				if bytes.Contains(data, []byte(form)) && !slices.Contains(out[name], where) {
					out[name] = append(out[name], where)
				}
			}
		}
	}
	look("said", []byte(s.said.String()))
	if s.paths.Database != "" {
		look("database", []byte(databases.Texts(s.t, s.paths.Database)))
	}
	files := 0
	// Snapshots are copies of the project's files, as they are: undo has to put back a file with a secret too. All else of undo has none.
	all, err := filepath.Glob(filepath.Join(s.paths.State, "undo", "*", "store", "objects"))
	require.NoError(s.t, err)
	require.Len(s.t, all, 1)
	copies := all[0]
	require.NoError(s.t, filepath.WalkDir(s.paths.State, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path == copies {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		look(filepath.Base(path), data)
		files++
		return err
	}))
	assert.Greater(s.t, files, 3)
	return out
}

// TestNoSecretLeavesTheDaemon: with masking on, a whole session leaves no canary in any file of the state, event, response,
// note, question or error, and tools have got them all the same. With masking off each of them is found, so that the search is one.
func TestNoSecretLeavesTheDaemon(t *testing.T) {
	t.Parallel()
	t.Run("on", func(t *testing.T) {
		t.Parallel()
		newSession(t, "audit: {contents: true}\nredact: {secrets: true}\n").leavesNothing()
	})
	t.Run("on, in PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := newSession(t, "audit: {contents: true}\nredact: {secrets: true}\n")
		s.paths.Database = databases.DSN(t)
		s.leavesNothing()
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		places := newSession(t, "audit: {contents: true}\n").leavesAll()
		for _, place := range []string{"said", "conversations.db", "memory.db"} {
			assert.Contains(t, places, place)
		}
		assert.Contains(t, places, ".log", "the record of the audit")
	})
	t.Run("off, in PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := newSession(t, "audit: {contents: true}\n")
		s.paths.Database = databases.DSN(t)
		places := s.leavesAll()
		assert.Contains(t, places, "database")
		for _, place := range []string{"conversations.db", "memory.db", ".log"} {
			assert.NotContains(t, places, place, "nothing of it is in files")
		}
	})
}

func (s *session) leavesNothing() {
	s.t.Helper()
	s.run()
	assert.Empty(s.t, s.found())
	for _, way := range []string{"arguments", "memory", "task of a child"} {
		assert.True(s.t, s.got[way], "%s: the call has it", way)
	}
	data, err := os.ReadFile(filepath.Join(s.paths.Root, "out.txt"))
	require.NoError(s.t, err)
	assert.Equal(s.t, "a\n"+canaries["arguments"], string(data), "and so has the tool")
	assert.Contains(s.t, s.said.String(), "[secret: github-token]")
}

// leavesAll returns the places that have a canary.
func (s *session) leavesAll() string {
	s.t.Helper()
	s.run()
	found := s.found()
	var places []string
	for name := range canaries {
		assert.NotEmpty(s.t, found[name], "%s is in nothing: the canary shows nothing", name)
		places = append(places, found[name]...)
	}
	return strings.Join(places, " ")
}
