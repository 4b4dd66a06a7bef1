package mcp

import (
	"os"
	"slices"
)

// inherited returns the variables that every server inherits from this process: those that
// programs need, without secrets. All others must be in the server's entry.
func inherited() []string {
	return []string{
		"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		// Programs on Windows need these, too.
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
		"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	}
}

// environment returns the environment of a server's process: the inherited variables, then
// those of its entry, which override them.
func (m *MCP) environment(entry map[string]string) []string {
	var env []string
	for _, name := range inherited() {
		if value, set := m.lookup(name); set {
			env = append(env, name+"="+value)
		}
	}
	if m.o.Dir != "" {
		env = append(env, "CLAUDE_PROJECT_DIR="+m.o.Dir)
	}
	configured := make([]string, 0, len(entry))
	for name, value := range entry {
		configured = append(configured, name+"="+value)
	}
	slices.Sort(configured)
	return append(env, configured...)
}

func (m *MCP) lookup(name string) (string, bool) {
	if m.o.Lookup == nil {
		return os.LookupEnv(name)
	}
	return m.o.Lookup(name)
}
