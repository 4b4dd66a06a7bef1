package script_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/script"
)

func TestHarmless(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		problem func(string) string
		texts   []string
	}{
		"sed": {script.Sed, []string{
			"", "p", "1p", "$p", "1,5p", "1~2p", "/a/p", "/a/,/b/d", "/a/I,$!d", "s/a/b/", "s,a,b,g", "s|/|e|2p", "s/a\\/e/w/", "y/ab/cd/", "/^#/d;/^$/d", "1{p;q}", "$!N;P;D", ":a;s/x/y/;ta", "a text", "i\\ text", "=", "l 5", "n\nd",
			"s/[a-z]*/x/",
		}},
		"awk": {script.Awk, []string{"{print $1}", "$3 > 5 {print}", "$1 >= 2 { n++ } END {print n >= 3}", "/a/ || /b/", "NR==1", "{printf \"%s\\n\", $2}"}},
		"jq":  {script.Jq, []string{".", ".a.b", ".[] | select(.x == 1)", "keys | length", "map({a, b: .c})", ".environment"}},
	} {
		for _, text := range c.texts {
			assert.Empty(t, c.problem(text), "%s %q", name, text)
		}
	}
}

func TestHarmful(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		problem func(string) string
		texts   []string
	}{
		"sed": {script.Sed, []string{
			"e", "1e x", "$!e x", "p;e x", "{p;e x}", "s/a/b/e", "s/a/b/ge", "s/a/b/w x", "s,a,b,we", "w x", "1w x", "/a/w x", "W x", "r x", "R x", "s/a/b/;e x", "s/a/b/\ne x", "y/a/b/;e x", ":a;e x", "ba;e x", "s/[/e]/x/", "/[/]/e x",
			"s/a/b", "s", "y/a", "k", "\\,a,e x", "a\\\ne x", "s\na\nb\ne", "s\\a\\b\\e", "F;e", "1,2", "s/a/b/x", "L", "s a b e",
		}},
		"awk": {script.Awk, []string{
			`BEGIN{system("x")}`, `{print > "x"}`, `{print >> "x"}`, `{print | "x"}`, `{print |& "x"}`, `{"x" | getline}`, `{while ((getline l < "x") > 0) print l}`, `@load "x"`, `{f = "system"; @f("x")}`, `{print ENVIRON["x"]}`, `BEGIN{ARGV[1]="x"}`,
			`"}"{print > "x"}`, `/}/{print > "x"}`, `{x = "}"; print > "x"}`, `{print $1 > $2}`,
		}},
		"jq": {script.Jq, []string{"env", "env.X", "$ENV.X", "import \"x\" as y; .", "include \"x\"; .", "$__prog_args", ".a, env", "repeat(.)", "until(false; .)"}},
	} {
		for _, text := range c.texts {
			assert.NotEmpty(t, c.problem(text), "%s %q", name, text)
		}
	}
}

// FuzzSed: whatever a script is, the reader ends, and no script with a command that runs a program is harmless with more behind it.
func FuzzSed(f *testing.F) {
	for _, text := range []string{"p", "1,5p", "s/a/b/e", "1e x", "/[/]/e x", "y/a/b/;w x", "a text", ":a;ta", "$!{N;D}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if script.Sed(text) != "" && script.Sed(text+";p") == "" && !strings.ContainsAny(text, "aic") {
			t.Errorf("%q is harmful, and with ;p it is not", text)
		}
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]script.Search{
		". -name x":                                    {Starts: []string{"."}, Narrow: false},
		"-delete":                                      {Starts: []string{"."}, Deletes: true},
		"-L a b -type f -delete":                       {Starts: []string{"a", "b"}, Deletes: true},
		". -name *.pyc -delete":                        {Starts: []string{"."}, Deletes: true, Narrow: true},
		". -name * -delete":                            {Starts: []string{"."}, Deletes: true},
		". ! -name x -delete":                          {Starts: []string{"."}, Deletes: true},
		". -name x -o -type f -delete":                 {Starts: []string{"."}, Deletes: true},
		". -name .git -exec rm -rf {} ;":               {Starts: []string{"."}, Deletes: true, Git: true},
		". -path ./.git -prune -o -type f -delete":     {Starts: []string{"."}, Deletes: true, Narrow: true},
		". -not -path ./.git/* -type f -delete":        {Starts: []string{"."}, Deletes: true, Narrow: true},
		". -maxdepth 1 -type f -delete":                {Starts: []string{"."}, Deletes: true, Narrow: true},
		". -mindepth 1 -maxdepth 1 -exec /bin/rm {} +": {Starts: []string{"."}, Deletes: true},
		". -name *.pem -exec cat {} +":                 {Starts: []string{"."}, Read: []string{"\x00.pem"}},
	} {
		assert.Equal(t, want, script.Find(strings.Fields(line)), line)
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"a 'b'", "c", "d"}, script.Quoted("x(\"a 'b'\", 'c') `d` 'e"))
}
