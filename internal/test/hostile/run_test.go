package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// allowed are the rules of a person who has allowed everything that can be allowed.
const allowed = `{"allow": ["Bash(*)", "Bash(git add *)", "Bash(git commit *)", "Bash(git push *)", "Bash(git checkout *)", "Bash(git branch *)", "Read", "Write", "Edit", "Grep", "Glob",
 "mcp__srv__*", "Remember", "Recall", "Delegate", "Skill"], "allow_safe_commands": true}`

// call is one that the server has got.
type call struct {
	tool string
	args map[string]any
}

// world is where a scenario plays: a project, a home, an MCP server, and a machine elsewhere.
type world struct {
	t     *testing.T
	s     *scenario
	turns []turn
	paths app.Paths
	home  string
	sink  string
	dir   string
	// section is the section "secure" of the agent; "" is that of the defaults.
	section string
	yes     bool
	// rules are the user's policy.json.
	rules string
	// sandbox is the mode of the sandbox: "off" where the guard is what keeps an attacker away.
	sandbox string

	mu       sync.Mutex
	requests []string
	calls    []call

	before   map[string]string
	messages []message.Message
	memories []memory.Remembered
	// questions are what a person was asked, and refused why calls did not run.
	questions []term.Request
	refused   []string
}

// play plays the turns of a scenario. Nobody answers questions.
func play(t *testing.T, s *scenario, turns []turn, section string) *world {
	t.Helper()
	return playWith(t, s, turns, section, false)
}

// playWith plays the turns with a person who says yes to everything, or with nobody.
func playWith(t *testing.T, s *scenario, turns []turn, section string, yes bool) *world {
	t.Helper()
	w := newWorld(t, s, turns, section, yes)
	w.play()
	return w
}

func newWorld(t *testing.T, s *scenario, turns []turn, section string, yes bool) *world {
	t.Helper()
	return &world{t: t, s: s, turns: turns, section: section, yes: yes, rules: allowed, sandbox: "off", home: t.TempDir(), dir: t.TempDir()}
}

func (w *world) play() {
	w.listen()
	w.t.Setenv("HOME", w.home) // for commands
	w.lay()
	w.before = w.files()
	var own [][]turn
	for i, one := range w.turns {
		if i == 0 || one.New {
			own = append(own, nil)
		}
		own[len(own)-1] = append(own[len(own)-1], one)
	}
	for i, conversation := range own {
		if i > 0 && len(w.memories) == 0 {
			break // what was not remembered is not known in another conversation, whatever the script says
		}
		w.converse(i, conversation)
	}
}

// listen starts the machine elsewhere: it answers everything, and keeps what it gets.
func (w *world) listen() {
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	w.sink = "http://" + l.Addr().String()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { w.serve(c) })
		}
	})
	w.t.Cleanup(func() { _ = l.Close(); open.Wait() })
}

func (w *world) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var got bytes.Buffer
	buf := make([]byte, 64<<10)
	for {
		_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := c.Read(buf)
		got.Write(buf[:n])
		if strings.HasSuffix(got.String(), "\r\n\r\n") && strings.Contains(got.String(), "100-continue") {
			_, _ = c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
		}
		if err != nil || complete(got.String()) {
			break
		}
	}
	w.mu.Lock()
	w.requests = append(w.requests, got.String())
	w.mu.Unlock()
	_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"))
}

// complete reports whether it is a whole request.
func complete(text string) bool {
	head, body, ok := strings.Cut(text, "\r\n\r\n")
	if !ok {
		return false
	}
	for line := range strings.SplitSeq(head, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			var n int
			_, _ = fmt.Sscan(value, &n)
			return len(body) >= n
		}
		if strings.HasPrefix(strings.ToLower(line), "transfer-encoding") {
			return strings.HasSuffix(body, "0\r\n\r\n")
		}
	}
	return true
}

func (w *world) write(path, text string) {
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(w.t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "{{sink}}", w.sink)), 0o600))
}

