package shell_test

import (
	"strings"
	"testing"
)

// TestTimeIsBounded: no line of the longest length takes long, whatever is nested or repeated in it.
func TestTimeIsBounded(t *testing.T) {
	t.Parallel()
	r := strings.Repeat
	for _, line := range map[string]string{
		"parens":  r("(", 999) + "ls" + r(")", 999),
		"subst":   r("$(", 900) + "ls" + r(")", 900),
		"dq":      r("\"$(", 900) + "ls" + r(")\"", 900),
		"bq":      r("echo `", 1) + "ls`",
		"sudo":    "sudo " + r("a ", 15000),
		"sudoq":   "sudo " + r("'a b' ", 490),
		"sh4":     "sh -c 'sh -c \"sh -c a\\ b\" " + r("\"x y z\" ", 400) + "'",
		"env":     r("env 'a;b' ", 3000),
		"parts":   r("ls;", 10900),
		"parts2":  r("sudo a;", 4600),
		"git":     "git log " + r("--oneline ", 3000),
		"sed":     "sed '" + r("s/a/b/;", 4600) + "'",
		"sede":    "sed " + r("-e p ", 6000),
		"awk":     "awk '" + r("{print}", 4600) + "'",
		"cat":     "cat " + r("a/b ", 8000),
		"vals":    "grep -e x " + r("a ", 15000),
		"colon":   "x " + r("a:", 15000),
		"heredoc": "cat <<E\n" + r("$(ls)", 500) + "\nE",
		"funcs":   r("f() { ", 900) + "ls" + r("; }", 900),
		"funcs2":  r("f() { f & ", 900) + "ls" + r("; }", 900),
		"timec":   r("time ", 6000) + "ls",
		"trap":    r("trap 'ls; ls' EXIT;", 1500),
		"brace":   r("{ ", 5000) + "ls;" + r(" }", 5000),
		"if":      r("if ls; then ", 2000) + "ls" + r("; fi", 2000),
		"pipes":   r("a b|sh|", 4000) + "sh",
		"shells":  r("sh $(", 900) + "a b" + r(")", 900),
		"texts":   r("python3 -c 'git \"x y\" \"z w\"';", 1000),
		"fed":     "echo " + r("'echo \"a b\" \"c d\" | sh' ", 1000) + "| sh",
		"pushes":  "sudo " + r("git ", 8000),
		"values":  r("A='b c' ", 4000) + "ls",
		"arith":   "echo $((" + r("(", 900) + "1" + r(")", 900) + "))",
	} {
		reader.Read(line)
	}
}
