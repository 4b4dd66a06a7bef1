package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

// told is a script in one line: the commands, (o) behind an opaque one and (t)
// behind a transparent one, ? in front of a suspect, ! in front of the doubt.
func told(s shell.Script) string {
	var out []string
	for _, c := range s.Commands {
		text := c.Text
		if c.Opaque {
			text += " (o)"
		}
		if c.Transparent {
			text += " (t)"
		}
		if c.Plain != c.Text {
			text += " = " + c.Plain
		}
		out = append(out, text)
	}
	for _, c := range s.Suspects {
		out = append(out, "?"+c.Plain)
	}
	if s.Doubt != "" {
		out = append(out, "!"+s.Doubt)
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "\x00", "…")
}

func TestRead(t *testing.T) {
	t.Parallel()
	const unknown = "!which program it runs is known only when it runs"
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"# nothing", ""},
		{"git log", "git log"},
		{"  git\tlog  ", "git log"},
		{`'git' "l"og`, "git log"},
		{`g\it lo\
g`, "git log"},
		{`a '' "" 'x y'`, "a '' '' x y"},
		{`a "\$x\"\\\n" '\n'`, `a $x"\\n \n`},
		{"a $x ${y} $1 $? \"$z\"", "a … … … … …"},
		{"a *.go x[12] ~/y", "a ….go x…12] ~/y"},
		{"a {x,y} {} HEAD@{1}", "a … {} HEAD@{1}"},
		{`{"a","b"}`, "…a,b…; " + unknown},
		{"/bin/rm x", "/bin/rm x = rm x"},
		{"A=b C=$d ./rm x", "A=b C=… ./rm x = rm x"},
		{"a && b || c | d; e & f\ng", "a; b; c; d; e; f; g"},
		{"(a; b); { c; }; ! d; time e", "a; b; c; d; e"},
		{"a $(b; c) `d` \"$(e)\" <(f)", "b; c; d; e; f; a … … … …"},
		{"if a; then b; elif c; then d; else e; fi", "a; b; c; d; e"},
		{"for x in $(a); do b; done; while c; do d; done; case $(e) in f) g;; esac", "a; b; c; d; e; g"},
		{"a <<X\n$(b)\nX", "b; a"},
		{"a <<'X'\n$(b)\nX", "a"},
		{"a 2>&1 >/dev/null 2>&-", "a"},
		{"a > x", "a; !it reads or writes a file by redirection"},
		{"a {fd}>/dev/null", "a; !it reads or writes a file by redirection"},
		{"a >&x", "a; !it reads or writes a file by redirection"},
		{"$x a", "… a; " + unknown},
		{"'a b' c", "a b c; " + unknown},
		{"$'\\x61'", "…; " + unknown},
		{"A=b", "!it sets variables"},
		{"export A=$(b)", "b; !it sets variables"},
		{"a ${b:=$(c)}", "c; a …; !it computes with variables, which can run commands"},
		{"a $(($(b)))", "b; a …; !it calculates, which can run commands"},
		{"[[ $(a) ]]", "a; !it calculates or compares, which can run commands"},
		{"f() { a; }; f", "a; f; !it defines a function"},
		{"for ((i=$(a);;)); do b; done", "a; b; !it calculates"},
		{"coproc a", "a; !it calculates or compares, which can run commands"},
		{"a\r\nb", "a; b; !it contains characters that do not show"},
		{"a \xff", "?a \xff; !it contains characters that do not show"},
		{"a; b c; if", "?a; ?b c; !it cannot be read as a shell would"},
		{"'a; A=b ./c \"d\" | then", "?a; ?c d; !it cannot be read as a shell would"},
		{"timeout -k 5s 10 nice -n5 nohup a b", "timeout -k 5s 10 nice -n5 nohup a b (t); nice -n5 nohup a b (t); nohup a b (t); a b"},
		{"timeout 5", "timeout 5"},
		{"timeout a b", "timeout a b (o); ?a b; ?b"},
		{"timeout $x a", "timeout … a (o); ?… a; ?a"},
		{"timeout --signal=KILL --foreground 5 a", "timeout --signal=KILL --foreground 5 a (t); a"},
		{"nice --adjustment 5 a; nice -7 a; nice a", "nice --adjustment 5 a (t); a; nice -7 a (t); a; nice a (t); a"},
		{"stdbuf -o L -eL a; command -p a; command -v a; builtin a", "stdbuf -o L -eL a (t); a; command -p a (t); a; command -v a; builtin a (t); a"},
		{"A=b timeout 5 a", "A=b timeout 5 a = timeout 5 a; a"},
		{"xargs a; xargs; xargs -n1 a", "xargs a (t); a …; xargs; xargs -n1 a (o); ?-n1 a; ?a"},
		{"env A=b a c", "env A=b a c (o); ?A=b a c; ?a c; ?c"},
		{"/bin/sh -c 'a; b'", "/bin/sh -c a; b (o) = sh -c a; b; ?-c a; b; ?a; b; ?a; ?b"},
		{"sh -c \"sh -c 'a; b'\"", "sh -c sh -c 'a; b' (o); ?-c sh -c 'a; b'; ?sh -c 'a; b'; ?sh -c a; b; ?-c a; b; ?a; b; ?a; ?b"},
		{"find . -exec a {} \\;", "find . -exec a {} ; (o); ?. -exec a {} ;; ?-exec a {} ;; ?a {} ;; ?{} ;; ?;"},
		{"find . -name a", "find . -name a"},
		{"printf -v 'a[$(b)]' c", "printf -v a[$(b)] c (o); ?-v a[$(b)] c; ?a[$(b)] c; ?a[; ?b; ?]; ?c"},
	} {
		assert.Equal(t, c.want, told(shell.Read(c.line)), "%q", c.line)
	}
}

