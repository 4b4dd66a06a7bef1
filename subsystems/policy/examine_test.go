package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

func examined(p *policy.Policy, tool message.Tool, args message.JSON) policy.Examined {
	return p.Examine(hook.NewToolCall(hook.ToolCallData{ID: "c", Tool: tool, Args: args}))
}

func TestExamineCommands(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{}, &policy.Options{Root: t.TempDir(), Home: "/home/ann"})
	bash := message.Tool{Name: "bash"}
	for line, want := range map[string][]string{
		"ls -l src | head":               {"runs ls, head", "only reads the project and prints"},
		"make test":                      {"runs make", `"make test": make runs what the Makefile says`},
		"frob\u200b\a x":                 {`runs frob\u{200b}\x07`, `"frob\u200b\a x": it contains characters that do not show`, `"frob\u200b\a x": it is not known what frob\u{200b}\x07 does`},
		"frobnicate x":                   {"runs frobnicate", `"frobnicate x": it is not known what frobnicate does`},
		"cat /etc/passwd ../x":           {"runs cat", `"/etc/passwd": it is outside of the project`, `"../x": it is outside of the project`},
		"cat .env":                       {"runs cat", `".env": its name says that it has secrets`},
		"rm -rf build && ls":             {"runs rm, ls", `"rm -rf build": rm deletes files`},
		"curl https://api.example.com/x": {"runs curl", `"curl https://api.example.com/x": curl reaches another machine`, `"https://api.example.com/": it contacts this address`},
		"find . -delete":                 {"runs find", `"find . -delete": -delete deletes files`},
		"go test ./... > ../out.txt":     {"runs go", `"> ../out.txt": it reads or writes a file by redirection`, `"go test ./...": go test runs the tests of the project`},
		"sudo rm x":                      {"runs sudo", `"sudo rm x": it is not known what sudo runs`},
		"FLAVOR=mint make":               {"runs make", `"make": make runs what the Makefile says`, `"FLAVOR=mint": the variable FLAVOR may change what programs do`},
		"rm $x":                          {"runs rm", `"…": which flags and files rm gets is known only when it runs`, `"rm …": rm deletes files`, `"…": which file it changes is known only when it runs`},
		"git -c core.pager=x push --force origin main; $(x)": nil,
		`a "`: {`"a \"": it cannot be read as a shell would`},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got := examined(p, bash, args("command", line)).Reaches
			if want == nil {
				assert.Greater(t, len(got), 2)
				return
			}
			assert.Equal(t, want, got)
		})
	}
	e := examined(p, bash, `{"command":"ls","env":{"A":"b"}}`)
	assert.Equal(t, []string{"runs ls", "sets environment variables"}, e.Reaches)
	assert.Len(t, examined(p, bash, args("command", "cat "+strings.Repeat("/x", 3)+strings.Join(many(40), " "))).Reaches, 13)
}

// many returns paths outside of the project.
func many(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "/" + strings.Repeat("x", i+1)
	}
	return out
}

// TestExamineQuotesThePart: the part is what the reason quotes, as the line has it.
func TestExamineQuotesThePart(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Allow: list("Bash(git *)")}, nil)
	for line, want := range map[string]string{
		"git log && find . -delete": "find . -delete",
		"ls; cat .env":              ".env",
		"git log":                   "",
	} {
		call := hook.NewToolCall(hook.ToolCallData{ID: "c", Tool: message.Tool{Name: "bash"}, Args: args("command", line)})
		assert.Equal(t, want, p.Examine(call).Part, line)
		d, err := p.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		if want != "" {
			assert.Contains(t, d.Verdict().Reason, `"`+want+`"`)
		}
	}
}

