package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

const serveModel = `
rules:
  - when: {user: {contains: write}, step: 1}
    calls: [{tool: write, args: {file_path: new.txt, content: some text}}]
  - when: {user: {contains: fail}, step: 1}
    calls: [{tool: read, args: {file_path: none.txt}}]
  - when: {user: {contains: wait}, step: 1}
    calls: [{tool: bash, args: {command: 'touch started; sleep 60'}}]
  - {when: {result: {failed: true}}, say: It failed.}
  - {when: {result: {failed: false}}, say: It worked.}
  - {when: {turn: 1}, say: This is turn one.}
  - {when: {turn: 2}, say: This is turn two.}
  - {when: always, say: This is a later turn.}
`

// site is a project with a daemon of its own.
type site struct {
	t      testing.TB
	dir    string
	args   []string // of serve, besides
	client *client.Client
	out    *bufio.Reader // of serve
	early  []string      // lines of out before the one that says that it serves
	stop   context.CancelFunc
	ended  chan error
}

// shortDir makes a directory whose path, unlike that of t.TempDir, leaves room for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func newSite(t testing.TB) *site {
	t.Helper()
	dir := shortDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "project"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.yaml"), []byte(serveModel), 0o600))
	s := &site{t: t, dir: dir}
	s.client = client.New(s.socket(), &client.Options{Wait: time.Millisecond})
	return s
}

func (s *site) socket() string { return filepath.Join(s.dir, "state", "run", "grapnel.sock") }

func (s *site) getenv(name string) string {
	if name == "GRAPNEL_HOME" {
		return filepath.Join(s.dir, "state")
	}
	return ""
}

// start serves in this process and returns when the daemon says that it does.
func (s *site) start() {
	t := s.t
	r, w, err := os.Pipe()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan error, 1)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	c := newCommand(null, w, w, s.getenv)
	go func() {
		root := c.root()
		root.SetArgs(append([]string{"serve", "--dir", filepath.Join(s.dir, "project"), "--model", "script:" + filepath.Join(s.dir, "model.yaml")}, s.args...))
		err := root.ExecuteContext(ctx)
		_, _ = null.Close(), w.Close()
		s.ended <- err
	}()
	s.out = bufio.NewReader(r)
	for { // agents are registered in the background, and may be noted before
		line, err := s.out.ReadString('\n')
		require.NoError(t, err, "%q", s.early)
		if strings.HasPrefix(line, "grapnel: serving ") {
			break
		}
		s.early = append(s.early, line)
	}
	t.Cleanup(func() {
		s.end()
		_ = r.Close()
	})
}

// line returns the next line that serve says, but for the one that it serves.
func (s *site) line() string {
	s.t.Helper()
	if len(s.early) > 0 {
		first := s.early[0]
		s.early = s.early[1:]
		return first
	}
	line, err := s.out.ReadString('\n')
	require.NoError(s.t, err)
	return line
}

func (s *site) end() {
	s.stop()
	if s.ended != nil {
		assert.NoError(s.t, <-s.ended)
		s.ended = nil
	}
}

// turn runs a turn; asked answers what has to be approved.
func (s *site) turn(conv, text string, asked *wire.Answer) (events []hook.Event) {
	s.t.Helper()
	ctx := s.t.Context()
	turn, err := s.client.Send(ctx, conv, text)
	require.NoError(s.t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(s.t, err)
		events = append(events, item.Event)
		if item.Event.Kind == event.ApprovalAsked {
			asks, err := s.client.Asks(ctx, conv)
			require.NoError(s.t, err)
			for _, ask := range asks { // none if a remembered answer holds
				require.NoError(s.t, s.client.Answer(ctx, ask.ID, *asked))
			}
		}
	}
	return events
}

