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
	"regexp"
	"strings"
	"time"
)

// trial runs gates. Gates of one package share its test binary, which is compiled
// once.
type trial struct {
	short bool
	// args are added to the flags of the long form.
	args []string
	out  io.Writer
	// dir has the binaries, and built their paths by package.
	dir   string
	built map[string]string
}

// tryAll runs the gates whose names match, one after the other: they measure time.
func (t trial) tryAll(ctx context.Context, match *regexp.Regexp) []result {
	var results []result
	for _, g := range gates {
		if !match.MatchString(g.name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(t.out, "%s: %s\n", g.name, g.pkg)
		r := t.try(ctx, g)
		if r.verdict == failed {
			fmt.Fprintln(t.out, r.output)
		}
		fmt.Fprintf(t.out, "%s: %s in %s%s\n", g.name, r.verdict, r.took.Round(time.Second), r.seeded())
		results = append(results, r)
	}
	return results
}

// try runs the gate's test and shows its interesting lines.
func (t trial) try(ctx context.Context, g gate) result {
	binary, output, err := t.build(ctx, g.pkg)
	if err != nil {
		return g.judge(output, err)
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, binary, t.flags(g)...)
	cmd.Dir = g.pkg
	output, err = t.show(cmd)
	r := g.judge(output, err)
	r.took = time.Since(began)
	if t.short {
		return r.inTime()
	}
	return r
}

// inTime fails a result of the short form that took more than twice its time.
func (r result) inTime() result {
	if r.verdict == passed && r.took > 2*shortTime {
		r.verdict, r.why = failed, fmt.Sprintf("its short form took %s; a gate may take %s", r.took.Round(time.Second), shortTime)
	}
	return r
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

// show runs a command, shows the lines that are of interest, and returns all.
func (t trial) show(cmd *exec.Cmd) (string, error) {
	var all bytes.Buffer
	pipe, end := io.Pipe()
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&all, end), os.Stderr
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
	args := []string{"-test.run=^(" + g.tests + ")$", "-test.count=1", "-test.v", "-test.timeout=10m"}
	if !t.short {
		args = append(append(args, g.long...), t.args...)
	}
	return args
}

// command returns the arguments of the go command that run the long form alone.
func (g gate) command() []string {
	return append([]string{"test", g.pkg, "-run", "^(" + g.tests + ")$", "-count=1", "-v", "-timeout", "10m"}, g.long...)
}
