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
	data, _ := os.ReadFile("internal/shell/testdata/commands.tsv")
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
		rules := []string{}
		for a := range strings.SplitSeq(f[3], ",") {
			if a != "" {
				if f[3][0]=='c' && strings.HasPrefix(a, "curl https") || strings.HasSuffix(a, "/") {
					rules = append(rules, "Bash("+a+"*)")
				} else {
				rules = append(rules, "Bash("+a+" *)")
				}
			}
		}
		p := newPolicy(t, policy.Rules{Allow: list(rules...)}, nil)
		s := r.Read(cmd)
		got := effect(t, p, bash, args("command", cmd))
		n[f[1]]++
		unasked := s.Level < shell.Forbidden && (got == policy.Allow || s.Verdict() == "safe")
		ok := false
		switch f[1] {
		case "deny":
			ok = s.Verdict() == "deny"
		case "rule":
			ok = got == policy.Allow
		case "safe":
			ok = s.Verdict() == "safe"
		case "gray":
			ok = true
		default:
			ok = !unasked
			if f[1] == "dangerous" && f[5] == "ours" && s.Level == shell.Forbidden {
				t.Logf("forbidden %s %q %v", f[0], cmd, s.Finding)
			}
		}
		if !ok {
			t.Errorf("%s %s rules %q: %q; %v", f[0], f[1], f[3][:min(30,len(f[3]))], cmd[:min(80, len(cmd))], s.Finding)
		}
	}
	t.Log(n)
}
