package policy_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

var (
	mutantsFlag = flag.Int("mutants", 500, "so many different lines that work in bash are judged")
	mutantSeed  = flag.Uint64("mutants.seed", 1, "the lines are composed by it")
)

// figure is a line that internal/test/prove reads.
func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Logf("FIGURE %s=%v %s", name, value, unit)
}

// line is a command line that makes a file.
type line struct {
	text string
	// simple: it is one simple command, external: of a program that is no builtin.
	simple, external bool
}

// composer composes lines by random numbers.
type composer struct{ *rand.Rand }

func pick[T any](c composer, list []T) T { return list[c.IntN(len(list))] }

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// spelled are ways to write touch, and means are programs and builtins that run a command in an argument, with what they need: q is the
// command as one word, w as several.
var (
	spelled = []string{
		"touch", "'touch'", `"touch"`, `\touch`, `t\ouch`, "to''uch", `tou""ch`, "$'touch'", `$'\x74ouch'`, "/usr/bin/touch", "/bin/../bin/touch", "$(echo touch)", "`echo touch`",
		"/usr/bin/touc?", "/usr/bin/[t]ouch", "$(printf 'to%s' uch)", "${UNSET:-touch}", "to${UNSET}uch",
	}
	means = []struct {
		form     string
		external bool
	}{
		{"find . -maxdepth 0 -exec {w} \\;", true}, {"find . -maxdepth 0 -execdir sh -c {q} \\;", true}, {"git -c alias.x={!} x", true}, {"sed {1e} f", true},
		{"awk {awk}", true}, {"xargs {w}", true}, {"xargs -n1 {w}", true}, {"tar cf t --checkpoint=1 --checkpoint-action=exec={q} f", true}, {"git grep -O{q;} x", true},
		{"split --filter={q} f", true}, {"git -c core.pager={q} -p log", true}, {"git -c core.fsmonitor={q;} status", true}, {"sort -S 1k --compress-program=./no f; {w}", false},
		{"env {w}", true}, {"env -i /bin/sh -c {q}", true}, {"env A=b {w}", true}, {"env -S {q}", true}, {"timeout 5 {w}", true}, {"nice {w}", true}, {"nohup {w}", true}, {"setsid -w {w}", true},
		{"stdbuf -oL {w}", true}, {"sh -c {q}", true}, {"bash -c {q}", true}, {"bash -lc {q}", true}, {"python3 -c {py}", true}, {"perl -e {perl}", true},
		{"eval {q}", false}, {"eval {w}", false}, {"command {w}", false}, {"builtin eval {q}", false}, {"exec {w}", false}, {"trap {q} EXIT", false}, {"printf -v {sub} x", false}, {"unset {sub}", false},
		{"test -v {sub}", false}, {"[ -v {sub} ]", false}, {"mapfile -t {sub} < f", false}, {"read {sub} < f", false}, {"let {sub}", false}, {"declare {sub}=1", false}, {"mapfile -C {q;} -c 1 x < f", false},
	}
)

// base makes a file called mark, directly or by one of the means.
func (c composer) base(mark string) line {
	w := pick(c, spelled) + " " + mark
	if c.IntN(3) == 0 {
		return line{w, true, true}
	}
	m := pick(c, means)
	plain := "touch " + mark
	text := strings.NewReplacer(
		"{w}", plain, "{q}", quoted(plain), "{q;}", quoted(plain+";:"), "{!}", quoted("!"+plain), "{1e}", quoted("1e "+plain), "{awk}", quoted(`BEGIN{system("`+plain+`")}`),
		"{py}", quoted(`open("`+mark+`","w")`), "{perl}", quoted(`open(F,">","`+mark+`")`), "{sub}", quoted("a[$("+plain+")]"),
	).Replace(m.form)
	return line{text, !strings.Contains(text, "; "+plain), m.external}
}

// before are programs that run what follows; around are lines with a place for another one. In both {} is the line, {q} the line as one word.
var (
	before = []string{
		"timeout 5 {}", "timeout -k 1 5 {}", "nice -n 1 {}", "nohup {}", "env {}", "env A=b {}", "stdbuf -o0 {}", "setsid -w {}", "command {}", "xargs {}", "find . -maxdepth 0 -exec {} \\;", "A=b {}", "time {}",
		"exec {}", "exec -a x {}", "LC_ALL=C {}", "xargs -r -I@ {} < f",
	}
	around = []string{
		"ls; {}", "true && {}", "false || {}", "ls | {}", "{} | cat", "{} & wait", "({})", "{ {}; }", "if true; then {}; fi", "if {}; then :; fi", "for i in 1; do {}; done", "while {}; do break; done", "until {}; do break; done",
		"case x in x) {};; esac", "echo $({})", "echo \"$({})\"", "echo ${UNSET:-$({})}", "x=$({})", "export x=$({})", "cat <({})", "cat <<E\n$({})\nE", "cat <<< $({})", "echo x > $({}; echo /dev/null)", "[[ $({}) == x ]]",
		"! {}", "f() { {}; }; f", "eval {q}", "bash -c {q}", "sh -c {q} x", "ls # x\n{}", "echo \\\n; {}", "ls\n\n{}", "ls;\t{}", "coproc {}\nwait", "git status && {}", "{} 2>/dev/null", "{} >/dev/null 2>&1", "bash <<'E'\n{}\nE", "bash <<< {q}", "echo {q} | sh",
		"echo $(( $({}; echo 1) ))", "a[$({}; echo 1)]=1", "trap {q} EXIT", "ls |& {}", "select x in a; do {}; break; done <<< 1", "for ((i=0;i<1;i++)); do {}; done", "cat f | while read x; do {}; done", "echo $[ $({}; echo 1) ]", "git log | head -1; {}", "cd . && {}",
		": {q} ; {}", "time -p {}", "{} ;:", "true &&\n{}", "ls \"$({})\"", "grep \"`ls`\" f; {}", "printf '%s' \"$({})\"", "test -n \"$({})\"", "find . -name \"$({})\"", "source <(echo {q})", ". /dev/stdin <<< {q}", "env bash -c {q}", "declare x=$({})",
	}
)

