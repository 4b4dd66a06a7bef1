package paths_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
)

var project = paths.Project{Root: "/home/me/project", Home: "/home/me", Private: []string{"/home/me/.local/state/grapnel"}}

// word is a path with … for each unknown part.
func word(text string) paths.Word {
	return paths.Word{Text: strings.ReplaceAll(text, "…", string(paths.Unknown))}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]paths.Place{
		"a": paths.Inside, "./a/../b": paths.Inside, "/home/me/project/a": paths.Inside, "../project2": paths.Outside, "..": paths.Above, "/": paths.Above, "~": paths.Above, "~/x": paths.Outside, "~/.x": paths.Sensitive,
		"~other": paths.Sensitive, ".env": paths.Sensitive, "a/id_rsa": paths.Sensitive, "service-account-7.json": paths.Sensitive, "credentials.go": paths.Inside, ".env.example": paths.Inside, "/usr/include/x.h": paths.Public,
		"/dev/sda": paths.Device, "/proc/1/environ": paths.Sensitive, "//host/a": paths.Network, "~/.local/state/grapnel/x": paths.Private, "~/.local/st…/grap…/x": paths.Private,
	} {
		got, _ := project.Place(word(text))
		assert.Equal(t, want, got, text)
	}
}

// TestOwnFiles: a path is one of a repository itself by its name, by a glob, and after a change of the directory.
func TestOwnFiles(t *testing.T) {
	t.Parallel()
	moved, inside := project, project
	moved.Moved, inside.InGit = true, true
	for text, want := range map[string][3]bool{ // in the project, after a change of the directory, after one to .git
		".git": {true, true, true}, "a/.GIT/x": {true, true, true}, "/home/me/project/.git": {true, true, true}, "../project/.git": {true, true, true}, "…/.git": {true, true, true}, "of=.git/x": {true, true, true},
		".…": {true, true, true}, ".g…t": {true, true, true}, "./.…!.]…": {true, true, true}, ".…g]it": {true, true, true},
		"…": {false, false, true}, "…git": {false, false, true}, ".gitignore": {false, false, true}, ".github/x": {false, false, true}, ".gitkeep…": {false, false, true},
		"../.git": {false, true, false}, "/tmp/.git": {}, "~/.git": {},
	} {
		for i, p := range []paths.Project{project, moved, inside} {
			assert.Equal(t, want[i], p.OwnFiles(word(text)), "%s, %d", text, i)
		}
	}
	assert.True(t, project.OwnFiles(paths.Word{Text: "\x00", Braces: "{a,.git}"}))
	assert.True(t, project.OwnFiles(paths.Word{Text: "\x00/.git", Pwd: true}))
	assert.False(t, project.OwnFiles(paths.Word{Text: "\x00/.git", Home: true}))
	assert.False(t, paths.Project{}.OwnFiles(word("/a/.git")), "without a root every absolute path is outside")
}

func TestIsProject(t *testing.T) {
	t.Parallel()
	moved := project
	moved.Moved = true
	for text, want := range map[string][2]bool{
		".": {true, false}, "./": {true, false}, "a/..": {true, false}, "..": {true, true}, "/home/me": {true, true}, "/home/me/project": {true, true}, "../project": {true, false}, "../other": {}, "a": {}, "…": {}, "/home/me/project/a": {}, "/tmp": {},
	} {
		for i, p := range []paths.Project{project, moved} {
			assert.Equal(t, want[i], p.IsProject(word(text)), "%s, %d", text, i)
		}
	}
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		".env": true, "a/.env.local": true, "….pem": true, ".ssh/config": true, "/home/me/project/id_rsa": true, "credentials/x": true,
		"credentials/store.go": false, ".env.example": false, "…": false, "….go": false, ".": false, "/tmp/.env": false, "~/.env": false, "secrets.py": false,
	} {
		assert.Equal(t, want, project.Keeps(word(text)), text)
	}
}
