package approval_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// offered are the ids and texts that come with an ask of the call.
func offered(t *testing.T, o approval.Options, tool message.Tool, args message.JSON) []string {
	t.Helper()
	p := says(no)
	verdict(t, approval.New(&o), newPlace(p, "helper", "conv").call(tool, args))
	require.Len(t, p.asked, 1)
	var out []string
	for _, offer := range p.asked[0].Offers.All() {
		out = append(out, offer.ID+": "+offer.Text)
	}
	return out
}

// TestOffers: what can be remembered says all that it will cover.
func TestOffers(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(project, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(project, "link")))
	lasting := approval.Options{Store: approval.Dir(t.TempDir()), Project: project}
	exactly := func(tool string) []string {
		return []string{
			"call-conversation: exactly this call of " + tool + ", in this conversation and the tasks that it hands out",
			"call-agent: exactly this call of " + tool + ", by the agent helper in this project, until it is forgotten",
			"call-project: exactly this call of " + tool + ", by every agent in this project, until it is forgotten",
		}
	}
	scoped := func(kind, text string) []string {
		return []string{
			kind + "-conversation: " + text + ", in this conversation and the tasks that it hands out",
			kind + "-agent: " + text + ", by the agent helper in this project, until it is forgotten",
			kind + "-project: " + text + ", by every agent in this project, until it is forgotten",
		}
	}
	this := func(file string) []string {
		return append(exactly("write"), scoped("file", "any call of write for the file "+file+", whatever it writes")...)
	}
	below := func(folder, file string) []string {
		return append(this(file), scoped("folder", "any call of write for any file below the folder "+folder+
			" and its folders, build files and scripts included, hidden files and links excepted, whatever it writes")...)
	}
	noted := func(t message.Tool, a message.Annotations) message.Tool { t.Annotations = a; return t }
	for name, tt := range map[string]struct {
		o    approval.Options
		tool message.Tool
		args message.JSON
		want []string
	}{
		"a command":                         {lasting, bash, `{"command":"ls"}`, exactly("bash")},
		"a command that is harmless":        {lasting, noted(bash, message.Annotations{}), `{"command":"ls"}`, exactly("bash")},
		"a tool that destroys":              {lasting, noted(lookup, message.Annotations{Destructive: true}), `{"q":"x"}`, exactly("lookup")},
		"a tool that looks something up":    {approval.Options{}, lookup, `{"q":"x"}`, []string{exactly("lookup")[0], "tool-conversation: any call of lookup, whatever its arguments, in this conversation and the tasks that it hands out"}},
		"a file":                            {lasting, write, file("a/b/c.go"), below("a/b", "a/b/c.go")},
		"a file by its whole path":          {lasting, write, file(filepath.Join(project, "a/c.go")), below("a", "a/c.go")},
		"a file in the project's root":      {lasting, write, file("c.go"), this("c.go")},
		"a folder of an odd name":           {lasting, write, file("a, b/c.go"), below(`"a, b"`, `"a, b/c.go"`)},
		"a folder that turns the text":      {lasting, write, file("a\u202eb/c.go"), below(`"a\u202eb"`, `"a\u202eb/c.go"`)},
		"a file outside":                    {lasting, write, file("../c.go"), exactly("write")},
		"a file elsewhere":                  {lasting, write, file("/etc/passwd"), exactly("write")},
		"a file that only looks below":      {lasting, write, file("a/../../c.go"), exactly("write")},
		"a path that is not clean":          {lasting, write, file("a//c.go"), exactly("write")},
		"a hidden file":                     {lasting, write, file(".envrc"), exactly("write")},
		"a hidden folder":                   {lasting, write, file("a/.git/hooks/pre-commit"), exactly("write")},
		"a link to a folder":                {lasting, write, file("link/c.go"), exactly("write")},
		"a file and another place":          {lasting, write, `{"file_path":"a","to":"b"}`, exactly("write")},
		"a file that reaches out":           {lasting, noted(write, message.Annotations{Destructive: true, OpenWorld: true}), file("a/c.go"), exactly("write")},
		"a file that is no text":            {lasting, write, `{"file_path":1}`, exactly("write")},
		"without a project":                 {approval.Options{Store: approval.Dir(t.TempDir())}, write, file("a/c.go"), exactly("write")[:1]},
		"without a directory":               {approval.Options{}, bash, `{"command":"ls"}`, exactly("bash")[:1]},
		"arguments too long to be read":     {lasting, bash, message.JSON(`{"command":"` + strings.Repeat("x", 64<<10) + `"}`), nil},
		"arguments that are no JSON at all": {lasting, bash, "{", exactly("bash")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, offered(t, tt.o, tt.tool, tt.args))
		})
	}
}

