// Package gomod makes Go modules for tests of the generator. Each uses this module from its
// directory, with its dependencies and without a network.
package gomod

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const path = "github.com/grapnel-go/grapnel"

// Root is the directory of this module's go.mod, which is above that of every
// test.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+path+"\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("the test does not run below the go.mod of %s", path)
		}
		dir = filepath.Dir(dir)
	}
}

// New makes a module of that name in a temporary directory, which it returns,
// with these files, by their paths with slashes.
func New(t testing.TB, name string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	Write(t, dir, "go.mod", GoMod(t, name))
	sum, err := os.ReadFile(filepath.Join(Root(t), "go.sum"))
	must(t, err)
	Write(t, dir, "go.sum", string(sum))
	for file, text := range files {
		Write(t, dir, file, text)
	}
	return dir
}

// Environ returns the environment variables that the go command needs in such a module. With
// -trimpath modules with the same files share the build cache, in any directory.
func Environ() map[string]string {
	return map[string]string{"GOFLAGS": "-mod=mod -trimpath", "GOPROXY": "off", "GOWORK": "off"}
}

// GoMod returns the go.mod of a module of that name: with this module's requirements, and
// with this module instead of a published version.
func GoMod(t testing.TB, name string) string {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(Root(t), "go.mod"))
	must(t, err)
	text := regexp.MustCompile(`(?s)\ntool (\(.*?\n\)|[^\n(]*)\n`).ReplaceAllString(string(mod), "\n")
	text = strings.Replace(text, "module "+path, "module "+name, 1)
	return text + "\nrequire " + path + " v0.0.0\nreplace " + path + " => " + Root(t) + "\n"
}

// Write puts a file below a directory.
func Write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o644))
}

// Read returns a file below a directory.
func Read(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
