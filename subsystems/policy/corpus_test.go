package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