// TestRulesCoverWhatTheySay: one answer is remembered, and then other calls are
// made.
func TestRulesCoverWhatTheySay(t *testing.T) {
	t.Parallel()
	other := write
	other.Input = `{"type":"object","properties":{}}`
	tame := bash
	tame.Annotations = message.Annotations{}
	told := bash
	told.Description = "Runs a command as root."
	for _, tt := range []struct {
		name     string
		remember string
		first    func(p *place) *hook.ToolCall
		then     func(p *place) *hook.ToolCall
		covered  bool
	}{
		{"the same", "call-conversation", ls, ls, true},
		{"one blank more", "call-conversation", ls, calling(bash, `{"command":"ls "}`), false},
		{"something behind it", "call-project", ls, calling(bash, `{"command":"ls; rm -rf /"}`), false},
		{"one argument more", "call-project", ls, calling(bash, `{"command":"ls","timeout":1}`), false},
		{"another tool of that name", "call-project", ls, calling(tame, `{"command":"ls"}`), false},
		{"a tool that tells something else", "call-project", ls, calling(told, `{"command":"ls"}`), false},
		{"by a child", "call-conversation", ls, func(p *place) *hook.ToolCall { return p.child("reader", bash, `{"command":"ls"}`) }, true},
		{"by a child, which is another agent", "call-agent", ls, func(p *place) *hook.ToolCall { return p.child("reader", bash, `{"command":"ls"}`) }, false},
		{"by any agent", "call-project", ls, func(p *place) *hook.ToolCall { return p.child("reader", bash, `{"command":"ls"}`) }, true},
		{"another file", "folder-conversation", calling(write, file("a/b.go")), calling(write, file("a/c.go")), true},
		{"a file further down", "folder-agent", calling(write, file("a/b.go")), calling(write, file("a/x/y/c.go")), true},
		{"a file beside", "folder-project", calling(write, file("a/b.go")), calling(write, file("ab/c.go")), false},
		{"a file above", "folder-project", calling(write, file("a/b.go")), calling(write, file("c.go")), false},
		{"a file that climbs out", "folder-project", calling(write, file("a/b.go")), calling(write, file("a/../c.go")), false},
		{"a hidden file", "folder-project", calling(write, file("a/b.go")), calling(write, file("a/.git/hooks/x")), false},
		{"a file outside", "folder-project", calling(write, file("a/b.go")), calling(write, file("../c.go")), false},
		{"a link below", "folder-project", calling(write, file("a/b.go")), calling(write, file("a/link/pre-commit")), false},
		{"a file that is a link", "folder-project", calling(write, file("a/b.go")), calling(write, file("a/linked")), false},
		{"a tool that takes something else", "folder-project", calling(write, file("a/b.go")), calling(other, file("a/b.go")), false},
		{"the same file", "file-project", calling(write, file("b.go")), calling(write, `{"content":"other","file_path":"b.go"}`), true},
		{"the same file by its whole path", "file-agent", calling(write, file("b.go")), func(p *place) *hook.ToolCall {
			return p.call(write, file(filepath.Join(p.project, "b.go")))
		}, true},
		{"a file in the same root", "file-conversation", calling(write, file("b.go")), calling(write, file("Makefile")), false},
		{"a file of that name below", "file-project", calling(write, file("b.go")), calling(write, file("a/b.go")), false},
		{"a file below one of that name", "file-project", calling(write, file("b")), calling(write, file("b/c")), false},
		{"the file once it is a link", "file-project", calling(write, file("b.go")), func(p *place) *hook.ToolCall {
			assert.NoError(p.t, os.Symlink("Makefile", filepath.Join(p.project, "b.go")))
			return p.call(write, file("b.go"))
		}, false},
		{"whatever the arguments", "tool-project", calling(lookup, `{"q":"x"}`), calling(lookup, `{"q":"y"}`), true},
		{"unless it is a command", "tool-project", calling(lookup, `{"q":"x"}`), calling(lookup, `{"command":"y"}`), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			project := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(project, ".git", "hooks"), 0o700))
			require.NoError(t, os.Mkdir(filepath.Join(project, "a"), 0o700))
			require.NoError(t, os.Symlink(filepath.Join("..", ".git", "hooks"), filepath.Join(project, "a", "link")))
			require.NoError(t, os.Symlink(filepath.Join("..", ".git", "config"), filepath.Join(project, "a", "linked")))
			for _, said := range []hook.ApprovalReply{yes, no} {
				p := says(remembering(said, tt.remember))
				where := newPlace(p, "helper", "conv")
				where.t, where.project = t, project
				_ = os.Remove(filepath.Join(project, "b.go"))
				a := approval.New(&approval.Options{Store: approval.Dir(t.TempDir()), Project: project})
				require.Equal(t, said.Answer, verdict(t, a, tt.first(where)).Kind)
				p.answer = func(context.Context, hook.ApprovalRequest) (hook.ApprovalReply, error) {
					return hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "asked"}, nil
				}
				v := verdict(t, a, tt.then(where))
				assert.Equal(t, tt.covered, v.By == "rule", "%+v", v)
				if tt.covered {
					assert.Equal(t, said.Answer, v.Kind)
				}
			}
		})
	}
}