// TestServe drives the daemon with all its subsystems as a client.
func TestServe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.args = []string{"--sandbox", "off"} // else a command would not be asked about
	s.start()
	ctx := t.Context()
	conv, err := s.client.Conversation(ctx, "", "ann")
	require.NoError(t, err)
	assert.Equal(t, "grapnel", conv.Agent)
	final := func(events []hook.Event) string { return events[len(events)-1].Text }

	const forever = 1 << 30
	steady, resumed := s.subscribe(conv, forever, forever), s.subscribe(conv, 7, 6)
	assert.Equal(t, "This is turn one.", final(s.turn(conv.ID, "hello", nil)))
	assert.Equal(t, "This is turn two.", final(s.turn(conv.ID, "hello again", nil)))
	file := filepath.Join(s.dir, "project", "new.txt")
	assert.Equal(t, "It failed.", final(s.turn(conv.ID, "write", &wire.Answer{Answer: wire.AnswerRefuse})))
	assert.NoFileExists(t, file)
	assert.Equal(t, "It worked.", final(s.turn(conv.ID, "write", &wire.Answer{Answer: wire.AnswerApprove})))
	assert.FileExists(t, file)
	failed := s.turn(conv.ID, "fail", nil)
	assert.Equal(t, "It failed.", final(failed))
	var results []hook.Event
	for _, ev := range failed {
		if ev.Kind == event.CallResult {
			results = append(results, ev)
		}
	}
	require.Len(t, results, 1)
	assert.True(t, results[0].Detail().Result.IsError())

	turn, err := s.client.Send(ctx, conv.ID, "wait")
	require.NoError(t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ApprovalAsked {
			_, err := s.client.Cancel(ctx, conv.ID)
			require.NoError(t, err)
		}
		if item.Event.Kind == event.TurnEnd {
			assert.Equal(t, hook.StopCancelled, item.Event.Detail().Stop)
		}
	}

	// A client between two connections misses the end of the daemon.
	second := resumed()
	s.end()
	first := steady()
	assert.Greater(t, len(first), 30)
	assert.Equal(t, first, second, "a subscriber that came back again and again has the same")
	for i, seq := range first {
		require.Equal(t, uint64(i+1), seq)
	}
	_, err = s.client.Health(ctx)
	require.ErrorIs(t, err, client.ErrNotRunning)
	s.start()
	assert.Equal(t, "This is a later turn.", final(s.turn(conv.ID, "and now?", nil)))
	now, err := s.client.ConversationByID(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, 7, now.Turns)
	tools, err := s.client.Tools(ctx, "")
	require.NoError(t, err)
	assert.Greater(t, len(tools), 5)
}

// subscribe follows the conversation for so many turns or to the daemon's end,
// with a new connection after every so many events, and returns the sequences it
// has seen, or was told that it has missed: deltas are not kept for who is slow.
func (s *site) subscribe(conv wire.Conversation, each, turns int) (wait func() []uint64) {
	var seen []uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		ended := 0
		for at := conv.LastEventID; ; {
			n := 0
			for item, err := range s.client.Events(s.t.Context(), conv.ID, at) {
				if err != nil {
					assert.ErrorIs(s.t, err, client.ErrClosed)
					return
				}
				at = item.ID
				if item.Missed > 0 {
					assert.True(s.t, item.Kept)
					for range item.Missed {
						seen = append(seen, uint64(len(seen)+1))
					}
					continue
				}
				seen = append(seen, item.Event.Seq)
				if item.Event.Kind == event.TurnEnd {
					ended++
				}
				if ended == turns {
					return
				}
				if n++; n == each {
					break
				}
			}
		}
	})
	return func() []uint64 { wg.Wait(); return seen }
}

// child starts a daemon as a process of its own and returns when it serves.
func (s *site) child() (cmd *exec.Cmd, out *bufio.Reader) {
	t := s.t
	cmd = s.program(append([]string{"serve", "--dir", filepath.Join(s.dir, "project"), "--model", "script:" + filepath.Join(s.dir, "model.yaml")}, s.args...)...)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	out = bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "grapnel: serving "))
	return cmd, out
}

// program is this program, with the state of the site.
func (s *site) program(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "grapnel", args...)
	cmd.Dir = filepath.Join(s.dir, "project")
	cmd.Env = append(os.Environ(), "GRAPNEL_HOME="+s.getenv("GRAPNEL_HOME"), "XDG_RUNTIME_DIR=")
	return cmd
}

// TestServeAfterKill: a daemon that was killed leaves its socket, which the next
// one replaces.
func TestServeAfterKill(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd, out := s.child()
	conv, err := s.client.Conversation(t.Context(), "", "ann")
	require.NoError(t, err)
	s.turn(conv.ID, "hello", nil)
	require.NoError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	require.Error(t, cmd.Wait())
	assert.FileExists(t, s.client.Address())
	_, err = s.client.Health(t.Context())
	require.ErrorIs(t, err, client.ErrNotRunning)
	s.start()
	events := s.turn(conv.ID, "hello", nil)
	assert.Equal(t, "This is turn two.", events[len(events)-1].Text)
}

