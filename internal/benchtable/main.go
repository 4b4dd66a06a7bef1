// Command benchtable runs the benchmarks for which there are budgets and writes
// the page that says what came of them. Run it from the root of the module:
//
//	go run ./internal/benchtable [-rounds 7] [-time 30ms] [-page docs/performance.md]
//
// It first writes packages with 8, 64 and 512 tools and has the generator weld
// them, because nobody wants to read 512 tools.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 7, "runs of each benchmark")
	duration := flag.String("time", "30ms", "length of a run")
	page := flag.String("page", "docs/performance.md", "the page to write")
	flag.Parse()
	routes, err := writeRoutes(routesDir)
	if err != nil {
		return err
	}
	if err := command(ctx, "", os.Stdout, append([]string{"go", "tool", "hookgen"}, routes...)...); err != nil {
		return err
	}
	out, err := measure(ctx, benchmarks(routes), *rounds, *duration)
	if err != nil {
		return err
	}
	text, unexplained := writePage(rows, parse(out))
	if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		return err
	}
	if len(unexplained) > 0 {
		return errors.New("missed budgets without an explanation: " + strings.Join(unexplained, "; "))
	}
	return nil
}

// measure builds the benchmarks and runs all of them, round by round, so that a
// figure and its limit are measured close together. It returns what they print.
func measure(ctx context.Context, each []benchmark, rounds int, duration string) (string, error) {
	dir, err := os.MkdirTemp("", "benchtable")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	programs := make([]string, len(each))
	for i, b := range each {
		programs[i] = filepath.Join(dir, strconv.Itoa(i))
		if err := command(ctx, "", os.Stdout, "go", "test", "-c", "-o", programs[i], b.pkg); err != nil {
			return "", err
		}
	}
	var out bytes.Buffer
	for range rounds {
		for i, b := range each {
			err := command(ctx, b.pkg, io.MultiWriter(&out, os.Stdout), programs[i],
				"-test.run", "^$", "-test.bench", b.pattern, "-test.benchmem", "-test.benchtime", duration)
			if err != nil {
				return "", err
			}
		}
	}
	return out.String(), nil
}

func command(ctx context.Context, dir string, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}
