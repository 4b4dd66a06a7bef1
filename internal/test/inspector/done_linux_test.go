package inspector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
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
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// slowMooring talks for some seconds, then runs a command, and says what came of it.
func slowMooring() string {
	return `rules:
- when: {result: bash}
  pace: 20ms
  say: It is moored, and so is the dinghy.
- when: always
  pace: {wait: 300ms, delta: 60ms}
  say: ` + words() + `
  calls: [{tool: bash, args: {command: "printf moored >> moored.txt"}}]
`
}

// TestWatchedAtOnce: a conversation is begun with plain HTTP, and the page, `grapnel chat` and the Go client watch it at once. The daemon
// is killed in the middle and comes back; the approval is given in the page. Everybody has the whole reply, and once.
func TestWatchedAtOnce(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": slowMooring()}, "--sandbox", "off")
	address := s.address()
	var log record
	var id string
	var chat *chatter
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	k := &talked{s: s}
	s.play("watch", does{
		"token": s.token,
		"begin": func() (_ string, err error) {
			if id, err = s.plainly("POST", "/v1/conversations", `{"sender": "a sailor"}`, "id"); err != nil {
				return "", err
			}
			k.id = id
			log.add("begun")
			work.Go(func() { log.follow(ctx, client.New(s.socket, nil), id) })
			if _, err = s.plainly("POST", "/v1/conversations/"+id+"/messages", `{"text": "Moor the boat."}`, "id"); err != nil {
				return "", err
			}
			chat = s.chat("a sailor")
			chat.terminal.Type("/continue\r")
			chat.terminal.Until("chat follows the turn", func(text string) bool { return strings.Contains(text, "word-1 ") })
			return id, nil
		},
		"kill": func() (string, error) {
			s.kill()
			log.add("killed")
			return "", nil
		},
		"start": func() (string, error) {
			time.Sleep(time.Second) // so long it is away
			s.start(address)
			log.add("started")
			return "", nil
		},
		"ended": func() (string, error) {
			end, err := k.ended("It is moored, and so is the dinghy.")()
			log.add("ended")
			return end, err
		},
	})
	chat.terminal.Until("chat has the reply", func(text string) bool { return strings.Contains(text, "It is moored, and so is the dinghy.") })
	text := chat.terminal.Text()
	assert.Equal(t, 1, strings.Count(text, "It is moored, and so is the dinghy."), text)
	require.Eventually(t, func() bool { return log.has(string(event.TurnEnd)) }, time.Minute, 20*time.Millisecond, "the Go client does not see the end: %s", &log)
	t.Log(&log)
	log.inOrder(t, "begun", string(event.TurnStart), "killed", "started", "restarted", string(event.ApprovalAsked), string(event.ApprovalGiven), string(event.TurnEnd))
	assert.Equal(t, 1, log.count(string(event.TurnEnd)), "how often the turn ended")
	assert.Equal(t, 1, log.count(string(event.ApprovalGiven)), "how often it was approved")
	moored, err := os.ReadFile(filepath.Join(s.project, "moored.txt"))
	require.NoError(t, err)
	assert.Equal(t, "moored", string(moored), "the command ran once")
}

// token makes a token for the daemon, as a user does.
func (s *stage) token() (string, error) {
	path, err := program()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(s.t.Context(), path, "token", "create", "--scope", "read,converse,approve,administer", "browser")
	cmd.Dir, cmd.Env = s.project, s.env()
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// plainly sends a request as curl does, and returns a member of the answer; of a list that of its first item.
func (s *stage) plainly(method, path, body string, members ...string) (string, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://grapnel"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil || resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(data))
	}
	for _, member := range members {
		if list, ok := got.([]any); ok && len(list) > 0 {
			got = list[0]
		}
		of, _ := got.(map[string]any)
		got = of[member]
	}
	value, ok := got.(string)
	if !ok {
		return "", fmt.Errorf("no %v in %s", members, data)
	}
	return value, nil
}

// chatter is somebody at a terminal.
type chatter struct{ terminal *tty.Terminal }

// chat starts a conversation at a terminal with the daemon.
func (s *stage) chat(sender string) *chatter {
	s.t.Helper()
	path, err := program()
	require.NoError(s.t, err)
	w := tty.Open(s.t, 100, 60)
	cmd := exec.Command(path, "chat", "--socket", s.socket, "--sender", sender)
	cmd.Dir = s.project
	cmd.Env = append(s.env(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.TTY(), w.TTY(), w.TTY()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	w.Wait("\n>")
	return &chatter{w}
}

// record is what happened, in order, as the Go client saw it, with what the test did.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.lines); n == 0 || r.lines[n-1] != line {
		r.lines = append(r.lines, line)
	}
}

// follow adds the kinds of the conversation's events; those that come again and again count once.
func (r *record) follow(ctx context.Context, c *client.Client, id string) {
	for item, err := range c.Events(ctx, id, "") {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.add("error: " + err.Error())
		case item.Restarted:
			r.add("restarted")
		case item.Missed == 0:
			r.add(string(item.Event.Kind))
		}
	}
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, ", ")
}

func (r *record) count(line string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l == line {
			n++
		}
	}
	return n
}

func (r *record) has(line string) bool { return r.count(line) > 0 }

// inOrder asserts that the lines came one behind the other.
func (r *record) inOrder(t *testing.T, lines ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	at := 0
	for _, want := range lines {
		for at < len(r.lines) && r.lines[at] != want {
			at++
		}
		require.Less(t, at, len(r.lines), "there is no %q where it belongs in %v", want, r.lines)
	}
}
