package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// TestEveryElementOfAListIsJudged: of a subject that is a list, one element is enough
// to be denied or asked about, wherever it stands; all have to be allowed.
func TestEveryElementOfAListIsJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool                     string
		allow, ask, deny               string
		allowed, another, asks, denies string
	}{
		{"commands", "batch", "Batch(git *)", "Batch(git push *)", "Batch(rm *)", "git log", "make", "git push -f", "rm x"},
		{"commands in objects", "steps", "Steps(git *)", "Steps(git push *)", "Steps(rm *)", "git log", "make", "git push -f", "rm x"},
		{"commands with line ends", "batch", "Batch(git *)", "Batch(git push *)", "Batch(rm *)", "git log", "git log\nmake", "git log\ngit push", "git log\nrm x"},
		{"paths", "readall", "ReadAll(/src/**)", "ReadAll(/src/ask/**)", "ReadAll(*.pem)", "src/a", "top", "src/ask/a", "src/a.pem"},
		{"paths with line ends", "readall", "ReadAll(/src/**)", "ReadAll(/src/ask/**)", "ReadAll(*.pem)", "src/a\nb", "to\np", "src/ask/a\nb", "src/a\nb.pem"},
		{"hosts", "fetch", "Fetch(hosts=*.example.org)", "Fetch(hosts=login.*)", "Fetch(hosts=evil.*)", "www.example.org", "other.net", "login.example.org", "evil.example.org"},
		{"texts with line ends", "fetch", "Fetch(hosts=a*)", "Fetch(hosts=a*ask)", "Fetch(hosts=*evil)", "a\nb", "\nb", "a\nask", "a\nevil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPolicy(t, policy.Rules{Default: policy.DefaultAsk, Allow: list(c.allow), Ask: list(c.ask), Deny: list(c.deny)}, &policy.Options{
				Root: t.TempDir(), Subjects: map[string]policy.Subject{
					"batch": {Kind: policy.Command, Arg: "lines"}, "steps": {Kind: policy.Command, Arg: "steps.run"},
					"readall": {Kind: policy.Path, Arg: "files"}, "fetch": {Arg: "hosts"},
				}})
			call := func(values ...string) policy.Effect {
				steps := make([]map[string]string, len(values))
				for i, v := range values {
					steps[i] = map[string]string{"run": v}
				}
				in, err := json.Marshal(map[string]any{"lines": values, "files": values, "hosts": values, "steps": steps})
				require.NoError(t, err)
				return effect(t, p, message.Tool{Name: c.tool}, message.JSON(in))
			}
			assert.Equal(t, policy.Allow, call(c.allowed), "one")
			assert.Equal(t, policy.Allow, call(c.allowed, c.allowed), "all")
			for _, others := range [][3]string{{c.another, c.allowed, c.allowed}, {c.allowed, c.another, c.allowed}, {c.allowed, c.allowed, c.another}} {
				assert.Equal(t, policy.Ask, call(others[:]...), "one that is not allowed: %q", others)
			}
			for _, others := range [][3]string{{c.asks, c.allowed, c.allowed}, {c.allowed, c.asks, c.allowed}, {c.allowed, c.allowed, c.asks}} {
				assert.Equal(t, policy.Ask, call(others[:]...), "%q", others)
			}
			for _, others := range [][3]string{{c.denies, c.allowed, c.asks}, {c.asks, c.denies, c.allowed}, {c.allowed, c.allowed, c.denies}} {
				assert.Equal(t, policy.Deny, call(others[:]...), "%q", others)
			}
		})
	}
}

// TestDoubtAboutOneLine: what cannot be read of one line is asked about, whichever
// line it is; a line that runs nothing is allowed by no pattern.
func TestDoubtAboutOneLine(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Allow: list("Batch(git *)")}, &policy.Options{
		Root: t.TempDir(), Subjects: map[string]policy.Subject{"batch": {Kind: policy.Command, Arg: "lines"}},
	})
	for _, lines := range []message.JSON{
		`["git log > x","git log"]`, `["git log","git log > x"]`, `["if","git log"]`, `["git log","if"]`, `["","git log"]`, `["git log","# x"]`, `[]`,
	} {
		assert.Equal(t, policy.Ask, effect(t, p, message.Tool{Name: "batch"}, `{"lines":`+lines+`}`), lines)
	}
}

// TestAPathWithoutItsPattern: a tool whose pattern below the path is left out is
// judged by the path.
func TestAPathWithoutItsPattern(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Deny: list("Find(/secret/**)"), Allow: list("Find")}, &policy.Options{
		Root: t.TempDir(), Subjects: map[string]policy.Subject{"find": {Kind: policy.Path, Arg: "dirs", Below: "names"}},
	})
	for _, in := range []message.JSON{
		`{"dirs":["src","secret"]}`, `{"dirs":["secret","src"],"names":[]}`, `{"dirs":["src"],"names":["a*","../secret/b*"]}`, `{"dirs":["src"],"names":["../secret/b*","a*"]}`,
		`{"dirs":["src"],"names":["/a*","../secret/b*"]}`,
	} {
		assert.Equal(t, policy.Deny, effect(t, p, message.Tool{Name: "find"}, in), in)
	}
}