var ls = calling(bash, `{"command":"ls"}`)

func calling(tool message.Tool, args message.JSON) func(p *place) *hook.ToolCall {
	return func(p *place) *hook.ToolCall { return p.call(tool, args) }
}

// TestTheWholeProjectIsOfferedNoMore: an answer that was remembered while it was still
// offered holds, for what its sentence says.
func TestTheWholeProjectIsOfferedNoMore(t *testing.T) {
	t.Parallel()
	for _, said := range []hook.ApprovalReply{yes, no} {
		dir, project, p := t.TempDir(), t.TempDir(), says(remembering(said, "folder-project"))
		where := newPlace(p, "helper", "conv")
		a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: project})
		verdict(t, a, where.call(write, file("a/b.go")))
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		data, err := os.ReadFile(names[0])
		require.NoError(t, err)
		var c struct {
			What    string `json:"what"`
			Scope   string `json:"scope"`
			Project string `json:"project"`
			Tool    string `json:"tool"`
			Shape   string `json:"shape"`
			Reason  string `json:"reason"`
			Folder  string `json:"folder"`
		}
		require.NoError(t, json.Unmarshal(data, &c))
		require.Equal(t, "a", c.Folder)
		c.Folder = "."
		key, err := json.Marshal(c)
		require.NoError(t, err)
		sum := sha256.Sum256(key)
		before := strings.Replace(string(data), `"folder": "a"`, `"folder": "."`, 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "write-"+hex.EncodeToString(sum[:16])+".json"), []byte(before), 0o600))
		require.NoError(t, os.Remove(names[0]))
		p.answer = func(context.Context, hook.ApprovalRequest) (hook.ApprovalReply, error) {
			return hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "asked"}, nil
		}
		for name, covered := range map[string]bool{"Makefile": true, "x/y/z.go": true, ".envrc": false, "../z.go": false} {
			v := verdict(t, a, where.call(write, file(name)))
			assert.Equal(t, covered, v.By == "rule" && v.Kind == said.Answer, "%s: %+v", name, v)
		}
	}
}

// TestAnAnswerIsToItsQuestion: another reason is another question.
func TestAnAnswerIsToItsQuestion(t *testing.T) {
	t.Parallel()
	p := says(remembering(yes, "call-conversation"))
	a, call := approval.New(nil), newPlace(p, "helper", "conv").call(bash, `{"command":"cat key"}`)
	for i, reason := range []string{"it may change things", "it may change things", "there is a secret in it", "there is a secret in it"} {
		_, err := a.Approve(t.Context(), call, hook.AskTool(reason))
		require.NoError(t, err)
		assert.Equal(t, i/2+1, p.count(), "%d", i)
	}
}

