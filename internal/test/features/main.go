// Command features runs the proofs of the table of features: for each row its tests, and the
// same tests over a change that takes the feature away, with which they must fail. Run it from
// the root of the module:
//
//	go run ./internal/test/features [-all | -only regexp | -changed commit -share 10 -seed text]
//
// Without -all and -only it runs the rows that have changed since a commit, and one in -share
// of the others. The seed chooses them: by default the commit, so that one commit always runs
// the same rows. A row has changed if its entry in the table is another one, or if the file of
// one of its tests or of its change is. The program exits with 1 if a proof fails or a change
// goes unnoticed.
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
	var o options
	o.flags(flag.CommandLine)
	flag.Parse()
	if err := o.run(ctx, ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

// options say which rows run.
type options struct {
	all  bool
	only string
	// changed is a commit; "" and one that git does not know mean that no row has changed.
	changed string
	// share is at least 1: every row.
	share int
	// seed is the commit of the working directory if it is "".
	seed string
}

func (o *options) flags(f *flag.FlagSet) {
	f.BoolVar(&o.all, "all", false, "run every row")
	f.StringVar(&o.only, "only", "", "run the rows whose id matches")
	f.StringVar(&o.changed, "changed", "HEAD~1", "run the rows that have changed since this commit; \"\" is none")
	f.IntVar(&o.share, "share", 10, "run one in so many of the other rows")
	f.StringVar(&o.seed, "seed", "", "chooses the other rows; by default the commit")
}

// run runs the chosen rows of the module in root.
func (o options) run(ctx context.Context, root string, out io.Writer) error {
	chosen, err := o.choose(ctx, root, out)
	if err != nil {
		return err
	}
	found, err := newTrial(root, out).run(ctx, chosen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rows were tried, of %d with a proof and %d in all\n", len(chosen), len(proved(rows)), len(rows))
	return errors.Join(found...)
}

// choose returns the rows to run, in the order of the table, and says why these.
func (o options) choose(ctx context.Context, root string, out io.Writer) ([]row, error) {
	all := proved(rows)
	switch {
	case o.all:
		return all, nil
	case o.only != "":
		match, err := regexp.Compile(o.only)
		if err != nil {
			return nil, fmt.Errorf("-only: %w", err)
		}
		return filter(all, func(r row) bool { return match.MatchString(r.id) }), nil
	case o.share < 1:
		return nil, fmt.Errorf("-share is %d, less than 1", o.share)
	}
	c, err := changesSince(ctx, root, o.changed)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out, c)
	if o.seed == "" {
		o.seed = head(ctx, root)
	}
	fmt.Fprintf(out, "one in %d of the others, seed %s\n", o.share, o.seed)
	fresh := filter(all, func(r row) bool { return c.touch(root, r) })
	others := filter(all, func(r row) bool { return !c.touch(root, r) })
	drawn := append(fresh, draw(others, o.share, o.seed)...)
	return filter(all, func(r row) bool { return has(drawn, r.id) }), nil
}