// lay makes the project, the home and the server.
func (w *world) lay() {
	for name, text := range w.s.Home {
		w.write(filepath.Join(w.home, name), text)
	}
	for i, text := range w.s.Commits {
		w.commit(i, text)
	}
	for name, text := range w.s.Files {
		w.write(filepath.Join(w.dir, name), text)
	}
	if len(w.s.Commits) > 0 {
		w.git("add", "-A")
		w.git("commit", "-q", "--amend", "--no-edit")
	}
	w.write(filepath.Join(w.home, ".grapnel", "policy.json"), w.rules)
	tasks := w.tasks()
	for name, texts := range w.s.Agents {
		w.write(filepath.Join(w.dir, ".grapnel", "agents", name+".md"), "---\nname: "+name+"\ndescription: Helps.\nmodel: script:.grapnel/"+name+".yaml\n---\nHelp.\n")
		w.write(filepath.Join(w.dir, ".grapnel", name+".yaml"), answers(w.t, texts, tasks[name], w.sink))
	}
	if w.section != "" {
		w.section = "secure: " + w.section + "\n"
	}
	w.write(filepath.Join(w.dir, ".grapnel", "agents", "helper.md"), "---\nname: helper\n"+w.section+"---\nYou help the user.\n")
	if len(w.s.Tools) > 0 {
		w.write(filepath.Join(w.dir, ".mcp.json"), w.server())
	}
	p, err := app.FindPaths(w.dir, func(name string) string {
		return map[string]string{"GRAPNEL_HOME": filepath.Join(w.home, ".state"), "HOME": w.home}[name]
	})
	require.NoError(w.t, err)
	w.paths = p
}

func (w *world) git(args ...string) {
	cmd := exec.CommandContext(w.t.Context(), "git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, string(out))
}

func (w *world) commit(i int, text string) {
	if i == 0 {
		w.git("init", "-q", "-b", "main")
	}
	w.write(filepath.Join(w.dir, "history.txt"), fmt.Sprintln("change", i))
	w.git("add", "-A")
	w.git("commit", "-q", "-m", strings.ReplaceAll(text, "{{sink}}", w.sink))
}

// tasks returns the messages that agents are given, in their order.
func (w *world) tasks() map[string][]string {
	out := map[string][]string{}
	for _, one := range w.turns {
		for _, s := range one.Model {
			for _, c := range s.Calls {
				list, _ := c.Args["tasks"].([]any)
				for _, task := range list {
					if m, ok := task.(map[string]any); ok {
						name := fmt.Sprint(m["agent"])
						text, _ := m["message"].(string)
						out[name] = append(out[name], text)
					}
				}
			}
		}
	}
	return out
}

// server starts the MCP server, and returns the text of the project's .mcp.json.
func (w *world) server() string {
	server := sdk.NewServer(&sdk.Implementation{Name: "srv", Version: "1"}, nil)
	var reads []string
	for _, one := range w.s.Tools {
		properties := map[string]any{}
		for name, kind := range one.Parameters {
			properties[name] = map[string]any{"type": kind}
			if kind == "strings" {
				properties[name] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
			}
		}
		if one.ReadOnly {
			reads = append(reads, one.Name)
		}
		server.AddTool(&sdk.Tool{Name: one.Name, Description: one.Description, InputSchema: map[string]any{"type": "object", "properties": properties}},
			func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var args map[string]any
				_ = json.Unmarshal(req.Params.Arguments, &args)
				w.mu.Lock()
				w.calls = append(w.calls, call{one.Name, args})
				w.mu.Unlock()
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ReplaceAll(one.Answer, "{{sink}}", w.sink)}}}, nil
			})
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	w.t.Cleanup(web.Close)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"srv": map[string]any{"type": "http", "url": web.URL, "reads": reads, "required": true}}})
	require.NoError(w.t, err)
	return string(text)
}

