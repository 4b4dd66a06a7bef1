package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// The walk of somebody who follows what is printed.
func TestNew(t *testing.T) {
	needs.Time(t)
	dir := newModule(t, "tool")
	code, stdout, stderr := hookgen(t, "new", "-C", dir, "notes", "-tools", "add,list", "-into", "./daemon.Daemon")
	assert.Equal(t, failed, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "hookgen: -into \"./daemon.Daemon\": there are no Go files in \"./daemon\"\n", stderr)

	require.NoError(t, os.Mkdir(filepath.Join(dir, "daemon"), 0o755))
	daemon := filepath.Join(dir, "daemon", "daemon.go")
	require.NoError(t, os.WriteFile(daemon, []byte("package daemon\n\n// Daemon joins.\n//\n//hook:composite\ntype Daemon struct{}\n"), 0o644))

	t.Setenv("HOOKGEN_CHECK", "1")
	code, stdout, stderr = hookgen(t, "new", "-C", dir, "notes", "-tools", "add,list", "-into", "./daemon.Daemon")
	assert.Equal(t, differs, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "hookgen: ./subsystems/notes is not there yet: run the command without HOOKGEN_CHECK\n", stderr)
	assert.NoDirExists(t, filepath.Join(dir, "subsystems"))
	t.Setenv("HOOKGEN_CHECK", "")

	code, stdout, stderr = hookgen(t, "new", "-C", dir, "notes", "-tools", "add,list", "-into", "./daemon.Daemon")
	assert.Equal(t, succeeded, code)
	assert.Empty(t, stderr)
	assert.Equal(t, `subsystems/notes/notes.go                 yours: type Notes, New, notes_add, notes_list
subsystems/notes/notes_test.go            yours: the rules of every hook, and what each tool does
subsystems/notes/testdata/descriptor.txt  yours: points and tools, for reviews; go test -update writes it
subsystems/notes/hook_gen.go              generated
daemon/hook_gen.go                        generated
daemon/daemon.go                          a field Notes in Daemon, and its import
next:
	go get -tool github.com/grapnel-go/grapnel/cmd/hookgen
	go mod tidy
	fill in subsystems/notes/notes.go, then its test
	set the field where Daemon is made:  Notes: notes.New()
	go tool hookgen ./...
	go test ./subsystems/notes -update
`, stdout)
	readme, err := os.ReadFile("../../examples/subsystem/README.md")
	require.NoError(t, err)
	shown := strings.Replace(stdout, "\tgo get -tool github.com/grapnel-go/grapnel/cmd/hookgen\n", "", 1) // there it is done already
	assert.Contains(t, string(readme), "$ go get -tool github.com/grapnel-go/grapnel/cmd/hookgen\n$ go tool hookgen new notes -tools add,list -into ./daemon.Daemon\n"+shown+"```\n")

	text, err := os.ReadFile(daemon)
	require.NoError(t, err)
	assert.Equal(t, "package daemon\n\nimport \"example.com/p/subsystems/notes\"\n\n// Daemon joins.\n//\n//hook:composite\ntype Daemon struct {\n\tNotes *notes.Notes\n}\n", string(text))

	for _, check := range []string{"", "1"} {
		t.Setenv("HOOKGEN_CHECK", check)
		code, stdout, stderr = hookgen(t, "new", "-C", dir, "-tools=add,list", "notes", "-into", "./daemon.Daemon")
		assert.Equal(t, succeeded, code)
		assert.Empty(t, stderr)
		assert.Equal(t, "./subsystems/notes has type Notes and all of its tools: nothing to do\n", stdout)
	}
	t.Setenv("HOOKGEN_CHECK", "")
	code, stdout, stderr = hookgen(t, "new", "-C", dir, "notes", "-tools", "find")
	assert.Equal(t, failed, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "subsystems/notes/notes.go:17:6: error HG060: Notes exists and has no notes_find")
	assert.Contains(t, stderr, "more: hookgen explain HG060\n")
	code, _, stderr = hookgen(t, "-C", dir, "-check", "./subsystems/...", "./daemon")
	assert.Equal(t, succeeded, code, stderr)
}

func TestNewUsage(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		err  string
	}{
		{"no name", []string{"new"}, failed, "the name of the subsystem is missing: hookgen new notes -tools add,list"},
		{"two names", []string{"new", "notes", "add", "list"}, failed, `new takes one name, not ["notes" "add" "list"]; tools are written -tools add,list`},
		{"an empty tool", []string{"new", "notes", "-tools", "add,,list"}, failed, "a name in -tools is empty"},
		{"blanks", []string{"new", "notes", "-tools", "add, list"}, failed, `" list" is not the name of a tool`},
		{"an unknown flag", []string{"new", "notes", "-tool", "add"}, failed, "flag provided but not defined: -tool"},
		{"help", []string{"new", "-h"}, succeeded, "usage: hookgen new NAME [flags]"},
		{"a path", []string{"new", "subsystems/notes"}, failed, "write the name alone, and the directory behind -dir"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := hookgen(t, tt.args...)
			assert.Equal(t, tt.code, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tt.err)
		})
	}
}