// TestBounds: what is too long, too deep or too much is in doubt, has suspects, and
// takes no time.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"long":      "a; rm x; b" + strings.Repeat("#", 40_000),
		"open":      strings.Repeat("(", 20_000) + "rm x",
		"text":      "sh -c 'a; rm x; if'",
		"many args": "env " + strings.Repeat("a ", 15_000) + "; rm x",
		"chain":     strings.Repeat("nice ", 6_000) + "rm x",
		"nested if": strings.Repeat("if ", 10_000) + "rm x",
		"quotes":    strings.Repeat("`", 20_001) + "rm x",
		"braces":    strings.Repeat("{ ", 10_000) + "rm x",
	} {
		s := shell.Read(line)
		assert.Contains(t, told(s), "rm x", name)
	}
	assert.Equal(t, "it is too long or too deep to be read", shell.Read(strings.Repeat("(", 2000)).Doubt)
	assert.Equal(t, "too many of its commands only run another one", shell.Read(strings.Repeat("nice ", 30)+"rm").Doubt)
	assert.Equal(t, "it runs its arguments, and they are too many to be read", shell.Read("env "+strings.Repeat("a ", 600)).Doubt)
}

// FuzzRead: whatever the line is, what is read does not depend on blanks around it,
// a comment behind it or a pair of braces, and every command has a text.
func FuzzRead(f *testing.F) {
	for _, line := range []string{
		"git log", "a && b | c; d & e", "a $(b `c`)", "if a; then b; fi", "timeout 5 a", "sh -c 'a; b'", "a <<X\nb\nX\n", "a > b", "{a,b} *.c", "A=b c", "a \"$(b \"$c\")\"",
		"for x in 1; do a; done", "[[ a ]] && ((b))", "f() { a; }", "xargs -0 rm", "find . -exec a {} +", "a '", "case a in b) c;; esac", "\\a $'b' ${c@P}", "a\r\nb", "env -S 'a b'",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s := shell.Read(line)
		for _, c := range append(s.Commands[:len(s.Commands):len(s.Commands)], s.Suspects...) {
			if c.Text == "" || c.Plain == "" || !strings.HasSuffix(c.Text, c.Plain) && !strings.Contains(c.Text, c.Plain) {
				t.Errorf("%q: a command is %q, plainly %q", line, c.Text, c.Plain)
			}
		}
		if s.Doubt != "" || strings.Contains(line, "<<") || len(line) > 1000 {
			return
		}
		for _, form := range []string{" %s", "%s\n# x", "{\n%s\n}"} {
			if len(s.Commands) == 0 && form[0] == '{' || strings.HasSuffix(line, `\`) {
				continue
			}
			if got := told(shell.Read(fmt.Sprintf(form, line))); got != told(s) {
				t.Errorf("%q is %q, and as %q %q", line, told(s), form, got)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, line := range map[string]string{"simple": "git log --oneline -5", "compound": "cd x && go test ./... 2>&1 | head -50; echo \"$?\""} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				shell.Read(line)
			}
		})
	}
}
