// Command testrun runs go test and prints a summary for people: each package when it ends,
// the output of failed tests, and at the end one line for each thing that the machine lacks,
// and for the long tests that -short left out. Its arguments are those of go test:
//
//	go run ./internal/test/run -short ./...
//
// It exits with 1 if a test failed, and if CI is "true" also if the machine lacked something
// that a test needs. With -v it also prints the output of the tests.
//
// If LEFT names a file, the tests that were skipped and are no proofs are written to it, a line
// for each package. With -rest FILE as the first arguments those tests run, and no others but
// namesakes: a second run, by root or with more tools, repeats nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args, err := rest(os.Args[1:])
	if err == nil {
		err = test(ctx, args, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// quiet is the time without output after which a line shows the progress.
const quiet = 15 * time.Second

// test runs go test with these arguments and prints its summary to out.
func test(ctx context.Context, args []string, out io.Writer) error {
	r := newReport(out, packages(ctx, args))
	r.verbose = slices.Contains(args, "-v")
	cmd := exec.CommandContext(ctx, "go", goTest(args)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test then ends the tests as well
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.follow(lines(stdout))
	err = cmd.Wait()
	r.summarize()
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if left := os.Getenv("LEFT"); left != "" {
		if err := r.writeRest(left); err != nil {
			return err
		}
	}
	if os.Getenv("CI") == "true" && len(r.missing) > 0 {
		return errors.New("tests were skipped, which in CI is a failure")
	}
	return nil
}

// goTest returns the arguments of the go command. -C has to be the first. Every target that tests a
// module vets it by itself: go test would vet all that it compiles once more, for each set of flags.
func goTest(args []string) []string {
	at := 0
	if len(args) > 1 && args[0] == "-C" {
		at = 2
	}
	return slices.Concat([]string{"test"}, args[:at], []string{"-json", "-vet=off"}, args[at:])
}

// packages returns how many packages the arguments name, for display; 0 if unknown.
func packages(ctx context.Context, args []string) int {
	list := []string{"list"}
	if len(args) > 1 && args[0] == "-C" {
		list = append(list, args[:2]...)
	}
	for _, a := range args {
		if strings.HasPrefix(a, ".") {
			list = append(list, a)
		}
	}
	text, err := exec.CommandContext(ctx, "go", list...).Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}

// lines sends every line of a reader and closes the channel at its end.
func lines(in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				out <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// follow reads the events of go test -json to their end.
func (r *report) follow(lines <-chan string) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return
			}
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(r.out, line)
				continue
			}
			if r.take(e) {
				tick.Reset(quiet)
			}
		case <-tick.C:
			r.progress()
		}
	}
}
