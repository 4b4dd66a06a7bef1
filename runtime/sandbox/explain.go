package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// Explanation is what a process with a grant would see.
type Explanation struct {
	Report
	Mode    Mode   `json:"mode"`
	Project string `json:"project"`
	// Confined: commands run without being asked about. Unasked says why not.
	Confined bool   `json:"confined"`
	Unasked  string `json:"unasked,omitzero"`
	// Writable, Readable, Protected and Absent are paths.
	Writable  []string `json:"writable"`
	Readable  []string `json:"readable"`
	Protected []string `json:"protected"`
	Hosts     []string `json:"hosts"`
	// Variables are the names of those that are set.
	Variables   []string `json:"variables"`
	UnixSockets bool     `json:"unix_sockets"`
}

// Explain returns what a process with the grant would see. It starts nothing but what [Sandbox.Report] tries out.
func (s *Sandbox) Explain(g Grant) (Explanation, error) {
	e := Explanation{Report: s.Report(), Mode: s.mode, Project: s.project, Hosts: g.Hosts, UnixSockets: g.UnixSockets}
	e.Confined, e.Unasked = s.Confines()
	look, err := s.look(g)
	if err != nil {
		return e, err
	}
	defer look.close()
	for _, f := range look.fences() {
		if !f.ReadOnly {
			continue
		}
		if rel, in := paths.Below(s.project, f.Path); in {
			f.Path = rel
		}
		e.Protected = append(e.Protected, f.Path)
	}
	for _, kv := range append(slices.Clone(s.environ), "TMPDIR=") {
		name, _, _ := strings.Cut(kv, "=")
		e.Variables = append(e.Variables, name)
	}
	slices.Sort(e.Variables)
	slot, err := s.dirs.take(false)
	if err != nil {
		return e, err
	}
	defer slot.free()
	e.Writable, e.Readable = s.paths(g, slot, look.fences())
	return e, nil
}

// String returns the explanation for people.
func (e Explanation) String() string {
	var sb strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&sb, "%-12s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("level", "%s", e.Level)
	if e.Why != "" {
		line("", "%s", e.Why)
	}
	asked := "commands in it are not asked about"
	if !e.Confined {
		asked = "commands are asked about: " + cmp.Or(e.Unasked, "the sandbox is off")
	}
	line("mode", "%s; %s", e.Mode, asked)
	if e.Level == None || e.Mode == Unrestricted {
		line("", "a command can do whatever you can do")
		e.remedies(&sb)
		return sb.String()
	}
	line("project", "%s", e.Project)
	list := func(name string, paths []string) {
		for i, p := range paths {
			if i > 0 {
				name = ""
			}
			line(name, "%s", p)
		}
	}
	list("writable", e.Writable)
	list("read-only", e.Readable)
	if len(e.Protected) > 0 {
		list("protected", e.Protected)
	}
	network := "none but its own loopback"
	switch {
	case e.Level == Reduced && len(e.Hosts) > 0:
		network = "all of it: this level cannot keep a command to " + strings.Join(e.Hosts, ", ")
	case e.Level == Reduced:
		network = "none"
	case len(e.Hosts) > 0:
		network = strings.Join(e.Hosts, ", ") + ", for programs that use HTTP_PROXY or HTTPS_PROXY; its own loopback"
	}
	line("network", "%s", network)
	sockets := "refused"
	if e.UnixSockets {
		sockets = "allowed; none from outside is there"
	}
	line("sockets", "unix sockets are %s", sockets)
	line("limits", "%s", e.Limits)
	line("variables", "%s", strings.Join(e.Variables, " "))
	list("open", e.Open)
	e.remedies(&sb)
	return sb.String()
}

// remedies writes how to get the full level.
func (e Explanation) remedies(sb *strings.Builder) {
	if len(e.Remedy) > 0 {
		sb.WriteString("\nFor the full level:\n  " + strings.Join(e.Remedy, "\n  ") + "\n")
	}
}

// there keeps the paths that exist.
func there(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { _, err := os.Lstat(p); return err != nil })
}
