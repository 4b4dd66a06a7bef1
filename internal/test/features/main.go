// Command features runs the proofs of the table of features: for each row its tests, and the
// same tests over a change that takes the feature away, with which they must fail. Run it from
// the root of the module:
//
//	go run ./internal/test/features [-only regexp]
//
// The program exits with 1 if a proof fails or a change goes unnoticed.
//
// To add a proof to a row, fill in its entry in the table, a file rows_*.go; the comment of
// type row says how. Then:
//
//	go run ./internal/test/features -only '^K2$'
//	go test ./internal/test/features -update
//
// The second command writes docs/features.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("only", "", "run only the rows whose id matches")
	flag.Parse()
	if err := run(ctx, *only, ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

// run runs the rows, of the module in root, whose ids match.
func run(ctx context.Context, only, root string, out io.Writer) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	chosen := filter(proved(rows), func(r row) bool { return match.MatchString(r.id) })
	found, err := newTrial(root, out).run(ctx, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rows were tried, of %d with a proof and %d in all\n", len(chosen), len(proved(rows)), len(rows))
	return errors.Join(found...)
}
