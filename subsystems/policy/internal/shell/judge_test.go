package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

var reader = shell.Reader{Root: "/home/me/project", Home: "/home/me", Private: []string{"/home/me/.local/state/grapnel"}}

// judged is the verdict about a line, with the reason and the part.
func judged(line string) string {
	s := reader.Read(line)
	if s.Verdict() == "safe" {
		return "safe"
	}
	return fmt.Sprintf("%s: %s [%s]", [...]string{"safe", "rule", "never", "deny"}[s.Level], s.Reason, strings.ReplaceAll(s.Part, "\x00", "…"))
}

// TestJudge has a line for each thing that the judge knows, with the reason and the part of the line.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"ls -la && cat a | head -5", "safe"},
		{"", "safe"},
		{"ls > x", "never: it reads or writes a file by redirection [> x]"},
		{"ls &", "rule: it stays in the background [ls &]"},
		{"for i in 1; do ls; done", "rule: it is more than a list of commands [for i in 1; do ls; done]"},
		{"if", "never: it cannot be read as a shell would [if]"},
		{"echo a\u200b", "never: it contains characters that do not show [echo a\u200b]"},
		{"echo a\u3164", "never: it contains characters that do not show [echo a\u3164]"},
		{"x y", "rule: it is not known what x does [x y]"},
		{"x --exec y", "never: --exec may make it run another program [x --exec y]"},
		{"x '$(y)'", "never: an argument has a command in it [$(y)]"},
		{"x --file=.env", "never: its name says that it has secrets [--file=.env]"},
		{"./cat a", "rule: a path or another spelling names the program [./cat]"},
		{"sudo ls", "never: it is not known what sudo runs [sudo ls]"},
		{"timeout 5 ls", "safe"},
		{"xargs", "rule: xargs runs what it gets [xargs]"},
		{"ls --unknown", "never: the flag --unknown of ls is not known to be harmless [ls --unknown]"},
		{"ls -lQ~", "never: the flag -~ of ls is not known to be harmless [ls -lQ~]"},
		{"sort --outp=x f", "never: the flag --outp of sort is not known to be harmless [sort --outp=x f]"},
		{"sort -rox f", "never: -o writes a file [sort -rox f]"},
		{"sort $x", "never: which flags and files sort gets is known only when it runs […]"},
		{"head -n5 a; head -n 5 a; head -5 a; head --lines=5 a; head -qn5 a", "safe"},
		{"head -n \"$x\" a", "safe"},
		{"head -n $x a", "never: the value of -n is known only when it runs […]"},
		{"cat .env", "never: its name says that it has secrets [.env]"},
		{"cat .env.example", "safe"},
		{"cat '.e*' .e*", "never: its name says that it has secrets [.e…]"},
		{"cat ~/x", "rule: it is outside of the project [~/x]"},
		{"cat ~/.x", "never: what lies there is not of the project [~/.x]"},
		{"cat /home/me/project/x /usr/include/y", "safe"},
		{"cat /dev/zero", "never: it is a device [/dev/zero]"},
		{"cat /proc/1/environ", "never: the kernel shows there what programs have in memory and in their environment [/proc/1/environ]"},
		{"cat //host/x", "never: it may be on another machine [//host/x]"},
		{"cat \"$x\"", "never: which file it reads is known only when it runs […]"},
		{"grep -r x ..", "never: below it is more than the project [..]"},
		{"grep .env a; grep -e x a", "safe"},
		{"grep -e x .env", "never: its name says that it has secrets [.env]"},
		{"grep -f a .env", "never: its name says that it has secrets [.env]"},
		{"ls ~; ls .env", "rule: it is outside of the project [~]"},
		{"ls ~/.ssh", "never: its name says that it has secrets [~/.ssh]"},
		{"uniq a b", "never: uniq writes its second operand [uniq a b]"},
		{"seq 5; seq 1 99999999", "never: it is not a small number [99999999]"},
		{"echo $x", "rule: what echo gets is known only when it runs […]"},
		{"echo $API_TOKEN", "never: it shows the value of a variable with the name of a secret […]"},
		{"echo $HOME ~ -- --x", "safe"},
		{"whoami x", "never: it is not known what whoami x does [whoami x]"},
		{"test 'a[$(x)]'", "never: it is not known what test runs [test a[$(x)]]"},
		{"find . -name '*-exec*'", "safe"},
		{"find . --delete", "never: -delete deletes files [find . --delete]"},
		{"sed -n '1,5p;/a/{p;q}' f", "safe"},
		{"sed 's/a/b/gI' f", "safe"},
		{"sed -i s/a/b/ f", "rule: -i changes what sed does [sed -i s/a/b/ f]"},
		{"sed -i s/a/b/ .git/config", "never: other programs load or run what is there [.git/config]"},
		{"sed 's/a/b/e' f", "never: the flag e of s in sed runs a command [s/a/b/e]"},
		{"sed '1e x' f", "never: e of sed runs a command [1e x]"},
		{"sed 'k' f", "never: the script of sed cannot be read [k]"},
		{"awk '$3 > 5 {print $1}' f", "rule: awk can do anything that its program says [awk $3 > 5 {print $1} f]"},
		{"awk '{print > \"x\"}' f", "never: > in an action of awk writes a file [{print > \"x\"}]"},
		{"jq .a f", "safe"},
		{"jq -n env", "never: env of jq reads variables or files, or may not end [env]"},
		{"git log", "rule: git log reads the repository, whose configuration can run programs [git log]"},
		{"git foo", "never: it is not known what git foo does [git foo]"},
		{"git -C x log", "never: -C reads the configuration of another repository, which can run programs [git -C x log]"},
		{"cd x && git log", "never: another directory may have a repository of its own, whose configuration can run programs [git log]"},
		{"cd . && git --no-pager log", "rule: git log reads the repository, whose configuration can run programs [git --no-pager log]"},
		{"git push -f", "never: -f rewrites history [git push -f]"},
		{"git push https://x.example", "never: it is not the name of a remote of the repository [https://x.example]"},
		{"git push origin +a", "never: it deletes or overwrites what another machine has [+a]"},
		{"cd ..", "never: the directory is outside of the project [..]"},
		{"cd .git", "never: other programs load or run what is there [.git]"},
		{"cd", "never: without an operand it is not known what cd does [cd]"},
		{"python3 a.py --x -c", "rule: python3 runs the code of the project [python3 a.py --x -c]"},
		{"python3 ../a.py", "never: the code is outside of the project [../a.py]"},
		{"python3 -c x", "never: -c runs the code in its arguments [python3 -c x]"},
		{"python3", "never: without an operand it is not known what python3 does [python3]"},
		{"python3 -", "never: it runs what it gets from standard input [-]"},
		{"go run x@latest", "never: the code is not of the project [x@latest]"},
		{"go test ./... -args -exec x", "never: -args passes flags to the test program, with which it writes files [go test ./... -args -exec x]"},
		{"go test -exec x", "never: -exec runs another program [go test -exec x]"},
		{"make CC=x", "never: it is not the name of a target [CC=x]"},
		{"npm install x", "rule: npm install takes code from another machine and runs its scripts [npm install x]"},
		{"npm install git+https://x.example", "never: it is not the name of a package [git+https://x.example]"},
		{"curl https://x.example/a", "rule: curl reaches another machine [curl https://x.example/a]"},
		{"curl -X POST https://x.example", "never: the method can change things [POST]"},
		{"curl file:///etc/passwd", "never: it is an address of another kind [file:///etc/passwd]"},
		{"curl http://169.254.169.254/x", "never: a cloud gives secrets at this address [http://169.254.169.254/x]"},
		{"curl https://x.example/$y", "never: which flags and files curl gets is known only when it runs [https://x.example/…]"},
		{"curl \"https://x.example/$y\"", "never: what it reaches is known only when it runs [https://x.example/…]"},
		{"kubectl get secrets", "never: it shows secrets [secrets]"},
		{"tar cf h:x f", "never: the archive is on another machine [h:x]"},
		{"rm x", "rule: rm deletes files [rm x]"},
		{"rm /tmp/x", "never: it is outside of the project [/tmp/x]"},
		{"rm \"$x\"", "never: which flags and files rm gets is known only when it runs […]"},
		{"rm -r .", "never: it is all of the project [.]"},
		{"NO_COLOR=1 ls", "rule: it sets variables for the command [NO_COLOR=1 ls]"},
		{"A=b ls", "rule: the variable A may change what programs do [A=b]"},
		{"A=$b ls", "never: the variable A may change what programs do [A=…]"},
		{"x() { ls; }", "never: it defines a function [x() { ls; }]"},
		{"cat ~/.local/state/grapnel/x", "deny: it is the daemon's own [~/.local/state/grapnel/x]"},
		{"sqlite3 ~/.local/state/grapnel/x", "deny: it is the daemon's own [~/.local/state/grapnel/x]"},
		{"x --db=/home/me/.local/state/grapnel/x", "deny: it is the daemon's own [--db=/home/me/.local/state/grapnel/x]"},
		{"cat ~/.local/state/*/x", "deny: it is the daemon's own [~/.local/state/…/x]"},
		{"cat ~/.local/sta*e/gr?pn*/x", "deny: it is the daemon's own [~/.local/sta…e/gr…pn…/x]"},
		{"cat ~/.local/state/x*/x", "never: what lies there is not of the project [~/.local/state/x…/x]"},
		{"sudo cat /home/me/.local/state/grapnel/x", "deny: it is the daemon's own [/home/me/.local/state/grapnel/x]"},
		{"sh -c 'cat ~/.local/state/grapnel/x'", "deny: it is the daemon's own [~/.local/state/grapnel/x]"},
		{"echo ~/.local/state/grapnel; grep ~/.local/state/grapnel a", "safe"},
		{"ls > ~/.local/state/grapnel/x", "deny: it is the daemon's own [> ~/.local/state/grapnel/x]"},
		{"rm -rf \"$HOME\"/*", "deny: it deletes the system or the home directory [rm -rf …/…]"},
		{"ls; sudo sh -c 'rm -rf /'", "deny: it deletes the system or the home directory [rm -rf /]"},
		{"dd if=x of=/dev/sda", "deny: it writes to a device [dd if=x of=/dev/sda]"},
		{"ls > /dev/sda", "deny: it writes to a device [> /dev/sda]"},
		{"mkfs.ext4 x", "deny: it destroys what is on a disk [mkfs.ext4 x]"},
		{"chmod -R 777 /etc", "deny: it changes the system or the home directory as a whole [chmod -R 777 /etc]"},
		{":(){ :|:& };:", "deny: it starts itself again and again [:(){ :|:& }]"},
		{"ls --version", "rule: it is not known that ls only prints something about itself [ls --version]"},
		{"python3.11 -c x; gsed 1e f", "never: -c runs the code in its arguments [python3.11 -c x]"},
	} {
		assert.Equal(t, c.want, judged(c.line), "%q", c.line)
	}
}

