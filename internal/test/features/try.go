package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/test/mutants"
)

// trial runs rows in the module in root, at most two commands at a time.
type trial struct {
	root string
	out  io.Writer
	// timeout is that of the tests of one package, as the flag of go test.
	timeout time.Duration
	mu      *sync.Mutex // for out
}

func newTrial(root string, out io.Writer) trial {
	return trial{root: root, out: out, timeout: 3 * time.Minute, mu: &sync.Mutex{}}
}

// run runs the proofs of the rows, a package at a time, and then the changes. It returns what is
// wrong, in the order of the table; the error is that the trial itself could not go on.
func (t trial) run(ctx context.Context, chosen []row) (found []error, err error) {
	if len(chosen) == 0 {
		return nil, errors.New("no row to run")
	}
	dir, err := os.MkdirTemp("", "grapnel-features-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	results := make([]error, len(chosen))
	pkgs := packages(chosen)
	each(len(pkgs), func(i int) { t.provePackage(ctx, pkgs[i], chosen, results) })
	each(len(chosen), func(i int) {
		if results[i] != nil {
			return
		}
		began := time.Now()
		results[i] = t.refute(ctx, dir, chosen[i])
		t.say("%s: %s in %s", chosen[i].id, verdict(results[i]), time.Since(began).Round(100*time.Millisecond))
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range results {
		if err != nil {
			found = append(found, fmt.Errorf("%s: %w", chosen[i].id, err))
		}
	}
	return found, nil
}

// each calls f for 0 to n-1, two at a time, and waits.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func verdict(err error) string {
	if err != nil {
		return "FAILED: " + err.Error()
	}
	return "proved, and its change noticed"
}

func (t trial) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format+"\n", args...)
}

func packages(chosen []row) (out []string) {
	for _, r := range chosen {
		if !slices.Contains(out, r.pkg) {
			out = append(out, r.pkg)
		}
	}
	return out
}

// provePackage runs the proofs of one package together, and sets the results of those that fail.
func (t trial) provePackage(ctx context.Context, pkg string, chosen []row, results []error) {
	var names []string
	for _, r := range chosen {
		if r.pkg == pkg {
			names = append(names, r.names()...)
		}
	}
	slices.Sort(names)
	output, _ := t.goTest(ctx, proof{pkg, strings.Join(slices.Compact(names), "|")}, "")
	for i, r := range chosen {
		if r.pkg != pkg {
			continue
		}
		if results[i] = r.holds(output); results[i] != nil {
			t.say("%s: FAILED: %v\n%s", r.id, results[i], output)
		}
	}
}

// refute runs the row's tests over its change, and returns an error unless one of them fails as
// it should.
func (t trial) refute(ctx context.Context, dir string, r row) error {
	text, err := os.ReadFile(filepath.Join(t.root, r.file))
	if err != nil {
		return err
	}
	changed, err := r.apply(string(text))
	if err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(t.root, r.file))
	if err != nil {
		return err
	}
	overlay, err := mutants.Overlay(filepath.Join(dir, r.id), map[string]string{path: changed})
	if err != nil {
		return err
	}
	output, err := t.goTest(ctx, r.proof, overlay)
	if err := r.noticed(output, err); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(output))
	}
	return nil
}

// goTest runs tests, with an overlay unless it is "".
func (t trial) goTest(ctx context.Context, p proof, overlay string) (string, error) {
	args := []string{"test", "-vet=off", "-ldflags=-s", "-count=1", "-v", "-timeout=" + t.timeout.String(), "-run=" + p.pattern(), p.pkg}
	if t.drawn(p.pkg) { // pgregory.net/rapid: fail at once, and leave nothing in testdata
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=1ns")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.root
	if overlay != "" { // by the environment, so that go commands which the tests run see the change too
		flags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
		if err != nil {
			return "", fmt.Errorf("go env GOFLAGS: %w", err)
		}
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(string(flags))+" -overlay="+overlay)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test then ends the tests as well
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// drawn reports whether tests of the package draw their cases with package rapid.
func (t trial) drawn(pkg string) bool {
	files, err := filepath.Glob(filepath.Join(t.root, pkg, "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(text), `"pgregory.net/rapid"`)
	})
}

// pattern is for -run.
func (p proof) pattern() string {
	var out []string
	for _, name := range p.names() {
		out = append(out, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	}
	return strings.Join(out, "|")
}

// ended reports whether the test of the name has ended so, by what go test -v printed.
func ended(how, name, output string) bool {
	return regexp.MustCompile(`(?m)^ *--- ` + how + ": " + regexp.QuoteMeta(name) + ` \(`).MatchString(output)
}

// apply returns the file's text with the change.
func (c change) apply(text string) (string, error) {
	if n := strings.Count(text, c.old); n != 1 {
		return "", fmt.Errorf("%s has the text to change %d times, not once", c.file, n)
	}
	return strings.Replace(text, c.old, c.new, 1), nil
}

// holds returns an error if a test of the proof did not pass.
func (p proof) holds(output string) error {
	for _, name := range p.names() {
		if !ended("PASS", name, output) {
			return fmt.Errorf("%s of %s did not pass", name, p.pkg)
		}
	}
	return nil
}

var panicked = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)

// noticed returns an error unless a test of the proof failed by what it asserts. A program that
// does not compile, panics or takes too long shows nothing about the feature.
func (p proof) noticed(output string, err error) error {
	switch {
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return errors.New("with its change it does not compile")
	case strings.Contains(output, "panic: test timed out"):
		return errors.New("with its change it takes too long")
	case panicked.MatchString(output):
		return errors.New("with its change it panics")
	case err == nil:
		return errors.New("nothing notices its change")
	}
	for _, name := range p.names() {
		if ended("FAIL", name, output) {
			return nil
		}
	}
	return errors.New("with its change go test fails, but none of its tests does")
}
