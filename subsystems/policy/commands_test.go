package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

var bash = message.Tool{Name: "bash", Annotations: message.Annotations{Destructive: true, OpenWorld: true}}

// TestCommands: what one rule that allows, denies or asks says of a command.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, commands string }{
		{"allow Bash(git log)", "+git log, +git  log, +\"git\" 'log', -git log -1, -git logs, -git"},
		{"allow Bash(git log *)", "+git log, +git log -1, +git log a/b, +git log \"a b\", -git logout, -git"},
		{"allow Bash(git log:*)", "+git log, +git log -1, -git logout"},
		{"allow Bash(git log*)", "+git log, -git logout"},
		{"allow Bash(x log*)", "+x log, +x logout"},
		{"allow Bash(* --version)", "+go --version, -git x --version, +x y --version, -go version"},
		{"allow Bash(git * main)", "+git log main, -git log dev, -git push origin main"},
		{"allow Bash(npm run test:*)", "+npm run test, +npm run test -- --x, -npm run test --x, -npm run test:unit"},
		{"allow Bash(git *)", "-/usr/bin/git log, -./git log, -GIT_PAGER=x git log, -'git log', -git\tlog>x, +git log 2>&1, +git log 2>/dev/null, +git log >/dev/null </dev/null"},
		{"allow Bash(A=b git *)", "+A=b git log, -A=c git log, -git log"},
		{"allow Bash(go *)", "+timeout 5 go test, +timeout -k 5s -s KILL 1m go test, +nice -n 5 go test, +nice -5 go test, +nohup go vet, +time go test, +command go test, +stdbuf -oL go test, -echo x | xargs go vet"},
		{"allow Bash(timeout *)", "-timeout 5 touch x, -timeout touch, -timeout --x 5 touch x"},
		{"allow Bash(nohup *)", "-nohup touch x"},
		{"allow Bash(xargs *)", "-xargs touch, -xargs -n1 touch"},
		{"allow Bash(env *)", "-env touch x, -env, -env -S 'touch x'"},
		{"allow Bash(env A=b touch x)", "+env A=b touch x, -env A=b touch y"},
		{"allow Bash(sh *)", "-sh x.sh, -sh -c 'git log', -/bin/sh x.sh"},
		{"allow Bash(eval *)", "-eval git log, -eval \"$x\""},
		{"allow Bash(find *)", "+find . -name x, -find . -exec rm {} \\;, -find . -ok rm {} \\;, -find . $x"},
		{"allow Bash(printf *)", "+printf x, -printf -v 'a[$(touch x)]' y"},
		{"allow Bash(echo *)", "+echo $HOME, +echo \"$a\" ${b}, -echo ${a@P}, -echo ${!a}, -echo $((a)), -echo ${a:=b}, -echo $[a], -echo $(touch x), -echo `touch x`, -echo <(touch x), -echo > x, -echo >> x, -echo &> x, -echo < x, +echo <<< x, -echo x; touch x, -echo x\ntouch x, -echo x & touch x, -echo \"$(touch x)\", -echo x || touch x"},
		{"allow Bash(cat *)", "+cat <<'A'\n$(touch x)\nA, -cat <<A\n$(touch x)\nA, +cat <<A\nx\nA"},
		{"allow Bash(echo *)", "-f() { echo; }; f, -alias echo='touch x', -export A=b, -A=b, -A=b; echo, -[[ a ]], -((a)), -let a, -coproc echo, -trap 'echo' EXIT, -. x, -source x, -exec echo, -echo x\r\n, -echo \u202e, -echo \u200b"},
		{"allow Bash(echo *)", "+if echo a; then echo b; else echo c; fi, +for i in 1 2; do echo $i; done, +while echo; do echo; done, +case $x in a) echo;; esac, +(echo; echo), +{ echo; }, +! echo, -if echo; then touch x; fi, -for i in $(touch x); do echo; done, -for ((i=0;i<1;i++)); do echo; done, -case $(touch x) in a) echo;; esac, -select x in a; do echo; done"},
		{"deny Bash(rm *)", "!rm x, !rm, !/bin/rm x, !\\rm x, !r\"\"m x, !'rm' x, !A=b rm x, !ls; rm x, !ls && rm x, !ls | rm, !(rm x), !{ rm x; }, !ls $(rm x), !ls `rm x`, !ls \"$(rm x)\", !ls ${a:-$(rm x)}, !echo $(($(rm x))), !f() { rm x; }, ![[ $(rm x) ]], !export A=$(rm x), !A=$(rm x), !ls > $(rm x), !cat <<A\n$(rm x)\nA"},
		{"deny Bash(rm *)", "!timeout 5 rm x, !nice rm x, !env rm x, !env A=b rm x, !sudo -u a rm x, !xargs rm, !xargs -0 rm, !find . -exec rm {} +, !sh -c 'rm x', !bash -lc 'ls; rm x', !eval 'rm x', !trap 'rm x' EXIT, !exec rm x, !watch rm x, !sh -c 'sh -c \"rm x\"', !builtin command rm x, !coproc rm x, !time rm x, !ls; rm x; if, !ls 'a; rm x, ?$c x, ?r? x, ?{rm,x}, ?$'\\x72m' x"},
		{"deny Bash(rm *)", "?env $x, ?sh x, -echo rm x, -ls rm, -rmdir x"},
		{"deny Bash(git push *)", "!git push, !git push -f, ?git $x, ?git {push,x}, -git log $x, -git pushy"},
		{"deny Bash(curl *--data*)", "!curl --data x, !curl a --data-raw x, -curl a, ?curl $x"},
	} {
		effectOf, rule, _ := strings.Cut(c.rule, " ")
		r := policy.Rules{Allow: list(rule)}
		if effectOf == "deny" {
			r = policy.Rules{Deny: list(rule), Allow: list("Bash")}
		} else if strings.Contains(c.commands, "echo x | xargs") {
			r.Allow = append(r.Allow, list("Bash(echo x)")...)
		}
		p := newPolicy(t, r, nil)
		for command := range strings.SplitSeq(c.commands, ", ") {
			want := map[byte]policy.Effect{'+': policy.Allow, '-': policy.Ask, '!': policy.Deny, '?': policy.Ask}[command[0]]
			if effectOf == "deny" && command[0] == '-' {
				want = policy.Allow
			}
			assert.Equal(t, want, effect(t, p, bash, args("command", command[1:])), "%s: %q", c.rule, command[1:])
		}
	}
}

