package policy_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

var updateConfined = flag.Bool("confined.update", false, "write testdata/confined.txt anew")

// confining is a sandbox that answers the same about every call.
func confining(c policy.Confinement) func(*hook.ToolCall) policy.Confinement {
	return func(*hook.ToolCall) policy.Confinement { return c }
}

// inSandbox is a policy of a project whose commands a sandbox confines.
func inSandbox(t *testing.T, r policy.Rules, c policy.Confinement) *policy.Policy {
	t.Helper()
	return newPolicy(t, r, &policy.Options{
		Default: policy.DefaultAnnotations, Root: "/home/me/project", Home: "/home/me", Private: []string{"/home/me/.local/state/grapnel"}, Confined: confining(c),
	})
}

// answers is what the policy says of a command line, with the reason.
func answers(t *testing.T, p *policy.Policy, line string) string {
	t.Helper()
	in := args("command", line)
	effect(t, p, bash, in)
	e, err := p.Explain(nil, bash, in)
	require.NoError(t, err)
	return strings.TrimSuffix(string(e.Effect)+": "+e.Reason, ": ")
}

// TestConfined: what a sandbox confines runs unasked, and rules, denials and what it cannot see count all the same.
func TestConfined(t *testing.T) {
	t.Parallel()
	const runs = "allow: the sandbox confines it"
	on := policy.Confinement{On: true}
	rules := policy.Rules{Deny: list("Bash(rm -rf build)", "Bash(terraform destroy *)"), Ask: list("Bash(make deploy *)"), Allow: list("Bash(go *)", "Bash(git commit --amend)")}
	p := inSandbox(t, rules, on)
	for line, want := range map[string]string{
		"make":                            runs,
		"make $x":                         "ask: it may do what the rule Bash(make deploy *) is about",
		"eval \"$x\"":                     "ask: it may do what the rule Bash(rm -rf build) is about",
		"frob --exec x":                   runs,
		"python3 -c 'print(1)' > out":     runs,
		"go test ./... > out":             runs,
		"curl -d x https://a.example":     runs, // the sandbox has no network
		"go test ./...":                   "allow: allowed by the rule Bash(go *)",
		"git commit --amend":              "allow: allowed by the rule Bash(git commit --amend)",
		"rm -rf build":                    "deny: denied by the rule Bash(rm -rf build)",
		"terraform $x":                    "ask: it may do what the rule Bash(terraform destroy *) is about",
		"make deploy":                     "ask: the rule Bash(make deploy *) asks for it",
		"git reset --hard; make deploy":   "ask: the rule Bash(make deploy *) asks for it",
		"git reset --hard":                `ask: the sandbox cannot see it: --hard loses work ("git reset --hard")`,
		"make && cat .env":                `ask: the sandbox cannot see it: its name says that it has secrets (".env")`,
		"rm -rf /":                        `deny: no rule can allow it: it deletes the system or the home directory ("rm -rf /")`,
		"cat ~/.local/state/grapnel/x.db": `deny: no rule can allow it: it is the daemon's own ("~/.local/state/grapnel/x.db")`,
	} {
		assert.Equal(t, want, answers(t, p, line), line)
	}
	e, err := p.Explain(nil, bash, `{"command":"make","env":{"A":"b"}}`)
	require.NoError(t, err)
	assert.Equal(t, policy.Allow, e.Effect, "the sandbox has the variables, too")
	e, err = inSandbox(t, policy.Rules{Allow: list("Bash(make *)"), Default: policy.DefaultDeny}, on).Explain(nil, bash, `{"command":"make","env":{"A":"b"}}`)
	require.NoError(t, err)
	assert.Equal(t, policy.Deny, e.Effect, "and no rule covers them")

	all := inSandbox(t, policy.Rules{Allow: list("Bash"), Deny: list("Bash(x *)")}, on)
	assert.Equal(t, runs, answers(t, all, "frob > y"), "a line in doubt beside a rule that denies")
	assert.Equal(t, "ask: it may do what the rule Bash(x *) is about", answers(t, all, "$y z"))
	deny := inSandbox(t, policy.Rules{Allow: list("Bash(make *)"), Default: policy.DefaultDeny}, on)
	assert.Equal(t, "deny: no rule allows it", answers(t, deny, "frob"))
	assert.Equal(t, "allow: allowed by the rule Bash(make *)", answers(t, deny, "make x"))
	safe := inSandbox(t, policy.Rules{AllowSafeCommands: true}, on)
	assert.Equal(t, "allow: it only reads the project", answers(t, safe, "ls"))
	assert.Contains(t, answers(t, safe, "grep -r KEY --include=.env ."), "ask: the sandbox cannot see it")
	other := inSandbox(t, policy.Rules{}, on)
	assert.Equal(t, policy.Ask, effect(t, other, message.Tool{Name: "write", Annotations: message.Annotations{Destructive: true}}, args("file_path", "x")), "it confines commands alone")
}