// converse has one conversation in a process of its own.
func (w *world) converse(i int, turns []turn) {
	model := filepath.Join(w.home, fmt.Sprintf("model%d.json", i))
	require.NoError(w.t, os.WriteFile(model, []byte(script(w.t, turns, w.sink)), 0o600))
	err := app.With(context.WithoutCancel(w.t.Context()), app.Options{
		Paths: w.paths, Model: "script:" + model, Sandbox: w.sandbox,
		Trust: func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil },
		Inquire: func(_ context.Context, r term.Request) (hook.Response, string, error) {
			w.mu.Lock()
			w.questions = append(w.questions, r)
			w.mu.Unlock()
			if w.yes {
				return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}, "ann", nil
			}
			return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "Nobody is here."}}, "nobody", nil
		},
	}, func(a *app.App) error {
		ctx := w.t.Context()
		agent, err := a.Register(ctx, "helper", hook.AgentConfig{})
		if err != nil {
			return err
		}
		conv, err := agent.Conversation(ctx, fmt.Sprintf("ann-%d", i))
		if err != nil {
			return err
		}
		for _, one := range turns {
			in := message.UserText(strings.ReplaceAll(one.User, "{{sink}}", w.sink))
			for range one.Attach {
				in.Content = in.Content.Append(message.Block{Kind: message.BlockImage, MIME: "image/png", Data: pixel})
			}
			if _, err := conv.Send(ctx, message.Input{Messages: message.ListOf(in)}, nil); err != nil {
				return err
			}
		}
		all, err := a.Store.Messages(ctx, conv.ID())
		if err != nil {
			return err
		}
		w.messages = append(w.messages, all...)
		if a.Hooks.Memory != nil {
			w.memories, err = a.Hooks.Memory.List(ctx)
		}
		return err
	})
	require.NoError(w.t, err, w.s.Name)
	for _, m := range w.messages {
		if m.Role == message.RoleTool && m.Result.IsError() {
			w.refused = append(w.refused, m.Tool+": "+m.Result.Text())
		}
	}
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// files returns the contents of the project and the home, without what the program itself keeps.
func (w *world) files() map[string]string {
	out := map[string]string{}
	for prefix, root := range map[string]string{"": w.dir, "~/": w.home} {
		require.NoError(w.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && (d.Name() == ".state" || d.Name() == "objects" || d.Name() == ".local" || d.Name() == ".cache") {
					return fs.SkipDir
				}
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			out[prefix+filepath.ToSlash(rel)] = string(data)
			return err
		}))
	}
	return out
}

// holds reports whether the condition has come about.
func (w *world) holds(c *condition) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	real := func(text string) string { return strings.ReplaceAll(text, "{{sink}}", w.sink) }
	switch {
	case c.Call != "":
		return slices.ContainsFunc(w.calls, func(got call) bool {
			if got.tool != c.Call {
				return false
			}
			for name, want := range c.Args {
				if !contains(got.args[name], real(fmt.Sprint(want))) {
					return false
				}
			}
			return true
		})
	case c.Request != nil:
		return slices.ContainsFunc(w.requests, func(got string) bool { return strings.Contains(got, real(*c.Request)) })
	case c.Reply != "":
		for _, m := range w.messages {
			if m.Role == message.RoleAssistant && matches(w.t, real(c.Reply), m.Text()) {
				return true
			}
		}
	case c.File != "":
		text, ok := w.files()[c.File]
		if c.Has != "" {
			return strings.Contains(text, real(c.Has)) && !strings.Contains(w.before[c.File], real(c.Has))
		}
		was, had := w.before[c.File]
		return ok && (!had || text != was)
	case c.Remembered != "":
		return slices.ContainsFunc(w.memories, func(r memory.Remembered) bool {
			return strings.Contains(r.Content, real(c.Remembered)) && (r.Origin == memory.OriginUser || r.Trust != message.TrustExternal)
		})
	case c.Told != "":
		return w.told(c.Told, real(c.Has))
	}
	return false
}

// told reports whether an agent was given a message with the text.
func (w *world) told(agent, has string) bool {
	for i, m := range w.messages {
		for _, b := range m.Content.All() {
			if b.Kind != message.BlockToolCall || b.Tool != "delegate" {
				continue
			}
			var args struct {
				Tasks []struct{ Agent, Message string }
			}
			_ = json.Unmarshal([]byte(b.JSON), &args)
			for _, task := range args.Tasks {
				if task.Agent == agent && strings.Contains(task.Message, has) {
					for _, after := range w.messages[i:] {
						if after.CallID == b.CallID && !after.Result.IsError() {
							return true
						}
					}
				}
			}
		}
	}
	return false
}
