package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// corpusRow is a row of testdata/commands.tsv of package shell. Its label says what has to become of it:
//
//	safe       it runs unasked if safe commands are allowed
//	rule       it runs unasked by its rules, which are those of an ordinary developer
//	gray       people disagree
//	ask        it never runs unasked, whatever its rules
//	dangerous  the same; it does harm
//	deny       no rule and no answer lets it run
//
// The rows G… are ours; the others come from the public sources that they name.
type corpusRow struct {
	id, label, family, command string
	rules                      []policy.Rule
}

// corpus reads the rows. A rule without a wildcard is the beginning of a command: "git log" is Bash(git log *).
func corpus(t *testing.T) []corpusRow {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("internal", "shell", "testdata", "commands.tsv"))
	require.NoError(t, err)
	var rows []corpusRow
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, f, 8, line)
		if f[0] == "id" {
			continue
		}
		row := corpusRow{id: f[0], label: f[1], family: f[2]}
		require.NoError(t, json.Unmarshal([]byte(f[4]), &row.command), row.id)
		for rule := range strings.FieldsFuncSeq(f[3], func(c rune) bool { return c == ',' }) {
			if !strings.HasSuffix(rule, "*") {
				rule += " *"
			}
			row.rules = append(row.rules, policy.Rule{Rule: "Bash(" + rule + ")"})
		}
		rows = append(rows, row)
	}
	return rows
}

// judgeRow returns what the rules of a row make of it, with and without safe commands allowed.
func judgeRow(t *testing.T, row corpusRow, safe bool) policy.Explanation {
	t.Helper()
	p, err := policy.New([]policy.Rules{{Allow: row.rules, AllowSafeCommands: safe}}, &policy.Options{
		Root: "/home/me/project", Home: "/home/me", Private: []string{"/home/me/.local/state/grapnel"},
	})
	require.NoError(t, err, row.id)
	e, err := p.Explain(nil, bash, args("command", row.command))
	require.NoError(t, err, row.id)
	return e
}

// TestTheCorpus: the judge alone, without a sandbox, lets no dangerous row and none that has to be asked about run, whatever its rules
// are, and asks about few of the others.
func TestTheCorpus(t *testing.T) {
	t.Parallel()
	all, unasked := map[string]int{}, map[string]int{}
	for _, row := range corpus(t) {
		off, on := judgeRow(t, row, false), judgeRow(t, row, true)
		all[row.label]++
		if on.Effect == policy.Allow {
			unasked[row.label]++
		}
		switch row.label {
		case "dangerous", "ask":
			assert.NotEqual(t, policy.Allow, on.Effect, "%s: %q", row.id, row.command)
			assert.NotEqual(t, policy.Allow, off.Effect, "%s: %q", row.id, row.command)
			assert.NotEmpty(t, on.Command.Reason, "%s: %q", row.id, row.command)
			assert.NotEmpty(t, on.Command.Part, "%s: %q", row.id, row.command)
		case "deny":
			assert.Equal(t, policy.Deny, on.Effect, "%s: %q", row.id, row.command)
			assert.Equal(t, "deny", on.Command.Verdict, "%s: %q", row.id, row.command)
		case "safe":
			assert.Equal(t, policy.Ask, off.Effect, "%s: %q: nothing runs unasked by itself", row.id, row.command)
		case "rule":
			assert.Equal(t, policy.Allow, off.Effect, "%s: %q: %s", row.id, row.command, off)
		}
	}
	assert.GreaterOrEqual(t, float64(unasked["safe"]), 0.95*float64(all["safe"]), "safe rows that run unasked")
	t.Logf("%v rows, of them unasked %v", all, unasked)
}

// TestDenialsHold: what the judge denies, no rule allows, however it is written and however long the line is.
func TestDenialsHold(t *testing.T) {
	t.Parallel()
	for _, row := range corpus(t) {
		if row.label != "deny" {
			continue
		}
		row.rules = []policy.Rule{{Rule: "Bash"}, {Rule: "*"}}
		if !strings.Contains(row.command, "*") {
			row.rules = append(row.rules, policy.Rule{Rule: "Bash(" + row.command + ")"})
		}
		assert.Equal(t, policy.Deny, judgeRow(t, row, true).Effect, "%s: %q", row.id, row.command)
	}
	for _, n := range []int{10, 1_000, 10_000} {
		long := strings.Repeat("git log && ", n/2) + "rm -rf / && " + strings.Repeat("git log && ", n/2) + "ls"
		row := corpusRow{id: "long", command: long, rules: list("Bash")}
		assert.Equal(t, policy.Deny, judgeRow(t, row, false).Effect, "among %d parts", n)
	}
}