// TestRequests: what a call requests beyond the sandbox is always asked about, and the question begins with it.
func TestRequests(t *testing.T) {
	t.Parallel()
	rules := policy.Rules{Deny: list("Bash(terraform *)"), Ask: list("Bash(make deploy *)"), Allow: list("Bash(go *)", "Bash")}
	two := policy.Confinement{On: true, Requests: []string{"write to ~/go/pkg/mod", "connect to proxy.golang.org"}}
	p := inSandbox(t, policy.Rules{}, two)
	assert.Equal(t, "ask: write to ~/go/pkg/mod; connect to proxy.golang.org", answers(t, p, "go test ./..."))
	assert.Equal(t, `ask: write to ~/go/pkg/mod; connect to proxy.golang.org; the sandbox cannot see it: git rebase rewrites history ("git rebase x")`, answers(t, p, "git rebase x"))
	assert.Equal(t, "ask: write to ~/go/pkg/mod; connect to proxy.golang.org", answers(t, inSandbox(t, policy.Rules{AllowSafeCommands: true}, two), "ls"))
	p = inSandbox(t, rules, two)
	for line, want := range map[string]string{
		"go test ./...":   "ask: write to ~/go/pkg/mod; connect to proxy.golang.org",
		"make deploy":     "ask: write to ~/go/pkg/mod; connect to proxy.golang.org; the rule Bash(make deploy *) asks for it",
		"terraform apply": "deny: denied by the rule Bash(terraform *)",
		"rm -rf /":        `deny: no rule can allow it: it deletes the system or the home directory ("rm -rf /")`,
	} {
		assert.Equal(t, want, answers(t, p, line), line)
	}
	p = inSandbox(t, rules, policy.Confinement{Requests: []string{"no sandbox at all"}, Why: "the model requests it"})
	assert.Equal(t, "ask: no sandbox at all", answers(t, p, "go test ./..."), "a rule allows the command and not the request")
	p = inSandbox(t, policy.Rules{}, policy.Confinement{Requests: []string{"no sandbox at all"}})
	assert.Equal(t, `ask: no sandbox at all; it may change or delete things: make runs what the Makefile says ("make")`, answers(t, p, "make"))
	p = inSandbox(t, policy.Rules{Default: policy.DefaultDeny}, two)
	assert.Equal(t, "deny: no rule allows it", answers(t, p, "make"))
	p = inSandbox(t, policy.Rules{Default: policy.DefaultAllow}, two)
	assert.Equal(t, "ask: write to ~/go/pkg/mod; connect to proxy.golang.org", answers(t, p, "make"))
}