// TestServeSignals: after a signal while a turn waits for an answer, the daemon waits for
// that answer and ends with 0; a second signal ends it at once.
func TestServeSignals(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		s := newSite(t)
		cmd, out := s.child()
		ctx := t.Context()
		conv, err := s.client.Conversation(ctx, "", "ann")
		require.NoError(t, err)
		turn, err := s.client.Send(ctx, conv.ID, "write")
		require.NoError(t, err)
		for item, err := range s.client.Follow(ctx, turn) {
			if again && err != nil {
				break // with the daemon the stream is gone
			}
			require.NoError(t, err)
			if item.Event.Kind != event.ApprovalAsked {
				continue
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			for status := wire.StatusOK; status != wire.StatusClosing; {
				health, err := s.client.Health(ctx)
				require.NoError(t, err)
				status = health.Status
			}
			if again {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				continue
			}
			asks, err := s.client.Asks(ctx, conv.ID)
			require.NoError(t, err)
			require.NoError(t, s.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove}))
		}
		_, _ = io.Copy(io.Discard, out)
		err = cmd.Wait()
		if again {
			require.ErrorContains(t, err, "terminated")
			continue
		}
		require.NoError(t, err)
		assert.NoFileExists(t, s.client.Address())
		assert.FileExists(t, filepath.Join(s.dir, "project", "new.txt"))
	}
}

// TestEventsAndConversations: what the two commands show of a daemon.
func TestEventsAndConversations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start()
	ctx := t.Context()
	conv, err := s.client.Conversation(ctx, "", "ann")
	require.NoError(t, err)
	s.turn(conv.ID, "write", &wire.Answer{Answer: wire.AnswerRefuse, Reason: "not today"})

	shown := func(args ...string) string { return s.shown(ctx, nil, args...) }
	assert.Equal(t, "user: write\nassistant: → write  file_path=new.txt content=some text\n"+
		"write: ✗ denied: not today\nassistant: It failed.\n", shown("conversations", "--socket", s.client.Address(), conv.ID))
	assert.Contains(t, shown("conversations", "--socket", s.client.Address(), "--json"), `"sender": "ann"`)
	assert.Contains(t, shown("conversations", "--socket", s.client.Address(), "--json", conv.ID), `"role": "assistant"`)

	out := s.shown(ctx, s.end, "events", "--socket", s.socket(), "--after", conv.LastEventID, conv.ID)
	for _, want := range []string{
		" turn_start write\n", " call_start write file_path=new.txt content=some text\n", " approval_asked write it may change or delete things\n",
		" approval_given write refuse not today\n", " call_result write denied ", " turn_end completed It failed.\n", "note: the daemon has ended\n",
	} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "text_delta")

	t.Log("a reader that was there before the daemon was started again")
	s.start()
	s.turn(conv.ID, "hello", nil)
	ctx, cancel := context.WithCancel(ctx)
	out = s.shown(ctx, cancel, "events", "--socket", s.socket(), "--json", "--after", conv.LastEventID, conv.ID)
	assert.NotContains(t, out, "note:", "nothing of it is lost")
	assert.Contains(t, out, `{"seq":1,"kind":"turn_start",`, "what was kept is told again")
	assert.NotContains(t, out, `{"seq":13,`, "of deltas only those that are still held")
}

// TestAskShowsAWholeLongAnswer: the event of the end has a part of it only.
func TestAskShowsAWholeLongAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	long := strings.Repeat("0123456789", 30_000)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "model.yaml"), []byte("rules:\n  - {when: always, say: \""+long+"\"}\n"), 0o600))
	s.start()
	lines := strings.Split(strings.TrimSpace(s.shown(t.Context(), nil, "ask", "--socket", s.socket(), "--json", "tell")), "\n")
	var outcome struct{ Kind, Text string }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &outcome))
	assert.Equal(t, "outcome", outcome.Kind)
	assert.True(t, long == outcome.Text, "the outcome has the whole answer, and not %d bytes of it", len(outcome.Text))
	assert.Contains(t, lines[len(lines)-2], `"omitted":200000`)
	assert.Contains(t, s.shown(t.Context(), nil, "ask", "--socket", s.socket(), "tell"), long, "printed from the deltas")
}

// shown runs a command in this process and returns what it shows. A turn_end in
// it calls stop, because some commands would follow for ever.
func (s *site) shown(ctx context.Context, stop func(), args ...string) string {
	t := s.t
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := newCommand(os.Stdin, w, w, s.getenv)
	root := c.root()
	root.SetArgs(args)
	ctx, over := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		over() // so that nothing watches the output, which keeps it open
		_ = w.Close()
		ended <- err
	}()
	lines := bufio.NewReader(r)
	var out strings.Builder
	for {
		line, err := lines.ReadString('\n')
		out.WriteString(line)
		if err != nil {
			break
		}
		if stop != nil && strings.Contains(line, "turn_end") {
			stop()
		}
	}
	require.NoError(t, <-ended)
	require.NoError(t, r.Close())
	return out.String()
}