// TestRefusalsWin: over approvals, whichever is older, narrower or wider.
func TestRefusalsWin(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]string{{"call-conversation", "call-project"}, {"call-project", "call-conversation"}, {"folder-agent", "call-agent"}, {"call-agent", "folder-agent"}} {
		p := says(yes)
		where := newPlace(p, "helper", "conv")
		a := approval.New(&approval.Options{Store: approval.Dir(t.TempDir()), Project: t.TempDir()})
		call := where.call(write, file("a/b.go"))
		answers := []hook.ApprovalReply{
			remembering(yes, order[0]),
			{Answer: hook.AnswerRefuse, Reason: "never", Remember: order[1]},
		}
		// Both are given to asks that are under way at once: later there is a rule.
		both := make(chan struct{})
		p.answer = func(_ context.Context, r hook.ApprovalRequest) (hook.ApprovalReply, error) {
			<-both
			return answers[len(r.CallID)-1], nil
		}
		done := make(chan struct{})
		for _, id := range []string{"x", "xx"} {
			go func() {
				d := hook.ToolCallData{Step: call.Step(), ID: id, Tool: call.Tool(), Args: call.Args()}
				_, err := a.Approve(t.Context(), hook.NewToolCall(d), because)
				assert.NoError(t, err)
				done <- struct{}{}
			}()
		}
		require.Eventually(t, func() bool { return p.count() == 2 }, time.Minute, time.Millisecond)
		close(both)
		<-done
		<-done
		assert.Equal(t, hook.Verdict{Kind: hook.AnswerRefuse, Reason: "never", By: "rule"}, verdict(t, a, call), "%v", order)
	}
}

// TestRulesLast: in files, for every process of the project, until they are deleted.
func TestRulesLast(t *testing.T) {
	t.Parallel()
	dir, project := filepath.Join(t.TempDir(), "approvals"), t.TempDir()
	open := func(project string, reply hook.ApprovalReply) (*approval.Approval, *people) {
		return approval.New(&approval.Options{Store: approval.Dir(dir), Project: project}), says(reply)
	}
	call := func(p *people) *hook.ToolCall {
		return newPlace(p, "helper", "conv").call(bash, `{"command":"echo \u003c'ü'>"}`)
	}
	first, agrees := open(project, remembering(yes, "call-agent"))
	beside, asked := open(project, no) // another process, which is there already
	verdict(t, first, call(agrees))
	assert.Equal(t, hook.Verdict{Kind: hook.AnswerApprove, By: "rule"}, verdict(t, beside, call(asked)))
	assert.Zero(t, asked.count())
	elsewhere, asked := open(t.TempDir(), no)
	verdict(t, elsewhere, call(asked))
	assert.Equal(t, 1, asked.count(), "another project")

	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, names, 1, "and nothing is left over of the writing")
	assert.Regexp(t, `^bash-[0-9a-f]{32}\.json$`, filepath.Base(names[0]))
	for name, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, names[0]: 0o600} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), name)
	}
	data, err := os.ReadFile(names[0])
	require.NoError(t, err)
	var shown map[string]any
	require.NoError(t, json.Unmarshal(data, &shown))
	assert.Contains(t, shown, "since")
	assert.Contains(t, shown, "shape")
	delete(shown, "since")
	delete(shown, "shape")
	assert.Equal(t, map[string]any{
		"text": "exactly this call of bash, by the agent helper in this project, until it is forgotten", "answer": "approve", "by": "ann",
		"what": "call", "scope": "agent", "agent": "helper", "project": project, "tool": "bash", "reason": "it may change things",
		"args": `{"command":"echo \u003c'ü'>"}`,
	}, shown)

	require.NoError(t, os.Remove(names[0]))
	assert.Equal(t, "ann", verdict(t, beside, call(says(yes))).By, "what is deleted is forgotten at once")
}

