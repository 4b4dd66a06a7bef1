package policy_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

func TestScoreTmp(t *testing.T) {
	data, _ := os.ReadFile("/work/shared/corpus/shell-commands.tsv")
	n := map[string]int{}
	r := shell.Reader{Root: "/home/me/project", Home: "/home/me", Private: []string{"/home/me/.local/state/grapnel"}}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if f[0] == "id" {
			continue
		}
		var cmd string
		if err := json.Unmarshal([]byte(f[4]), &cmd); err != nil {
			t.Fatal(err)
		}
		rules := policy.Rules{}
		for a := range strings.SplitSeq(f[3], ",") {
			if a != "" {
				rules.Allow = append(rules.Allow, policy.Rule{Rule: "Bash(" + a + " *)"})
			}
		}
		p := newPolicy(t, rules, nil)
		s := r.Read(cmd)
		got := effect(t, p, bash, args("command", cmd))
		n[f[1]]++
		unasked := got == policy.Allow || s.Verdict() == "safe"
		if unasked {
			n[f[1]+" unasked"]++
		}
		if f[1] != "gray" && unasked != (f[1] == "safe") {
			t.Errorf("%s %s rules %q: %s; %v", f[0], f[1], f[3], cmd[:min(80, len(cmd))], s.Finding)
		}
		if testing.Verbose() && len(cmd) < 200 {
			t.Logf("%s %s %q: %s | %s | %s", f[0], f[1], cmd, s.Verdict(), s.Reason, s.Part)
		}
	}
	t.Log(n)
}
