// Command prove runs the gates that are long, drawn, timed or foreign, which block no merge, and
// writes their results to docs/evidence.md. Run it from the root of the module:
//
//	PROVE=1 go run ./internal/test/prove [-stale | -list] [-only regexp] [-args flags]
//
// Each gate is a row of the table in gates.go. It names the package that it judges. A gate is
// stale if it has not passed, or if a file that it judges has changed since the commit at which
// it passed: those of the package and of all that its tests import, and the gate's data. With
// -stale only stale gates run; -list prints them and why, runs none and exits with 0.
//
// A gate writes its line when it ends, so a run that was interrupted goes on with -stale. If the
// tree has changes that are not committed, gates run but write nothing.
//
// A test prints its figures with t.Log, each as a line
//
//	FIGURE name=value unit
//
// A figure whose name begins with "bad." counts what the same gate found in a known-bad
// variant. It must be present and not zero, else the gate shows nothing. A gate of which a test
// did not run is SKIPPED; this is no success, and the program exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

// limit is what a gate may take at most, compiled or not.
const limit = 15 * time.Minute

const page = "docs/evidence.md"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := prove(ctx, parse(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

type options struct {
	stale, list bool
	only        string
	// args are added to the flags of a gate's tests.
	args []string
}

func parse() options {
	var o options
	flag.BoolVar(&o.stale, "stale", false, "run only gates that are stale")
	flag.BoolVar(&o.list, "list", false, "print the stale gates, and run none")
	flag.StringVar(&o.only, "only", "", "only the gates whose name matches")
	flag.Func("args", "flags of the test binary, added to those of the gate: -args '-scale.faults 500'", func(text string) error {
		o.args = strings.Fields(text)
		return nil
	})
	flag.Parse()
	return o
}

func prove(ctx context.Context, o options, out io.Writer) error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if o.stale || o.list {
		if chosen, err = stale(ctx, chosen, string(text), out); err != nil || o.list {
			return err
		}
	}
	commit, clean, err := head(ctx)
	if err != nil {
		return err
	}
	if !clean || len(o.args) > 0 {
		fmt.Fprintln(out, "the tree has uncommitted changes, or -args are given: nothing is written to "+page)
		commit = ""
	}
	return runAll(ctx, trial{args: o.args, out: out}, chosen, commit)
}

// choose returns the gates whose names match.
func choose(only string) ([]gate, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	var chosen []gate
	for _, g := range gates {
		if match.MatchString(g.name) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no gate is named %q", only)
	}
	return chosen, nil
}

// runAll runs gates one after the other, as some measure time, and writes each result at commit
// unless that is "".
func runAll(ctx context.Context, t trial, chosen []gate, commit string) error {
	dir, err := os.MkdirTemp("", "grapnel-prove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t.dir, t.built = dir, map[string]string{}
	var bad []error
	for _, g := range chosen {
		r := t.run(ctx, g)
		if err := ctx.Err(); err != nil {
			return errors.Join(append(bad, err)...)
		}
		if r.verdict != passed {
			bad = append(bad, fmt.Errorf("%s: %s: %s", g.name, r.verdict, r.why))
		}
		if commit == "" {
			continue
		}
		if err := record(r, commit); err != nil {
			return err
		}
	}
	return errors.Join(bad...)
}

// record writes the result's line.
func record(r result, commit string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	r.commit, r.day = commit, time.Now()
	return os.WriteFile(page, []byte(writePage(gates, &r, string(old))), 0o644)
}

// head names the commit, and says whether the tree is as it was committed, but for the page.
func head(ctx context.Context) (commit string, clean bool, err error) {
	text, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "", false, fmt.Errorf("the page names the commit: git rev-parse: %w", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!"+page).Output()
	if err != nil {
		return "", false, fmt.Errorf("the page names the commit: git status: %w", err)
	}
	return strings.TrimSpace(string(text)), len(changes) == 0, nil
}
