package sandbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/internal/protected"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// seatbelt returns the profile of sandbox-exec with which macOS grants what a process may do. temp is a directory for what is
// temporary, and port that of the proxy on this machine, 0 for none.
//
// Rules are searched from the last to the first: what stands below overrides what stands above it.
func (s *Sandbox) seatbelt(g Grant, temp string, port int) string {
	var p profile
	p.add("(version 1)")
	p.add("(deny default)")
	p.add("(allow process-exec process-fork sysctl-read file-read-metadata)")
	p.add("(allow signal process-info* (target same-sandbox))")
	p.add("(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))")
	p.paths("allow file-read*", append([]string{"/usr", "/bin", "/sbin", "/System", "/Library", "/Applications/Xcode.app", "/opt", "/private/etc",
		"/private/var/db/timezone", "/dev"}, tools.Programs(s.env["PATH"], s.home, s.project, s.dirs.state)...)...)
	for _, rel := range tools.Home() {
		p.paths("allow file-read*", filepath.Join(s.home, rel))
	}
	for _, c := range tools.Caches() {
		if dir := c.At(s.env, s.home); dir != "" {
			p.paths("allow file-read*", dir)
		}
	}
	p.paths("allow file-read*", append(g.Read, s.readable...)...)
	open := s.project
	if g.Below != "" {
		open = g.Below
	}
	p.paths("allow file-read*", append([]string{open, temp}, g.Write...)...)
	p.paths("deny file-read* file-write*", s.hidden...)
	p.paths("allow file-read*", s.readable...)
	p.paths("allow file-write*", append([]string{temp}, g.Write...)...)
	p.add(`(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))`)
	if !g.ReadOnly && s.mode != ReadOnly {
		p.paths("allow file-write*", open)
		p.protect(s.project)
	}
	if port > 0 {
		p.add(fmt.Sprintf(`(allow network-outbound (remote ip "localhost:%d"))`, port))
	}
	if g.UnixSockets {
		p.paths("allow network-bind network-inbound network-outbound", open, temp)
	}
	return p.String()
}

// profile collects the lines of a profile.
type profile struct{ strings.Builder }

func (p *profile) add(line string) { p.WriteString(line + "\n") }

// paths adds a rule for all that is below some paths.
func (p *profile) paths(what string, paths ...string) {
	var parts []string
	for _, path := range paths {
		if filepath.IsAbs(path) {
			parts = append(parts, "(subpath "+quoted(path)+")")
		}
	}
	if len(parts) > 0 {
		p.add("(" + what + " " + strings.Join(parts, " ") + ")")
	}
}

// protect forbids to change, make or move what runs code outside later, at every depth of the project: here a place need not exist.
func (p *profile) protect(project string) {
	at := "^" + regexp.QuoteMeta(project) + "/(.*/)?"
	p.add("(deny file-write* (regex #" + quoted(at+`\.git$`) + "))")
	for _, name := range protected.InGitDir() {
		p.add("(deny file-write* (regex #" + quoted(at+`\.git/(modules/.*/)?`+regexp.QuoteMeta(name)+"(/.*)?$") + "))")
	}
	for _, name := range protected.InWorktree() {
		p.add("(deny file-write* (regex #" + quoted(at+regexp.QuoteMeta(name)+"(/.*)?$") + "))")
	}
}

// quoted writes a text as the profile's language does.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