// compose makes a line of a base and up to four things around it.
func (c composer) compose(mark string) string {
	l := c.base(mark)
	for range c.IntN(5) {
		if l.simple && l.external && c.IntN(2) == 0 {
			form := pick(c, before)
			l = line{strings.ReplaceAll(form, "{}", l.text), form != "time {}", !strings.HasPrefix(form, "command") && !strings.HasPrefix(form, "exec") && !strings.Contains(form, "=")}
			continue
		}
		l = line{text: strings.NewReplacer("{q}", quoted(l.text), "{}", l.text).Replace(pick(c, around))}
	}
	return l.text
}

// ordinary are the rules of a careless developer: every program that the lines use, but the one that does the harm.
func ordinary(t *testing.T) policy.Rules {
	var rules []policy.Rule
	for _, name := range strings.Fields("git find sed awk tar xargs env timeout nice nohup setsid stdbuf sh bash python3 perl eval command builtin exec trap printf unset test [ mapfile read let declare " +
		"ls cat echo grep true false head wait : source . coproc export sort split go npm make cd time cut wc") {
		rules = append(rules, policy.Rule{Rule: "Bash(" + name + " *)"})
	}
	return policy.Rules{Allow: rules, AllowSafeCommands: true}
}

// works runs a line in bash and reports whether it made the file.
func works(t *testing.T, dir, command, mark string) bool {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "TERM=dumb"}
	_ = cmd.Run() // many of the lines fail after they have done harm
	return os.Remove(filepath.Join(dir, mark)) == nil
}

// workplace is a directory with a file and a repository.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x\ny\n"), 0o600))
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.CommandContext(t.Context(), "git", "-C", dir, "add", "f").CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// harmful composes lines until so many of them have worked in bash. Those that do not work are judged too.
func harmful(t *testing.T, n int, try func(command string, worked bool)) {
	t.Helper()
	needs.Program(t, "bash")
	needs.Program(t, "git")
	type tried struct {
		command string
		worked  bool
	}
	const workers = 4
	results := make(chan tried)
	var wait sync.WaitGroup
	var seen sync.Map
	ctx, stop := context.WithCancel(t.Context())
	for worker := range uint64(workers) {
		dir := workplace(t)
		wait.Go(func() {
			c := composer{rand.New(rand.NewPCG(*mutantSeed, worker))}
			for i := 0; ctx.Err() == nil; i++ {
				mark := fmt.Sprintf("m%d", i)
				command := c.compose(mark)
				if _, twice := seen.LoadOrStore(strings.ReplaceAll(command, mark, "mark"), true); twice {
					continue
				}
				select {
				case results <- tried{command, works(t, dir, command, mark)}:
				case <-ctx.Done():
				}
			}
		})
	}
	for worked := 0; worked < n; {
		r := <-results
		if r.worked {
			worked++
		}
		try(r.command, r.worked)
	}
	stop()
	wait.Wait()
}

// badJudges are judges as they are written often.
func badJudges(rules policy.Rules) map[string]func(command string) bool {
	covered := func(text string) bool {
		for _, r := range rules.Allow {
			prefix := strings.TrimSuffix(strings.TrimPrefix(r.Rule, "Bash("), " *)")
			if text == prefix || strings.HasPrefix(text, prefix+" ") {
				return true
			}
		}
		return false
	}
	cut := strings.NewReplacer("&&", "\x01", "||", "\x01", ";", "\x01", "|", "\x01", "&", "\x01", "\n", "\x01")
	return map[string]func(string) bool{
		"bad.prefix": covered,
		"bad.cutting": func(command string) bool {
			for part := range strings.SplitSeq(cut.Replace(command), "\x01") {
				if part = strings.TrimSpace(part); part != "" && !covered(part) {
					return false
				}
			}
			return true
		},
		"bad.no-table": func(command string) bool {
			s := shell.Read(command)
			for _, c := range s.Commands {
				if !covered(c.Text) || c.Opaque {
					return false
				}
			}
			return s.Doubt == ""
		},
	}
}

// TestMutants: no line that makes a file runs unasked, however it is composed. Every judge that is known to be bad lets some run.
func TestMutants(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	rules := ordinary(t)
	p, err := policy.New([]policy.Rules{rules}, nil)
	require.NoError(t, err)
	bad, passed := badJudges(rules), map[string]int{}
	judged, worked := 0, 0
	harmful(t, *mutantsFlag, func(command string, did bool) {
		judged++
		if did {
			worked++
		}
		e, err := p.Explain(nil, message.Tool{Name: "bash"}, args("command", command))
		require.NoError(t, err)
		if e.Effect == policy.Allow && did {
			t.Errorf("runs unasked: %q", command)
		}
		for name, lets := range bad {
			if did && lets(command) {
				passed[name]++
			}
		}
	})
	figure(t, "seed", *mutantSeed, "")
	figure(t, "lines", worked, "that make a file in bash, none of which runs unasked")
	figure(t, "composed", judged, "lines altogether")
	for name := range bad {
		assert.NotZero(t, passed[name], "the judge %s is bad, and that was not found", name)
		figure(t, name, passed[name], "lines that would have run unasked")
	}
}