func TestExamineFilesAndOthers(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "old"), []byte("1\n2\n"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(root, "link")))
	p := newPolicy(t, policy.Rules{}, &policy.Options{Root: root})
	write := message.Tool{Name: "write", Annotations: message.Annotations{Destructive: true}}
	read := message.Tool{Name: "read", Annotations: message.Annotations{ReadOnly: true}}
	for name, tt := range map[string]struct {
		tool message.Tool
		args message.JSON
		want []string
	}{
		"a new file":      {write, `{"file_path":"a/new","content":"1\n2"}`, []string{`makes the new file "a/new" with 2 lines`}},
		"an old file":     {write, `{"file_path":"old","content":"1\n"}`, []string{`replaces "old", which has 4 bytes, with 1 line`}},
		"a file outside":  {write, `{"file_path":"../x","content":""}`, []string{`makes the new file "` + filepath.Join(filepath.Dir(root), "x") + `" with 0 lines, outside of the project`}},
		"a folder":        {write, `{"file_path":".","content":""}`, []string{`writes "." with 0 lines`}},
		"a change":        {message.Tool{Name: "edit"}, `{"file_path":"old","old_string":"1","new_string":"2"}`, []string{`changes "old"`}},
		"a file to read":  {read, `{"file_path":"/etc/passwd"}`, []string{`reads "/etc/passwd", outside of the project`}},
		"a link":          {read, `{"file_path":"link"}`, []string{`reads "link", by a link to "/etc/passwd"`}},
		"an odd name":     {read, "{\"file_path\":\"a\u202eb\"}", []string{`reads "a\u202eb"`}},
		"an agent":        {message.Tool{Name: "delegate"}, `{"tasks":[{"agent":"helper"}]}`, []string{`runs the agent "helper"`}},
		"a page":          {message.Tool{Name: "fetch", Annotations: message.Annotations{OpenWorld: true}}, `{"url":"https://a.example/x"}`, []string{"reaches beyond this machine, or runs what others wrote", `names the host "a.example"`}},
		"an MCP server's": {message.Tool{Name: "mcp__files__drop", Annotations: message.Annotations{Destructive: true, ReadOnly: true}}, `{}`, []string{`calls "drop" of the MCP server "files"; what that does is not known`, "changes nothing, by its own account", "may change or delete things, by its own account"}},
		"no JSON":         {write, `{`, []string{"may change or delete things"}},
		"nothing known":   {message.Tool{Name: "x"}, `{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, examined(p, tt.tool, tt.args).Reaches)
		})
	}
	assert.Equal(t, []string{"may change or delete things"}, examined(nil, write, `{"file_path":"a"}`).Reaches)
}

// TestExamineFindsTheClass: there is a rule for simple commands of which the table says so, and the
// judge agrees that it covers the call.
func TestExamineFindsTheClass(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Ask: list("Bash(git diff *)"), Default: policy.DefaultAsk}, nil)
	for line, want := range map[string]string{
		"go test ./...":                        "Bash(go test *)",
		"go test -run X ./a -count=1":          "Bash(go test *)",
		"git status":                           "Bash(git status *)",
		"cargo test --workspace":               "",
		"go test . -args -test.cpuprofile=x":   "",
		"git diff /dev/null /etc/passwd":       "",
		"python3 -m unittest deploy.main":      "",
		"python3 -m pytest -x tests":           "Bash(python3 -m pytest *)",
		"git diff x":                           "", // a rule asks for it
		"go test -exec ./x ./...":              "",
		"go test -toolexec=./x ./...":          "",
		"go test -ldflags=-X=a ./...":          "",
		"go test -coverprofile=Makefile ./...": "",
		"go test /other/...":                   "",
		"go test ./... && go test ./a":         "",
		"go test ./... > out":                  "",
		"go test ./... &":                      "",
		"go test $x":                           "",
		"go test $(rm x)":                      "",
		"GOFLAGS=-exec=./x go test ./...":      "",
		"./go test ./...":                      "",
		"timeout 9 go test ./...":              "",
		"sudo go test ./...":                   "",
		"for i in 1 2; do go test ./...; done": "",
		"make test":                            "",
		"python3 x.py":                         "",
		"rm x":                                 "",
		"curl https://a.example/x":             "",
		"git push origin main":                 "",
		"frobnicate":                           "",
		"ls":                                   "",
		"go test \u200b./...":                  "",
	} {
		e := examined(p, message.Tool{Name: "bash"}, args("command", line))
		assert.Equal(t, want, e.Rule, line)
		assert.NotEmpty(t, e.Reason, line)
	}
	bash := message.Tool{Name: "bash"}
	assert.Empty(t, examined(p, bash, `{"command":"go test ./...","env":{"GOFLAGS":"-exec=./x"}}`).Rule)
	assert.Empty(t, examined(p, bash, `{"command":"go test ./...","other":1}`).Rule)
	assert.Equal(t, "Bash(go test *)", examined(p, bash, `{"command":"go test ./...","timeout":9}`).Rule)
	allowed := newPolicy(t, policy.Rules{Allow: list("Bash(go test *)")}, nil)
	assert.Empty(t, examined(allowed, bash, args("command", "go test ./...")).Reason)
}
