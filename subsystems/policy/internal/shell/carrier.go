package shell

import (
	"strings"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/programs"
)

// kind says how a program runs the command in its arguments.
type kind int

const (
	simple      kind = iota // it runs no command
	transparent             // it runs the command and does nothing else
	opaque                  // it runs a command that is not certain
)

// carried returns the kind of a command, and for a transparent one the words of the
// command that it runs, if any.
func carried(words []word) (inner []word, k kind) {
	name, args := canonical(words[0].base()), words[1:]
	skip := 0
	switch name {
	case "command":
		if len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
			return nil, simple
		}
		skip = flags(args, "", "-p")
	case "builtin", "nohup":
	case "time":
		skip = flags(args, "", "-p")
	case "nice":
		skip = flags(args, "n adjustment", "")
		if skip == 0 && len(args) > 0 && number(args[0].text) {
			skip = 1 // nice -5
		}
	case "stdbuf":
		skip = flags(args, "i o e input output error", "")
	case "timeout":
		skip = flags(args, "k s kill-after signal", "--foreground --preserve-status -v --verbose")
		if skip >= len(args) || !strings.ContainsAny(args[skip].text[:min(1, len(args[skip].text))], ".0123456789") {
			return nil, opaque // not a duration
		}
		skip++
	case "xargs":
		if len(args) > 0 {
			args = append(args[:len(args):len(args)], word{text: string(Unknown), expands: true, loose: true})
		}
	default:
		return nil, other(name, args)
	}
	if skip > len(args) {
		return nil, simple // it fails
	}
	inner = args[skip:]
	if len(inner) > 0 && (strings.HasPrefix(inner[0].text, "-") || unknown(args[:skip])) {
		return nil, opaque // an unknown flag
	}
	return inner, transparent
}

// canonical returns the name under which a program is known: without the number of its version and without the g that some systems put
// before the programs of GNU. A name that is not known stays as it is.
func canonical(name string) string {
	low := strings.TrimSuffix(strings.ToLower(name), ".exe")
	plain := strings.TrimRight(low, "0123456789.-")
	for _, one := range []string{name, low, plain, strings.TrimPrefix(low, "g"), plain + "3"} {
		if oneOf(one, transparentNames) || other(one, nil) == opaque || programs.Table()[one] != nil {
			return one
		}
	}
	return name
}

const transparentNames = "command builtin nohup time nice stdbuf timeout xargs"

// number reports whether a flag is nothing but a number.
func number(flag string) bool {
	digits, ok := strings.CutPrefix(flag, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func unknown(words []word) bool {
	for _, w := range words {
		if w.unknown() {
			return true
		}
	}
	return false
}

// flags counts the words that are flags and their values. valued has the names of flags
// with a value, alone the spellings of flags without one.
func flags(args []word, valued, alone string) int {
	n := 0
	for n < len(args) {
		flag := args[n].text
		switch {
		case flag == "--":
			return n + 1
		case oneOf(flag, alone):
			n++
			continue
		}
		used := value(flag, valued)
		if used == 0 {
			return n
		}
		n += used
	}
	return n
}

// value returns how many words a flag with a value takes; 0 if it is not one of valued.
func value(flag, valued string) int {
	if long, ok := strings.CutPrefix(flag, "--"); ok {
		name, _, with := strings.Cut(long, "=")
		switch {
		case len(name) < 2 || !oneOf(name, valued):
			return 0
		case with:
			return 1
		}
		return 2
	}
	if len(flag) < 2 || flag[0] != '-' || !oneOf(flag[1:2], valued) {
		return 0
	}
	if len(flag) > 2 {
		return 1 // -n5
	}
	return 2
}

func oneOf(name, names string) bool {
	for names != "" {
		var one string
		if one, names, _ = strings.Cut(names, " "); one == name {
			return true
		}
	}
	return false
}

// other returns the kind of a program that is not transparent.
func other(name string, args []word) kind {
	switch name {
	case "sh", "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "tcsh", "yash", "zsh", "busybox", "toybox",
		"eval", "exec", "source", ".", "trap", "alias", "bind", "complete", "compgen", "enable", "fc", "hash", "coproc",
		"env", "sudo", "sudoedit", "doas", "su", "runuser", "pkexec", "setpriv", "capsh", "chroot", "nsenter", "unshare",
		"bwrap", "firejail", "proot", "fakeroot", "systemd-run", "dbus-run-session", "start-stop-daemon",
		"setsid", "setarch", "ionice", "chrt", "taskset", "numactl", "prlimit", "flock", "cpulimit", "caffeinate",
		"watch", "parallel", "entr", "script", "expect", "unbuffer", "strace", "ltrace", "gdb", "valgrind", "perf",
		"at", "batch", "crontab", "screen", "tmux":
		return opaque
	case "find":
		return where(args, func(a string) bool { return oneOf(a, "-exec -execdir -ok -okdir") })
	case "fd", "fdfind":
		return where(args, func(a string) bool {
			return strings.HasPrefix(a, "-x") || strings.HasPrefix(a, "-X") || strings.HasPrefix(a, "--exec")
		})
	case "mapfile", "readarray":
		return where(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "C") || subscript(a) })
	case "printf", "read", "unset", "test", "[", "let", "wait", "getopts", "help":
		return where(args, subscript)
	}
	return simple
}

// subscript reports whether a builtin that takes names of variables would run a command
// in the name: a[$(command)].
func subscript(arg string) bool {
	return strings.Contains(arg, "[") && strings.ContainsAny(arg, "$`")
}

// where returns opaque if is holds for an argument, or if one begins with an unknown part.
func where(args []word, is func(arg string) bool) kind {
	for _, a := range args {
		if is(a.text) || strings.HasPrefix(a.text, string(Unknown)) {
			return opaque
		}
	}
	return simple
}