// TestTheCommandsPage holds docs/commands.md to its example and to its table of forms that have to be named.
func TestTheCommandsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(page), "$ grapnel policy explain bash '")
	call, rest, _ := strings.Cut(example, "'\n")
	want, _, _ := strings.Cut(rest, "```")
	p := newPolicy(t, policy.Rules{Source: "~/.grapnel/policy.json", Allow: list("Bash(git *)", "Bash(find *)")}, &policy.Options{Default: policy.DefaultAnnotations})
	e, err := p.Explain(nil, bash, message.JSON(call))
	require.NoError(t, err)
	assert.Equal(t, want, e.String())

	for command, rule := range map[string]string{
		"git push origin main": "git push *", "git pull": "git pull *", "git fetch": "git fetch *", "git clone https://a.example/b": "git clone https://a.example/*", "git checkout x": "git checkout *",
		"git merge x": "git merge *", "git rebase x": "git rebase *", "git reset": "git reset *", "git restore --staged x": "git restore *", "git rm x": "git rm *", "npm ci": "npm ci *",
		"npm install x": "npm install *", "pip install x": "pip install *", "cargo add x": "cargo add *", "go get x": "go get *", "go mod tidy": "go mod tidy *", "npx tsc --noEmit": "npx tsc *",
		"go tool x": "go tool x *", "yarn build": "yarn build *", "docker build .": "docker build *", "kubectl get pods": "kubectl get *", "gh pr list": "gh pr list *",
		"curl https://api.example.com/x": "curl https://api.example.com/*", "wget https://a.example/x": "wget https://a.example/*", "ping a.example": "ping a.example *", "dig a.example": "dig a.example *",
		"host a.example": "host a.example *", "FLAVOR=mint make x": "FLAVOR=mint make *",
	} {
		named := newPolicy(t, policy.Rules{Allow: list("Bash(" + rule + ")")}, nil)
		assert.Equal(t, policy.Allow, effect(t, named, bash, args("command", command)), command)
		wide := newPolicy(t, policy.Rules{Allow: list("Bash("+strings.Fields(strings.TrimPrefix(rule, "FLAVOR=mint "))[0]+" *)", "Bash(* *)")}, nil)
		assert.Equal(t, policy.Ask, effect(t, wide, bash, args("command", command)), command)
	}
}

// TestWholeLines: a rule without a wildcard covers its line letter by letter, and nothing else.
func TestWholeLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, command string
		want          policy.Effect
	}{
		{"go test ./... 2>&1 | tail -5 > out", "go test ./... 2>&1 | tail -5 > out", policy.Allow},
		{"go test ./... 2>&1 | tail -5 > out", " go test ./... 2>&1 | tail -5 > out\n", policy.Allow},
		{"go test ./... 2>&1 | tail -5 > out", "go test ./... 2>&1 | tail -5 > out2", policy.Ask},
		{"go test ./... 2>&1 | tail -5 > out", "go test ./... 2>&1 | tail -5 > out; ls", policy.Ask},
		{"sh -c 'make; make install'", "sh -c 'make; make install'", policy.Allow},
		{"sh -c 'make; make install'", "sh -c 'make; make  install'", policy.Ask},
		{"sh -c make", "sh -c make", policy.Allow},
		{"sh -c make x", "sh -c 'make x'", policy.Ask},
		{"find . -delete", "find . -delete", policy.Allow},
		{"find . -delete", "cd x && find . -delete", policy.Ask},
		{"rm -rf /", "rm -rf /", policy.Deny},
		{"echo $(date)", "echo $(date)", policy.Allow},
	} {
		p := newPolicy(t, policy.Rules{Allow: list("Bash(" + c.rule + ")")}, nil)
		assert.Equal(t, c.want, effect(t, p, bash, args("command", c.command)), "%s: %q", c.rule, c.command)
	}
	p := newPolicy(t, policy.Rules{Allow: list("Bash(ls > x)"), Deny: list("Bash(ls *)")}, nil)
	assert.Equal(t, policy.Deny, effect(t, p, bash, args("command", "ls > x")), "a deny beats it")
	p = newPolicy(t, policy.Rules{Allow: list("Bash(ls > x)")}, nil)
	e, err := p.Explain(nil, bash, `{"command":"ls > x","env":{"A":"b"}}`)
	require.NoError(t, err)
	assert.Equal(t, policy.Ask, e.Effect, "the call sets variables")
}

// TestSafeCommands: with the option, what only reads the project needs no rule, alone and beside commands that rules cover. Rules that ask
// or deny come first, and a list of lines or variables beside the line are judged too.
func TestSafeCommands(t *testing.T) {
	t.Parallel()
	rules := policy.Rules{AllowSafeCommands: true, Allow: list("Bash(git *)"), Ask: list("Bash(cat *)"), Deny: list("Bash(head *)")}
	p := newPolicy(t, rules, nil)
	for command, want := range map[string]policy.Effect{
		"ls": policy.Allow, "ls | wc -l": policy.Allow, "git log | wc -l": policy.Allow, "git log > x": policy.Ask, "ls; mkdir x": policy.Ask, "ls &": policy.Ask, "while true; do ls; done": policy.Ask,
		"git log; while true; do ls; done": policy.Ask, "cat x": policy.Ask, "head x": policy.Deny, "": policy.Ask, "# x": policy.Ask, "xargs": policy.Ask, "ls $x": policy.Ask,
	} {
		assert.Equal(t, want, effect(t, p, bash, args("command", command)), command)
	}
	for in, want := range map[message.JSON]policy.Effect{
		`{"command":"ls","env":{"LS_COLORS":"x"}}`: policy.Ask, `{"command":["ls","pwd"]}`: policy.Allow, `{"command":["ls","rm x"]}`: policy.Ask, `{"command":["ls",""]}`: policy.Ask, `{}`: policy.Ask,
	} {
		assert.Equal(t, want, effect(t, p, bash, in), string(in))
	}
	off := newPolicy(t, policy.Rules{}, &policy.Options{Default: policy.DefaultAnnotations})
	assert.Equal(t, policy.Ask, effect(t, off, bash, args("command", "ls")), "it is off by default")
	deny := newPolicy(t, policy.Rules{AllowSafeCommands: true, Default: policy.DefaultDeny}, nil)
	assert.Equal(t, policy.Allow, effect(t, deny, bash, args("command", "ls")))
	assert.Equal(t, policy.Deny, effect(t, deny, bash, args("command", "mkdir x")))
	tight, _ := rules.Tightened()
	assert.False(t, tight.AllowSafeCommands, "a source that may only restrict cannot set it")
}