// TestFixed: how much of a command's text a pattern must have without a wildcard.
func TestFixed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git log -5":                            "",
		"git push origin main":                  "git push",
		"git --no-pager push origin":            "git --no-pager push",
		"npm ci":                                "npm ci",
		"npx tsc --noEmit":                      "npx tsc",
		"go tool x y":                           "go tool x",
		"A=b x y":                               "A=b ",
		"NO_COLOR=1 A=b git push":               "NO_COLOR=1 A=b git push",
		"NO_COLOR=1 x":                          "",
		"curl -s https://a.example/b/c":         "curl -s https://a.example/",
		"curl https://a.example":                "curl https://a.example",
		"curl https://a.example https://b.c/d":  "curl https://a.example https://b.c/",
		"curl https://a@b.example/c":            "curl https://a@b.example/",
		`curl 'https://a.example\@b.example/c'`: `curl https://a.example\`,
		"dig @a.example b":                      "dig @a.example b",
	} {
		c := reader.Read(line).Commands[0]
		assert.Equal(t, want, c.Text[:c.Fixed], line)
	}
}

// FuzzJudge: whatever the line is, the judge ends, and no verdict becomes milder when a command is added to the line.
func FuzzJudge(f *testing.F) {
	for _, line := range []string{
		"git log", "ls -la | head -5", "rm -rf /", "sed -n '1,5p' f", "awk '{print $1}' f", "find . -exec x {} +", "curl https://a.example/b", "timeout 5 nice cat .env", "A=b ls", "cd x && git log", "jq .a f",
		"echo ${x@P}", "cat <<E\n$(x)\nE", "x() { x | x & }; x", "git push origin +a:b", "go test -run X ./... -args y", "printf -v 'a[$(x)]' y", "tar czf a.tgz b", "{rm,-rf,/}", "ls \u200b", "'a", "sh -c 'rm -rf ~'",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		alone := reader.Read(line)
		if alone.Level > shell.Safe && (alone.Reason == "" || alone.Part == "" && line != "") {
			t.Errorf("%q: %s without a reason or a part: %v", line, alone.Verdict(), alone.Finding)
		}
		for _, c := range alone.Commands {
			if c.Level > alone.Level || c.Fixed < 0 || c.Fixed > len(c.Text) {
				t.Errorf("%q: %q has the level %d and %d fixed bytes, the line the level %d", line, c.Text, c.Level, c.Fixed, alone.Level)
			}
		}
		for _, form := range []string{"%s\nls", "ls\n%s", "ls; %s"} {
			more := reader.Read(fmt.Sprintf(form, line))
			parsed := alone.Doubt == "" && more.Doubt == ""
			if more.Level < alone.Level && (parsed || alone.Level == shell.Forbidden) && !strings.HasSuffix(strings.TrimRight(line, "\r"), `\`) {
				t.Errorf("%q is %s, and as %q %s", line, alone.Verdict(), form, more.Verdict())
			}
		}
	})
}

// BenchmarkJudge is one line from the text to the verdict.
func BenchmarkJudge(b *testing.B) {
	for name, line := range map[string]string{
		"simple":   "git log --oneline -5",
		"pipeline": "grep -rn 'fix' src --include='*.go' | head -20 | wc -l",
		"compound": "cd sub && go test ./... 2>&1 | head -50; echo \"$?\"",
		"danger":   "git log && timeout 5 find . -name x -exec rm {} \\;",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				reader.Read(line)
			}
		})
	}
}
