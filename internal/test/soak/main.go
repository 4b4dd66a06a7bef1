// Command soak runs the long form of the tests about losses of power, kills and faults, and
// writes the page with their results. Run it from the root of the module:
//
//	go run ./internal/test/soak [-short [-write]] [-only regexp] [-args flags] [-page docs/reliability.md]
//
// Each of these tests is a gate, a row of the table in gates.go. A gate prints
// its figures with t.Log, each as a line
//
//	FIGURE name=value unit
//
// A figure whose name begins with "bad." counts what the same gate found in a known-bad
// variant. It must be present and not zero, else the gate shows nothing. A gate that did not
// run is skipped; this is no success, and the program exits with 1.
//
// With -short every gate and every known-bad variant does as little as in go test. A gate
// should then take at most 30 seconds, and fails beyond twice that. -short writes no page.
// With -write too, gates without a long run get a line that says so. With -only the other
// gates keep their lines of the page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak(ctx, parse(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// shortTime is what a gate may take in its short form; beyond twice that it fails.
const shortTime = 30 * time.Second

type options struct {
	short, write bool
	only, page   string
	// args are added to the flags of the long form.
	args []string
}

func parse() options {
	var o options
	flag.BoolVar(&o.short, "short", false, "do as little as go test does, and write no page")
	flag.BoolVar(&o.write, "write", false, "with -short: write the lines of gates that have had no long run")
	flag.StringVar(&o.only, "only", "", "run only the gates whose name matches; the others keep their lines of the page")
	flag.Func("args", "flags of the test binary, added to those of the long form: -args '-scale.faults 500'", func(text string) error {
		o.args = strings.Fields(text)
		return nil
	})
	flag.StringVar(&o.page, "page", "docs/reliability.md", "the page to write")
	flag.Parse()
	return o
}

func soak(ctx context.Context, o options, out io.Writer) error {
	match, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	dir, err := os.MkdirTemp("", "grapnel-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := trial{short: o.short, args: o.args, out: out, dir: dir, built: map[string]string{}}
	results := t.tryAll(ctx, match)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("no gate is named %q", o.only)
	}
	if !o.short || o.write {
		if err := record(ctx, o, results); err != nil {
			return err
		}
	}
	var bad []error
	for _, r := range results {
		if r.verdict != passed {
			bad = append(bad, fmt.Errorf("%s: %s: %s", r.gate.name, r.verdict, r.why))
		}
	}
	return errors.Join(bad...)
}

func record(ctx context.Context, o options, results []result) error {
	old, err := os.ReadFile(o.page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	commit, err := head(ctx)
	if err != nil {
		return err
	}
	r := run{results: results, short: o.short, machine: machine(), commit: commit, now: time.Now()}
	return os.WriteFile(o.page, []byte(writePage(gates, r, string(old))), 0o644)
}

// head names the tested commit, and says if there are uncommitted changes.
func head(ctx context.Context) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("the page names the commit: git rev-parse: %w", err)
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", "*.go", "go.mod").Output()
	if err != nil {
		return "", fmt.Errorf("the page names the commit: git status: %w", err)
	}
	name := strings.TrimSpace(string(commit))
	if len(changes) > 0 {
		name += " with changes"
	}
	return name, nil
}
