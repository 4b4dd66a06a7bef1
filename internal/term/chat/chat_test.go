package chat

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

const model = `rules:
  - when: {user: fail}
    error: out of order
  - when: always
    say: "You said: ${user}"
`

// project makes a project with skills and agents.
func project(t *testing.T) app.Paths {
	root, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"model.yaml":                       model,
		".grapnel/agents/plain.md":         "---\nname: plain\ndescription: Has two skills.\nmodel: script:model.yaml\nskills: {names: [knots, help]}\n---\nBe plain.\n",
		".grapnel/agents/none.md":          "---\nname: none\ndescription: Has no skill.\nmodel: script:model.yaml\ntools: []\nskills: {names: []}\n---\nBe still.\n",
		".grapnel/skills/knots/SKILL.md":   "---\nname: knots\ndescription: Ties knots.\n---\nTie.\n",
		".grapnel/skills/splices/SKILL.md": "---\nname: splices\ndescription: Splices ropes.\n---\nSplice.\n",
		".grapnel/skills/hidden/SKILL.md":  "---\nname: hidden\ndescription: For the model.\nuser-invocable: false\n---\nHide.\n",
		".grapnel/skills/help/SKILL.md":    "---\nname: help\ndescription: Is named like a command.\n---\nHelp.\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	env := map[string]string{"GRAPNEL_HOME": state, "HOME": t.TempDir()}
	paths, err := app.FindPaths(root, func(k string) string { return env[k] })
	require.NoError(t, err)
	return paths
}

// session is a chat over a pipe.
type session struct {
	*Chat
	t     *testing.T
	o     Options
	app   *app.App
	out   *os.File
	lines *os.File
}

func start(t *testing.T, paths app.Paths, agent string) *session {
	opened, err := app.Open(t.Context(), app.Options{Paths: paths})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close(context.Background())) })
	over := hook.AgentConfig{Model: message.Model{Name: "script:model.yaml"}}
	a, err := opened.Register(t.Context(), agent, over)
	require.NoError(t, err)
	in, lines, err := os.Pipe()
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	ed, err := edit.New(in, out, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, ed.Close())
		_ = in.Close()
		_ = out.Close()
		_ = lines.Close()
	})
	s := &session{Chat: New(ed, false), t: t, out: out, lines: lines}
	s.app = opened
	s.o = Options{Host: &Local{App: opened, Over: over, Paths: paths}, Agent: a.Name(), Root: paths.Root, Mask: opened.Mask}
	return s
}

// run sends lines and returns what comes of them.
func (s *session) run(lines string) (string, error) {
	_, err := io.WriteString(s.lines, lines)
	require.NoError(s.t, err)
	require.NoError(s.t, s.lines.Close())
	err = s.Run(s.t.Context(), s.o)
	data, rerr := os.ReadFile(s.out.Name())
	require.NoError(s.t, rerr)
	return string(data), err
}

func TestSlash(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"/help":             {"help", ""},
		"/resume  01AB ":    {"resume", "01AB"},
		"/knots a\nb":       {"knots", "a\nb"},
		"/a:b.c_d-1 x":      {"a:b.c_d-1", "x"},
		"/etc/hosts is odd": nil,
		"/":                 nil,
		"/ help":            nil,
		" /help":            nil,
		"//x":               nil,
		"a /help":           nil,
		"/hülfe":            nil,
	} {
		name, rest, ok := slash(line)
		assert.Equal(t, want != nil, ok, "%q", line)
		if want != nil {
			assert.Equal(t, want, []string{name, rest}, "%q", line)
		}
	}
}

// completions are the words that complete a text with an agent.
func completions(t *testing.T, agent, before string) []string {
	s := start(t, project(t), agent)
	s.Chat.o = s.o
	s.agent.Name = agent
	from, words := s.complete(before)
	assert.Zero(t, from)
	var out []string
	for _, w := range words {
		out = append(out, w.Text)
	}
	return out
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	commands := []string{"/help", "/tools", "/agents", "/model", "/guest", "/clear", "/resume", "/continue", "/quit", "/approvals", "/compact", "/pin", "/pins", "/unpin", "/undo", "/redo"}
	bundled := []string{"/code-review", "/knots", "/release-notes", "/splices"}
	tests := []struct {
		agent, before string
		want          []string
	}{
		{"grapnel", "/", append(commands[:len(commands):len(commands)], bundled...)},
		{"grapnel", "/re", []string{"/resume", "/redo", "/release-notes"}},
		{"grapnel", "/hid", nil},
		{"plain", "/", append(commands[:len(commands):len(commands)], "/knots")},
		{"none", "/", commands},
		{"grapnel", "", nil},
		{"grapnel", "he", nil},
		{"grapnel", "/help ", nil},
		{"grapnel", "a /he", nil},
	}
	for _, tt := range tests {
		t.Run(tt.agent+" "+tt.before, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, completions(t, tt.agent, tt.before))
		})
	}
}

func TestFailuresAreReportedAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ lines, says string }{
		"a turn":             {"fail\nhello\n", "the turn failed"},
		"a slip of the hand": {"/hlep\nhello\n", "did you mean /help? The line was not sent."},
		"no UTF-8":           {"\xff\nhello\n", "not UTF-8"},
		"an argument":        {"/help me\nhello\n", `takes no argument, but got "me"`},
		"no conversation":    {"/resume x\nhello\n", "there is no conversation x"},
		"very long":          {strings.Repeat("x", maxText+1) + "\nhello\n", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, project(t), "plain")
			go func() { // a pipe holds less than the longest line
				_, _ = io.WriteString(s.lines, tt.lines)
				_ = s.lines.Close()
			}()
			err := s.Run(t.Context(), s.o)
			require.ErrorIs(t, err, ErrFailed)
			out, err := os.ReadFile(s.out.Name())
			require.NoError(t, err)
			assert.Contains(t, string(out), tt.says)
			assert.Contains(t, string(out), "You said: hello", "it goes on")
		})
	}
}

func TestConversations(t *testing.T) {
	t.Parallel()
	paths := project(t)
	s := start(t, paths, "plain")
	out, err := s.run("one\n/clear\ntwo\n/knots bowline\n/resume\n")
	require.NoError(t, err)
	assert.Contains(t, out, "You said: /knots bowline")
	all, err := s.app.Store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	var id string
	for _, r := range all {
		messages, err := s.app.Store.Messages(t.Context(), r.ID)
		require.NoError(t, err)
		assert.Contains(t, out, "  "+r.ID+"  ")
		if messages[0].Text() == "one" {
			id = r.ID
			assert.Len(t, messages, 2)
		} else {
			assert.Len(t, messages, 5, "two, its answer, the skill's line, the skill, the answer")
		}
	}
	// Another agent resumes it, which registers the first one.
	s = start(t, paths, "none")
	out, err = s.run("/resume " + strings.ToLower(id) + "\nthree\n/agents\n")
	require.NoError(t, err)
	assert.Contains(t, out, "plain (this one)")
	messages, err := s.app.Store.Messages(t.Context(), id)
	require.NoError(t, err)
	assert.Len(t, messages, 4)
}

func TestAnAgentWithoutTools(t *testing.T) {
	t.Parallel()
	out, err := start(t, project(t), "none").run("/tools\n")
	require.NoError(t, err)
	assert.Equal(t, "The agent has no tools.\n", out)
}

func TestTheEndOfTheContextEndsTheChat(t *testing.T) {
	t.Parallel()
	s := start(t, project(t), "plain")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, s.o) }()
	cancel(io.ErrUnexpectedEOF)
	require.ErrorIs(t, <-ended, io.ErrUnexpectedEOF)
	s.Interrupt() // nothing is waited for: it does nothing
}

func TestPick(t *testing.T) {
	t.Parallel()
	all := []talk.Entry{{ID: "01AB"}, {ID: "01AC"}, {ID: "02"}}
	r, err := pick(all, "02")
	require.NoError(t, err)
	assert.Equal(t, "02", r.ID)
	r, err = pick(all, "01ac")
	require.NoError(t, err)
	assert.Equal(t, "01AC", r.ID)
	_, err = pick(all, "01")
	require.EqualError(t, err, "the ids of 2 conversations begin with 01; type more of the id")
	_, err = pick(all, "3")
	require.EqualError(t, err, "there is no conversation 3; /resume lists the newest")
}

func TestTable(t *testing.T) {
	t.Parallel()
	var x table
	x.title("Things")
	x.row("日本", "a  text\nthat is rather long and is cut")
	x.row("longer", "")
	assert.Equal(t, []string{"Things:", "  日本    a text that is rather long…", "  longer"}, x.lines(38))
	assert.Equal(t, []string{"Things:", "  日本", "      a text that is rather long and is cut", "  longer"}, x.lines(20))
}
