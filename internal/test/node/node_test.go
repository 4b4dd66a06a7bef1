package node_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/node"
)

// outcome is a test that only records how Require ends it.
type outcome struct {
	testing.TB
	failed, skipped string
}

func (o *outcome) Helper() {}
func (o *outcome) Fatalf(format string, args ...any) {
	o.failed = fmt.Sprintf(format, args...)
	panic(o)
}
func (o *outcome) Skip(args ...any) {
	o.skipped = fmt.Sprint(args...)
	panic(o)
}

// require returns how Require ended.
func require(t *testing.T, program string) *outcome {
	t.Helper()
	o := &outcome{TB: t}
	func() {
		defer func() { assert.Same(t, o, recover()) }()
		node.Require(o, program)
	}()
	return o
}

// haveNode puts a program named node into PATH.
func haveNode(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "node"), []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", dir)
}

func TestMissingProgramFailsInCI(t *testing.T) {
	haveNode(t)
	t.Setenv("CI", "true")
	assert.Contains(t, require(t, "no-such-program").failed, "run: npm ci")
}

func TestMissingProgramIsSkipped(t *testing.T) {
	haveNode(t)
	t.Setenv("CI", "")
	assert.Contains(t, require(t, "no-such-program").skipped, "run: npm ci")
}

func TestMissingNode(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("PATH", "")
	assert.Equal(t, needs.Missing+"node (20 or later) is not in PATH", require(t, "skills-ref").skipped)
}

func TestInstalledProgram(t *testing.T) {
	info, err := os.Stat(node.Require(t, "skills-ref"))
	assert.NoError(t, err)
	assert.False(t, info.IsDir())
}

func TestPinned(t *testing.T) {
	program, packages := node.Pinned(t)
	out, err := exec.CommandContext(t.Context(), program, "--version").Output()
	assert.NoError(t, err)
	assert.Regexp(t, `^v22\.`, string(out))
	assert.DirExists(t, filepath.Join(packages, "playwright-core"))
}

func TestServeListensOnThisMachineAndEnds(t *testing.T) {
	server := node.Serve(t, "mcp-server-everything", "streamableHttp")
	host, _, err := net.SplitHostPort(server.Addr)
	assert.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	conn, err := net.Dial("tcp", server.Addr)
	assert.NoError(t, err)
	assert.NoError(t, conn.Close())
	server.Kill()
	_, err = net.Dial("tcp", server.Addr)
	assert.Error(t, err)
}