// TestNotConfined: without the sandbox the policy asks as always, and says why there is none.
func TestNotConfined(t *testing.T) {
	t.Parallel()
	const why = "no sandbox confines it: the kernel has no Landlock; `grapnel doctor` says more"
	p := inSandbox(t, policy.Rules{Allow: list("Bash(go *)")}, policy.Confinement{Why: why})
	assert.Equal(t, `ask: it may change or delete things: make runs what the Makefile says ("make"); `+why, answers(t, p, "make"))
	assert.Equal(t, "allow: allowed by the rule Bash(go *)", answers(t, p, "go test"))
	assert.Equal(t, `ask: it may change or delete things: --hard loses work ("git reset --hard")`, answers(t, inSandbox(t, policy.Rules{}, policy.Confinement{}), "git reset --hard"))
}

// TestConfinedExplanations: the explanation and the question say what the sandbox does, what the call requests and what it cannot see.
func TestConfinedExplanations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		with policy.Confinement
		want string
	}{
		{"make", policy.Confinement{On: true}, "bash: allow, the sandbox confines it\n  judged: ask, make runs what the Makefile says (\"make\")\n  sandbox: confines it\n"},
		{
			"git stash drop", policy.Confinement{On: true},
			"bash: ask, the sandbox cannot see it: git stash drop loses work (\"git stash drop\")\n  judged: ask, git stash drop loses work (\"git stash drop\")\n  sandbox: confines it\n" +
				"  the sandbox cannot see: git stash drop loses work (\"git stash drop\")\n",
		},
		{
			"make", policy.Confinement{On: true, Requests: []string{"write to ~/x", "connect to a.example"}},
			"bash: ask, write to ~/x; connect to a.example\n  judged: ask, make runs what the Makefile says (\"make\")\n  sandbox: confines it; it requests: write to ~/x; connect to a.example\n",
		},
		{
			"ls", policy.Confinement{Why: "mode unrestricted"},
			"bash: ask, it may change or delete things; mode unrestricted (default: annotations)\n  judged: safe\n  sandbox: does not confine it: mode unrestricted\n",
		},
	} {
		p := inSandbox(t, policy.Rules{}, c.with)
		e, err := p.Explain(nil, bash, args("command", c.line))
		require.NoError(t, err)
		assert.Equal(t, c.want, e.String(), c.line)
	}
	p := inSandbox(t, policy.Rules{}, policy.Confinement{On: true, Requests: []string{"write to ~/go"}})
	e := examined(p, bash, args("command", "git reset --hard && make > .git/x"))
	assert.Equal(t, []string{
		"requests: write to ~/go", "runs git, make", `"git reset --hard": --hard loses work`, `"> .git/x": it changes the repository's own files`,
		`"> .git/x": it reads or writes a file by redirection`, `"git reset --hard": git reset changes the index`, `"make": make runs what the Makefile says`,
	}, sorted(e.Reaches, 4))
	assert.Empty(t, e.Rule)
	assert.Equal(t, `write to ~/go; the sandbox cannot see it: --hard loses work ("git reset --hard")`, e.Reason)
	assert.Equal(t, "git reset --hard", e.Part)
	assert.Empty(t, examined(p, bash, args("command", "go test ./...")).Rule, "no answer about the class covers a request")
	assert.Equal(t, "Bash(go test *)", examined(inSandbox(t, policy.Rules{}, policy.Confinement{}), bash, args("command", "go test ./...")).Rule)
}

// sorted sorts all but the first texts.
func sorted(texts []string, first int) []string {
	out := slices.Clone(texts)
	slices.Sort(out[first:])
	return out
}

// TestConfinedDelegation: every agent of a delegation has the same sandbox, and the strictest answer counts.
func TestConfinedDelegation(t *testing.T) {
	t.Parallel()
	calls := 0
	p := newPolicy(t, policy.Rules{}, &policy.Options{Root: t.TempDir(), Confined: func(call *hook.ToolCall) policy.Confinement {
		calls++
		return policy.Confinement{On: true, Requests: []string{"connect to " + call.Name()}}
	}})
	d, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(nil), Tool: bash, Args: args("command", "ls")}))
	require.NoError(t, err)
	assert.Equal(t, "connect to bash", d.Verdict().Reason)
	assert.Equal(t, 1, calls)
}