// parts are the commands of the tests of compositions: the first are allowed, the
// second denied, the third nobody has a rule for.
var parts = [3][]string{
	{"git log", "echo hi", "git diff a/b", "echo 'a; b'"},
	{"rm -rf x", "/bin/rm y", "r''m -r z"},
	{"touch x", "curl a.example", "./run.sh"},
}

// joins compose two commands.
var joins = []string{
	"%s; %s", "%s && %s", "%s || %s", "%s | %s", "%s & %s", "%s |& %s", "%s\n%s", "%s;\t%s", "(%s; %s)", "{ %s; %s; }",
	"%s $(%s)", "%s \"$(%s)\"", "%s `%s`", "%s <(%s)", "%s > >(%s)", "%s <<E\n$(%s)\nE\n", "%s ${x:-$(%s)}", "%s; x=$(%s)",
	"if %s; then %s; fi", "for i in 1; do %s; %s; done", "while %s; do %s; done", "%s; ! %s", "case $(%s) in *) %s;; esac",
	"%s; timeout 5 %s", "%s; nice -n 1 %s", "%s | xargs %s", "%s; env A=b %s", "%s; sudo %s", "%s; time %s", "%s; exec %s",
	"f() { %s; }; %s", "%s; f() { %s; }; f", "%s 2>&1; %s", "%s > /dev/null; %s", "%s # x\n%s", "%s \\\n ; %s", "[[ $(%s) ]]; %s", "%s; coproc %s",
}

