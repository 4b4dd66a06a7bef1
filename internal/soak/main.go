// Command soak runs the long form of the tests that show what a loss of power, a
// kill or a fault cannot do, and writes the page that says what came of them. Run
// it from the root of the module:
//
//	go run ./internal/soak [-short] [-only regexp] [-page docs/reliability.md]
//
// Each of these tests is a gate, a row of the table in gates.go. A gate prints
// its figures with t.Log, each as a line
//
//	FIGURE name=value unit
//
// A figure whose name begins with "bad." is what the same gate found of something
// that is known to be wrong: it must be there, and not zero, or the gate has shown
// nothing. A gate that did not run is skipped, which is no success: the program
// ends with 1.
//
// With -short every gate does as little as in go test, and no page is written.
// With -only the other gates keep their lines of the page.
package main

import (
	"bufio"
	"bytes"
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
	if err := soak(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, out io.Writer) error {
	short := flag.Bool("short", false, "do as little as go test does, and write no page")
	only := flag.String("only", "", "run only the gates whose name matches; the others keep their lines of the page")
	page := flag.String("page", "docs/reliability.md", "the page to write")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	results := tryAll(ctx, match, *short, out)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("no gate is named %q", *only)
	}
	if !*short {
		old, err := os.ReadFile(*page)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text := writePage(gates, run{results, machine(), time.Now()}, string(old))
		if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
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

// tryAll runs the gates whose names match, one after the other: they measure time.
func tryAll(ctx context.Context, match *regexp.Regexp, short bool, out io.Writer) []result {
	var results []result
	for _, g := range gates {
		if !match.MatchString(g.name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(out, "%s: %s\n", g.name, g.pkg)
		r := g.try(ctx, short, out)
		if r.verdict == failed {
			fmt.Fprintln(out, r.output)
		}
		fmt.Fprintf(out, "%s: %s in %s\n", g.name, r.verdict, r.took.Round(time.Second))
		results = append(results, r)
	}
	return results
}

// try runs the gate's test and shows what it prints of itself.
func (g gate) try(ctx context.Context, short bool, progress io.Writer) result {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", g.command(short)...)
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
				fmt.Fprintln(progress, "   ", line)
			}
		}
		_, _ = io.Copy(io.Discard, pipe) // a line that is too long ends the scanner, not the test
	}()
	err := cmd.Run()
	_ = end.Close()
	<-shown
	r := g.judge(all.String(), err)
	r.took = time.Since(began)
	return r
}

// command returns the arguments of the go command.
func (g gate) command(short bool) []string {
	args := []string{"test", g.pkg, "-run", "^(" + g.tests + ")$", "-count=1", "-v", "-timeout", "10m"}
	if !short {
		args = append(args, g.long...)
	}
	return args
}