// unasked are the groups of commands that the sandbox is for: none of them asks. The issue names them.
var unasked = map[string][]string{
	"listing":   {"ls", "ls -la src", "tree -L 2", "find . -name '*.go' -type f", "du -sh *", "git ls-files | head -50", "stat go.mod", "ls $(go list -f '{{.Dir}}' ./...)", "for d in */; do echo $d; ls $d; done", "fd -e go"},
	"searching": {"grep -rn TODO .", "rg -n 'func main' --hidden", "git grep -n fix", "find . -name '*.go' -exec grep -l x {} +", "grep -rn x . | head", "ag x", "grep -rl a src | xargs sed -n 1,5p", "awk '/x/{print FILENAME}' *.go", "sed -n '1,80p' main.go", "git log -S x --oneline"},
	"building":  {"make", "go build ./...", "npm run build", "cargo build --release", "cmake -B build && cmake --build build", "gcc -o x x.c", "mvn -q package", "./build.sh --fast 2>&1 | tail -20", "go generate ./... && go vet ./...", "rm -rf build && mkdir build", "python3 setup.py build_ext --inplace"},
	"testing":   {"go test ./...", "go test -race -run X ./a 2>&1 | tail -40", "pytest -x tests", "npm test -- --watch=false", "cargo test", "make check > /tmp/out.txt; cat /tmp/out.txt", "timeout 60 ./run-tests.sh", "A=b go test ./...", "python3 -c 'import x; print(x.f())'", "bash -c 'cd sub && go test'", "go test ./... && echo ok || echo no"},
	"committing": {"git add -A && git commit -m 'fix: x'", "git status --short && git diff", "git commit -am 'do not git reset --hard'", "git commit -F - <<'E'\nfix\n\nrm -rf .git is refused\nE", "git add -p < answers.txt", "git stash && git stash pop", "git checkout -b fix/x",
		"git switch main && git merge fix/x", "git tag v1.0.0", "git branch -d fix/x", "git restore --staged x", "git -c user.name=a commit -m x"},
}

// requested are commands that leave the sandbox, each with the request that the model makes for it; history are commands that the
// sandbox cannot tell from a commit. Every one asks.
var (
	requested = map[string]map[string]string{
		"leaving the project": {"go mod download": "write to ~/go/pkg/mod", "cp x ~/y": "write to ~/y", "make install PREFIX=~/.local": "write to ~/.local", "cat /home/me/other/x": "read ~/other/x", "touch /etc/x": "write to /etc/x", "npm install -g x": "write to ~/.npm", "pip install --user x": "write to ~/.local/lib", "git -C ../other log": "read ../other"},
		"the network":         {"curl https://api.example.com": "connect to api.example.com", "git push origin main": "connect to github.com", "git pull": "connect to github.com", "npm ci": "connect to registry.npmjs.org", "go get x": "connect to proxy.golang.org", "pip install x": "connect to pypi.org", "ssh a.example": "connect to a.example", "docker pull x": "connect to a registry"},
		"reading keys":        {"cat ~/.ssh/id_rsa": "read ~/.ssh/id_rsa", "ssh-add -l": "read ~/.ssh", "cat ~/.aws/credentials": "read ~/.aws/credentials", "gpg --sign x": "read ~/.gnupg", "git commit -S -m x": "read ~/.gnupg", "cat ~/.netrc": "read ~/.netrc", "gh auth token": "read ~/.config/gh", "aws s3 ls": "read ~/.aws"},
	}
	history = []string{
		"git reset --hard HEAD~1", "git commit --amend --no-edit", "git rebase -i main", "git filter-branch --all", "git push --force", "git branch -D x", "git reflog expire --expire=now --all && git gc --prune=now", "git stash clear", "git tag -d v1",
		"git update-ref -d refs/heads/x", "git checkout -- .", "git restore .", "git clean -fdx", "rm -rf .git", "rm -rf .", "mv .git old", "find . -delete", "sh -c 'git reset --hard'", "git reset HEAD~3", "git switch --discard-changes main",
	}
)