// compose makes a command of bytes, and says which kinds of parts are in it.
func compose(data []byte) (command string, kinds [3]bool) {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
	part := func() string {
		kind := next(3)
		kinds[kind] = true
		return parts[kind][next(len(parts[kind]))]
	}
	command = part()
	for n := 0; len(data) > 0 && n < 12; n++ {
		join := joins[next(len(joins))]
		if next(2) == 0 {
			command = fmt.Sprintf(join, command, part())
		} else {
			command = fmt.Sprintf(join, part(), command)
		}
	}
	return command, kinds
}

func composed(tb testing.TB) *policy.Policy {
	return newPolicy(tb, policy.Rules{Deny: list("Bash(rm *)"), Allow: list("Bash(git *)", "Bash(echo *)")}, &policy.Options{})
}

// check holds a composition to the rule: only one of allowed parts alone may be
// allowed.
func check(tb testing.TB, p *policy.Policy, command string, kinds [3]bool) policy.Effect {
	tb.Helper()
	got := effect(tb, p, bash, args("command", command))
	switch {
	case got == policy.Allow && (kinds[1] || kinds[2]):
		tb.Errorf("%q is allowed", command)
	case got == policy.Deny && !kinds[1]:
		tb.Errorf("%q is denied", command)
	}
	return got
}

// FuzzComposition: a command made of allowed and other parts is never allowed.
func FuzzComposition(f *testing.F) {
	for i := range joins {
		f.Add([]byte{0, 0, byte(i), 0, 1, 0})
		f.Add([]byte{0, 1, byte(i), 1, 1, 1, byte(i + 3), 0, 2, 0})
	}
	p := composed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		command, kinds := compose(data)
		check(t, p, command, kinds)
	})
}

// TestCompositions are all of two commands and one join, and all of three with the
// joins that a shell has for lists.
func TestCompositions(t *testing.T) {
	t.Parallel()
	p := composed(t)
	counts := map[policy.Effect]int{}
	denied := 0
	for i := range joins {
		for a := range 3 {
			for b := range 3 {
				for side := range 2 {
					for second := range joins {
						command, kinds := compose([]byte{byte(a), 0, byte(i), byte(side), byte(b), 1, byte(second), 0, 0, 2})
						got := check(t, p, command, kinds)
						counts[got]++
						if kinds[1] && got == policy.Deny {
							denied++
						}
					}
				}
			}
		}
	}
	assert.Positive(t, counts[policy.Allow], "some are allowed")
	assert.Positive(t, counts[policy.Ask])
	assert.Equal(t, counts[policy.Deny], denied)
	t.Log(counts)
}

// TestManyParts: a deny holds however long the command is.
func TestManyParts(t *testing.T) {
	t.Parallel()
	p := composed(t)
	for _, n := range []int{10, 1000, 10_000} {
		for _, at := range []int{0, n / 2, n} {
			list := slices.Repeat([]string{"git log"}, n)
			list = slices.Insert(list, at, "rm x")
			assert.Equal(t, policy.Deny, effect(t, p, bash, args("command", strings.Join(list, " && "))), "part %d of %d", at, n)
		}
	}
	assert.Equal(t, policy.Ask, effect(t, p, bash, args("command", "git log #"+strings.Repeat("#", 40_000)+"\ntouch x")))
}

// BenchmarkCommand is one decision about a command, the parse included.
func BenchmarkCommand(b *testing.B) {
	rules := policy.Rules{Deny: list("Bash(rm *)", "Bash(sudo *)", "Read(.env)"), Ask: list("Bash(git push *)", "mcp__*")}
	for _, name := range []string{"git log", "git diff", "go test", "go build", "ls", "cat", "grep", "echo", "head", "wc"} {
		rules.Allow = append(rules.Allow, list("Bash("+name+" *)")...)
	}
	p := newPolicy(b, rules, nil)
	for name, command := range map[string]string{
		"simple":   "git log --oneline -5",
		"pipeline": "git log --oneline | grep -v 'fix' | head -20 | wc -l",
		"compound": "if git diff --quiet; then echo clean; else go test ./... 2>&1 | head -50; fi; for f in *.go; do wc -l \"$f\"; done",
		"denied":   "cat a | grep b && timeout 5 rm -rf \"$(git log)\"",
	} {
		call := hook.NewToolCall(hook.ToolCallData{Tool: bash, Args: args("command", command)})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.BeforeTool(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
