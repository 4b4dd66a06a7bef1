package laws_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// mistakes are what could be wrong in the walk over the members of a composite: a text in
// a file of package composite, what stands there instead, and the law that has to see it.
var mistakes = []struct{ what, law, file, text, instead string }{
	{"a final answer does not end the walk", "TestLaws1To4", "walk.go", " && entries[next].plain && !g.final {", " && entries[next].plain {"},
	{"the first decider answers alone", "TestLaws1To4", "walk.go", "\t\tg.answer(ruled(d).Ruling, err)\n", "\t\tg.answer(ruled(d).Ruling, err)\n\t\treturn len(entries)\n"},
	{"a rewriter gets the first value", "TestLaws1To4", "walk.go", "f.set(call(h, ctx, at, f.value))", "before := f.value\n\tf.set(call(h, ctx, at, before))\n\tf.value = before"},
	{"an observer is skipped", "TestLaws1To4", "walk.go", "\t\t\tnotify(ctx, &f, e.hook, at, v, call)\n", ""},
	{"a panic of a decider reaches the caller", "TestLaws1To4", "walk.go", "\tnext = from\n\tdefer g.recover()\n", "\tnext = from\n"},
	{"who comes behind a panic is not asked", "TestLaws1To4", "walk.go", "\tfor next := 0; next < len(entries); {", "\tif next := 0; next < len(entries) {"},
	{"an answer has no author", "TestLaws1To4", "isolate.go", "g.merge(r.Under(g.current.Path))", "g.merge(r)"},
	{"a decider that fails closed is silent", "TestLaws1To4", "isolate.go", "g.merge(f.Ruling(point.Failed(g.point)))", "_ = f"},
	{"fail policies are turned round", "TestLaws1To4", "isolate.go", "return p == PolicyClosed", "return p != PolicyClosed"},
	{"a rewriter that fails closed is passed over", "TestLaws1To4", "isolate.go", "\t\tf.err = failure\n", "\t\t_ = failure\n"},
	{"a fallback is not used", "TestLaws1To4", "collect.go", "c.add(c.fallback(c.current), nil)", "_ = c.fallback"},
	{"a fallback is used beside a failure that is closed", "TestLaws1To4", "collect.go", "\tcase !closed:\n", "\tcase !closed || c.current.fallback != nil:\n"},
	{"a parallel contributor has no fallback", "TestLaws1To4", "collect.go", "p.items = c.fallback(p.by)", "p.items = nil"},
	{"a fallback is asked for another point", "TestLaws1To4", "point_gen.go", "return f.RefineContext", "return f.TurnContext"},
	{"a contributor has no default timeout", "TestLaws1To4", "composite.go", "return point.InfoOf(p).Timeout", "return 0"},
	{"a composite has the default timeout of one member", "TestLaw14", "composite.go", "set != 0 || ok {", "set != 0 || ok && false {"},
	{"what opens is not closed in reverse", "TestLaw5|TestLaws1To4", "entry.go", "slices.Reverse", "_ = slices.Clone"},
	{"tools lose their prefix", "TestLaw8", "walk_hook.go", "prefixed(m.prefix, m.hook.Schema())", `prefixed("", m.hook.Schema())`},
	{"a call goes to another owner", "TestLaw8", "walk_hook.go", "c.dispatch(ctx, i, call, local)", "c.dispatch(ctx, (i+1)%len(c.members), call, local)"},
	{"scopes are not narrowed", "TestLaw9", "walk_hook.go", "s.add(m.prefix, tools, scope)", "_ = scope\n\t\ts.add(m.prefix, tools, hook.Scope{})"},
}

// share of the mistakes are made: each costs half a minute of compiling. The long form makes all.
var share = flag.Int("laws.share", 10, "make one in so many of the mistakes in the walk")

// TestLawsJudgeTheWalk: the laws fail for every mistake in the walk.
func TestLawsJudgeTheWalk(t *testing.T) {
	needs.Proof(t)
	var found atomic.Int64
	t.Cleanup(func() { t.Logf("FIGURE bad.mistakes=%d mistakes in the walk", found.Load()) })
	for i, m := range mistakes {
		if i%*share != 0 {
			continue
		}
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			file, err := filepath.Abs(filepath.Join("../../../composite", m.file))
			require.NoError(t, err)
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(source), m.text, "the mistake has to be made elsewhere now")
			out, err := judged(t, m.law, file, strings.Replace(string(source), m.text, m.instead, 1))
			require.Error(t, err)
			require.Regexp(t, `--- FAIL: TestLaw|panic: [A-F] panics`, out, "no law has failed")
			found.Add(1)
		})
	}
}

// judged runs the tests of a law with another text of the file.
func judged(t *testing.T, law, file, text string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	other, overlay := filepath.Join(dir, "other.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(other, []byte(text), 0o644))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: other}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o644))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-short", "-failfast", "-overlay", overlay, "-run", law, "-skip", "JudgeTheWalk|IsTested", ".")
	all, err := cmd.CombinedOutput()
	return string(all), err
}