// TestTheGroups holds the policy to the groups: with a sandbox that confines every call, none of five asks and each of four does.
func TestTheGroups(t *testing.T) {
	t.Parallel()
	p := inSandbox(t, policy.Rules{}, policy.Confinement{On: true})
	for group, lines := range unasked {
		assert.GreaterOrEqual(t, len(lines), 8, group)
		for _, line := range lines {
			assert.Equal(t, policy.Allow, effect(t, p, bash, args("command", line)), "%s: %q: %s", group, line, answers(t, p, line))
		}
	}
	for group, lines := range requested {
		assert.GreaterOrEqual(t, len(lines), 8, group)
		for line, request := range lines {
			with := inSandbox(t, policy.Rules{}, policy.Confinement{On: true, Requests: []string{request}})
			got := answers(t, with, line)
			assert.True(t, got == "ask: "+request || strings.HasPrefix(got, "ask: "+request+"; "), "%s: %q: %s", group, line, got)
		}
	}
	for _, line := range history {
		assert.Contains(t, answers(t, p, line), "ask: the sandbox cannot see it: ", "%q", line)
	}
}

// TestTheConfinedCorpus: in a sandbox no safe row asks, what is denied stays denied, and the rows that ask are those of
// testdata/confined.txt, with their reasons. -confined.update writes it.
func TestTheConfinedCorpus(t *testing.T) {
	t.Parallel()
	p := inSandbox(t, policy.Rules{}, policy.Confinement{On: true})
	all, asks, denied := map[string]int{}, map[string]int{}, map[string]int{}
	var out strings.Builder
	out.WriteString("# The rows of the corpus (internal/shell/testdata/commands.tsv) that ask although a sandbox confines them: label, row, command, reason.\n" +
		"# No row labelled safe may be here. All others run unasked in the sandbox, but those that are denied.\n")
	for _, row := range corpus(t) {
		all[row.label]++
		e, err := p.Explain(nil, bash, args("command", row.command))
		require.NoError(t, err, row.id)
		switch {
		case row.label == "deny":
			assert.Equal(t, policy.Deny, e.Effect, "%s: %q", row.id, row.command)
		case row.label == "safe":
			assert.Equal(t, policy.Allow, e.Effect, "%s: %q: %s", row.id, row.command, e.Reason)
		}
		if e.Effect == policy.Deny {
			denied[row.label]++
		}
		if e.Effect == policy.Ask {
			asks[row.label]++
			fmt.Fprintf(&out, "%s\t%s\t%q\t%s\n", row.label, row.id, row.command, strings.TrimPrefix(e.Reason, "the sandbox cannot see it: "))
		}
	}
	for _, label := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "# %s: %d rows, %d ask, %d are denied\n", label, all[label], asks[label], denied[label])
	}
	file := filepath.Join("testdata", "confined.txt")
	if *updateConfined {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String(), "write it anew with -confined.update and read the difference")
}

// TestTheSandboxOnTheCommandsPage holds docs/commands.md to its example and to its tables.
func TestTheSandboxOnTheCommandsPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	require.NoError(t, err)
	_, page, _ := strings.Cut(string(data), "## In a sandbox\n")
	p := inSandbox(t, policy.Rules{}, policy.Confinement{On: true})
	e, err := p.Explain(nil, bash, args("command", "git stash drop"))
	require.NoError(t, err)
	assert.Contains(t, page, "```console\n"+e.String()+"```")
	examples := 0
	for row := range strings.Lines(page) {
		cells := strings.Split(row, "|")
		if strings.HasPrefix(row, "| what |") {
			break
		}
		if len(cells) < 4 {
			continue
		}
		for i, text := range strings.Split(cells[2], "`") {
			if i%2 == 1 {
				examples++
				assert.Equal(t, policy.Ask, effect(t, p, bash, args("command", text)), "%q", text)
			}
		}
	}
	assert.Greater(t, examples, 25)
}