// TestRulesThatCannotBeUsed answer nothing, and it is told why.
func TestRulesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(data string) string{
		"empty":              func(string) string { return "" },
		"cut off":            func(data string) string { return data[:len(data)/2] },
		"another command":    func(data string) string { return strings.Replace(data, `\"ls\"`, `\"rm\"`, 1) },
		"another project":    func(data string) string { return strings.Replace(data, `"project": "`, `"project": "/x`, 1) },
		"no answer":          func(data string) string { return strings.Replace(data, `"approve"`, `"stop"`, 1) },
		"a rule for no call": func(string) string { return `{"answer":"approve"}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, p := t.TempDir(), says(remembering(yes, "call-project"))
			where := newPlace(p, "helper", "conv")
			a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: t.TempDir()})
			verdict(t, a, ls(where))
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			data, err := os.ReadFile(names[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(names[0], []byte(damage(string(data))), 0o600))
			p.answer = says(no).answer
			assert.Equal(t, hook.AnswerRefuse, verdict(t, a, ls(where)).Kind)
			assert.Equal(t, 2, p.count(), "a person is asked")
			events := where.host.Events()
			require.Len(t, events, 1)
			assert.Equal(t, event.Diagnostic, events[0].Kind)
			assert.Contains(t, events[0].Text, "a remembered answer cannot be used: "+names[0])
			assert.Contains(t, events[0].Text, "delete the file to forget it")
		})
	}
}

// TestRulesThatCannotBeWritten: the answer counts, once.
func TestRulesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a file")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	p := says(remembering(yes, "call-project"))
	where := newPlace(p, "helper", "conv")
	a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: t.TempDir()})
	for i := range 2 {
		assert.Equal(t, "ann", verdict(t, a, ls(where)).By)
		assert.Equal(t, i+1, p.count())
	}
	assert.Contains(t, where.host.Kinds(), event.Diagnostic)
	assert.Contains(t, where.host.Events()[len(where.host.Events())-1].Text, "the answer counts, but could not be remembered: ")
}

// TestRulesAgainstAnOracle: random calls are asked about, some answers are
// remembered, and whatever is answered by a rule has to be covered by what a person
// was shown, word for word.
func TestRulesAgainstAnOracle(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	n := 0
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		project := filepath.Join(dir, "project")
		if err := os.MkdirAll(filepath.Join(project, "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("..", filepath.Join(project, "a", "up")); err != nil {
			t.Fatal(err)
		}
		type shown struct {
			text, tool, args, reason, agent, conversation string
			approved                                      bool
		}
		var kept []shown
		var now shown
		asked := false
		p := &people{}
		p.answer = func(_ context.Context, r hook.ApprovalRequest) (hook.ApprovalReply, error) {
			asked = true
			offers := r.Offers.Slice()
			reply := hook.ApprovalReply{Answer: rapid.SampledFrom([]hook.Answer{hook.AnswerApprove, hook.AnswerRefuse}).Draw(t, "answer")}
			if i := rapid.IntRange(-1, len(offers)-1).Draw(t, "remember"); i >= 0 {
				reply.Remember, now.text, now.approved = offers[i].ID, offers[i].Text, reply.Answer == hook.AnswerApprove
				kept = append(kept, now)
			}
			return reply, nil
		}
		a := approval.New(&approval.Options{Store: approval.Dir(filepath.Join(dir, "rules")), Project: project})
		places := map[string]*place{}
		for _, agent := range []string{"a1", "a2"} {
			for _, conv := range []string{"c1", "c2"} {
				places[agent+conv] = newPlace(p, agent, agent+conv)
			}
		}
		for range rapid.IntRange(2, 25).Draw(t, "calls") {
			tool := rapid.SampledFrom([]message.Tool{bash, write, lookup}).Draw(t, "tool")
			args := rapid.SampledFrom(map[string][]message.JSON{
				"bash": {`{"command":"ls"}`, `{"command":"ls;rm"}`}, "lookup": {`{"q":"x"}`, `{"q":"y"}`, `{"command":"x"}`},
				"write": {file("b"), file("Makefile"), file("a/b"), file("a/c/d"), file("ab/c"), file("a/.b"), file("a/../b"), file("../b"), file("a/up/b"), file("a/up")},
			}[tool.Name]).Draw(t, "args")
			agent, conv := rapid.SampledFrom([]string{"a1", "a2"}).Draw(t, "agent"), rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "conversation")
			conv = agent + conv // a conversation is with one agent
			now = shown{tool: tool.Name, args: string(args), reason: rapid.SampledFrom([]string{"one", "two"}).Draw(t, "reason"), agent: agent, conversation: conv}
			call := now
			asked = false
			before := len(kept)
			d, err := a.Approve(context.Background(), places[conv].call(tool, args), hook.AskTool(now.reason))
			if err != nil {
				t.Fatal(err)
			}
			want := "" // what the rules say
			for _, k := range kept[:before] {
				if covers(k.text, k.tool, k.args, k.agent, k.conversation, call.tool, call.args, call.agent, call.conversation) && k.reason == call.reason {
					said := "refuse"
					if k.approved {
						said = "approve"
					}
					if want != "refuse" {
						want = said
					}
				}
			}
			if asked != (want == "") {
				t.Fatalf("asked %t, but the rules say %q of %+v", asked, want, call)
			}
			if want != "" && string(d.Verdict().Kind) != want {
				t.Fatalf("got %v, the rules say %q of %+v", d.Verdict(), want, call)
			}
		}
	})
}

// covers reads a text as a person does.
func covers(text, tool, args, agent, conversation, otherTool, otherArgs, otherAgent, otherConversation string) bool {
	switch {
	case tool != otherTool:
		return false
	case strings.HasSuffix(text, ", in this conversation and the tasks that it hands out"):
		if conversation != otherConversation {
			return false
		}
	case strings.Contains(text, "by the agent "+agent+" in this project"):
		if agent != otherAgent {
			return false
		}
	case !strings.Contains(text, "by every agent in this project"):
		panic(text)
	}
	if strings.HasPrefix(text, "exactly this call of ") {
		return args == otherArgs
	}
	if strings.Contains(text, ", whatever its arguments") {
		return !strings.Contains(otherArgs, `"command"`)
	}
	var in struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal([]byte(otherArgs), &in) != nil || path.Clean(in.Path) != in.Path {
		return false
	}
	hidden, linked := strings.Contains("/"+in.Path, "/."), strings.HasPrefix(in.Path, "a/up")
	if _, rest, ok := strings.Cut(text, " for the file "); ok {
		one, _, _ := strings.Cut(rest, ",")
		return in.Path == one && !hidden && !linked
	}
	_, rest, ok := strings.Cut(text, " for any file below the folder ")
	folder, said, more := strings.Cut(rest, " and its folders, ")
	if !ok || !more || !strings.HasPrefix(said, "build files and scripts included, hidden files and links excepted, ") {
		panic(text)
	}
	return strings.HasPrefix(in.Path, folder+"/") && !hidden && !linked
}

// TestRulesThatRaceAreAllKept: several processes remember at once.
func TestRulesThatRaceAreAllKept(t *testing.T) {
	t.Parallel()
	dir, project := t.TempDir(), t.TempDir()
	done := make(chan struct{})
	for i := range 16 {
		go func() {
			defer func() { done <- struct{}{} }()
			a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: project})
			where := newPlace(says(remembering(yes, "call-project")), "helper", "conv")
			for j := range 4 {
				d, err := a.Approve(t.Context(), where.call(bash, message.JSON(fmt.Sprintf(`{"command":"%d"}`, (i+j)%20))), because)
				assert.NoError(t, err)
				assert.Equal(t, hook.AnswerApprove, d.Verdict().Kind)
			}
			assert.Empty(t, where.host.Events())
		}()
	}
	for range 16 {
		<-done
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, names, 19)
	a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: project})
	for i := range 19 {
		v := verdict(t, a, newPlace(nil, "helper", "other").call(bash, message.JSON(fmt.Sprintf(`{"command":"%d"}`, i))))
		assert.Equal(t, "rule", v.By)
	}
}
