package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// trial runs gates. Gates of one package share its test binary, which is compiled
// once.
type trial struct {
	// args are added to the flags of the test binaries.
	args []string
	out  io.Writer
	// dir has the binaries, and built their paths by package.
	dir   string
	built map[string]string
}

// run runs a gate within the limit, and shows its interesting lines and its verdict.
func (t trial) run(ctx context.Context, g gate) result {
	fmt.Fprintf(t.out, "%s: %s\n", g.name, strings.Join(g.words(), " "))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	output, err := t.output(ctx, g)
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s", limit)
	}
	r := g.judge(output, err)
	r.took = time.Since(began)
	if r.verdict != passed {
		fmt.Fprintln(t.out, r.output)
	}
	fmt.Fprintf(t.out, "%s: %s in %s%s\n", g.name, r.verdict, r.took.Round(time.Second), r.seeded())
	return r
}

func (t trial) output(ctx context.Context, g gate) (string, error) {
	if len(g.command) > 0 {
		cmd := exec.CommandContext(ctx, g.command[0], g.command[1:]...)
		cmd.WaitDelay, cmd.Env = 10*time.Second, append(os.Environ(), "CI=true") // what is missing is a failure
		return t.show(cmd)
	}
	binary, output, err := t.build(ctx, g.pkg)
	if err != nil {
		return output, err
	}
	cmd := exec.CommandContext(ctx, binary, t.flags(g)...)
	cmd.Dir, cmd.WaitDelay = g.pkg, 10*time.Second
	return t.show(cmd)
}

// build compiles the tests of a package, or returns what the compiler said.
func (t trial) build(ctx context.Context, pkg string) (path, output string, err error) {
	if path, ok := t.built[pkg]; ok {
		return path, "", nil
	}
	path = filepath.Join(t.dir, fmt.Sprintf("%d.test", len(t.built)))
	text, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", path, pkg).CombinedOutput()
	if err != nil {
		return "", string(text), fmt.Errorf("go test -c %s: %w", pkg, err)
	}
	t.built[pkg] = path
	return path, "", nil
}

// show runs a command with PROVE=1, shows the lines that are of interest, and returns all.
func (t trial) show(cmd *exec.Cmd) (string, error) {
	var all bytes.Buffer
	pipe, end := io.Pipe()
	cmd.Env = append(cmd.Environ(), "PROVE=1")
	cmd.Stdout = io.MultiWriter(&all, end)
	cmd.Stderr = cmd.Stdout
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); interesting(line) {
				fmt.Fprintln(t.out, "   ", line)
			}
		}
		_, _ = io.Copy(io.Discard, pipe) // a line that is too long ends the scanner, not the test
	}()
	err := cmd.Run()
	_ = end.Close()
	<-shown
	return all.String(), err
}

func (t trial) flags(g gate) []string {
	args := []string{"-test.run=^(" + g.tests + ")$", "-test.count=1", "-test.v", "-test.timeout=" + limit.String()}
	return append(append(args, g.args...), t.args...)
}
