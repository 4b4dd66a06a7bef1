// Command yardstick measures Grapnel beside its limits and its peers, and writes
// the page that says what came of it. Run it in the directory bench:
//
//	go run ./yardstick peers [-only REGEXP] [-rounds N] [-time 50ms] [-page DIR]
//	go run ./yardstick check [-only REGEXP]
//	go run ./yardstick page
//
// peers measures everything and writes docs/performance.md, its charts and
// docs/performance.json. check measures what is ours alone, compares it with the
// budgets, and fails if a count is over its budget and no reason is written down, or
// if a turn takes more than twice as long with more of what should not matter to it.
// page writes the page anew from the results that are there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(misuse)):
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(2)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "yardstick: interrupted; nothing is written")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(1)
	}
}

// misuse is a command line that makes no sense.
type misuse string

func (m misuse) Error() string { return string(m) }

func misused(format string, args ...any) error { return misuse(fmt.Sprintf(format, args...)) }

// options are the flags.
type options struct {
	only, time, page string
	rounds           int
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return misused("say what to do: peers, check or page")
	}
	var o options
	flags := flag.NewFlagSet("yardstick "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "run what matches: a `regexp` for each element of a name, bench.Turn/tools=64; writes no page unless -page is given")
	flags.IntVar(&o.rounds, "rounds", 0, "rounds of everything, instead of the table's")
	flags.StringVar(&o.time, "time", "", "length of each run, as in go test -benchtime, where the table has a `duration`")
	flags.StringVar(&o.page, "page", "", "the `directory` for the page, its charts and the results (default ../docs)")
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stderr)
		flags.Usage()
		return err
	} else if err != nil {
		return misused("%v", err)
	}
	if err := o.check(flags.Args()); err != nil {
		return err
	}
	switch args[0] {
	case "peers", "check":
		if _, err := command(ctx, ".", "go", "generate", "./routes"); err != nil {
			return err
		}
		if args[0] == "peers" {
			return peers(ctx, o, out)
		}
		return check(ctx, o, out)
	case "page":
		return renderPage(o.pageDir())
	}
	return misused("%q is none of peers, check and page", args[0])
}

// check says what is wrong with the command line; rest is what no flag takes.
func (o options) check(rest []string) error {
	if len(rest) > 0 {
		return misused("%q is too much: everything is said by flags", rest[0])
	}
	if o.rounds < 0 {
		return misused("-rounds %d: there are no rounds below 0; 0 is what the table says", o.rounds)
	}
	if o.time != "" {
		if d, err := time.ParseDuration(o.time); err != nil || d <= 0 {
			return misused("-time %s: it is a duration above 0, as 50ms", o.time)
		}
	}
	if _, err := choose(o.only); err != nil {
		return misused("%v", err)
	}
	if _, err := os.Stat("yardstick/main.go"); err != nil {
		return misused("run it in the directory bench of the repository, or with make bench-peers and make bench-check")
	}
	return nil
}

func (o options) pageDir() string {
	if o.page == "" {
		return filepath.Join("..", "docs")
	}
	return o.page
}

// change sets what the flags say into the units.
func (o options) change(all []unit) []unit {
	for i := range all {
		if o.rounds > 0 {
			all[i].rounds = o.rounds
		}
		if o.time != "" && !strings.HasSuffix(all[i].time, "x") {
			all[i].time = o.time
		}
	}
	return all
}

// measurer is one for the repository that the program runs in; remove what it made
// when all is done.
func (o options) measurer(out io.Writer) (m *measurer, remove func(), err error) {
	wanted, err := choose(o.only)
	if err != nil {
		return nil, nil, err
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "yardstick")
	if err != nil {
		return nil, nil, err
	}
	return &measurer{root: root, dir: dir, out: out, wanted: wanted}, func() { _ = os.RemoveAll(dir) }, nil
}

// peers measures all and writes the page.
func peers(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	m, remove, err := o.measurer(out)
	if err != nil {
		return err
	}
	defer remove()
	r := new(Results)
	if r.Benchmarks, err = m.measure(ctx, o.change(units())); err != nil {
		return err
	}
	if r.Shares, err = m.shares(ctx, "3s"); err != nil {
		return err
	}
	if err := r.describe(ctx, m, began); err != nil {
		return err
	}
	r.writeSummaryTo(out)
	if o.only != "" && o.page == "" {
		return nil
	}
	if err := r.write(filepath.Join(o.pageDir(), "performance.json")); err != nil {
		return err
	}
	if err := renderPage(o.pageDir()); err != nil {
		return err
	}
	if o.only == "" {
		return r.complete()
	}
	return nil
}

// complete says what the page shows as missing without a reason.
func (r *Results) complete() error {
	var missing []string
	missing = append(missing, r.unexplained()...)
	for _, w := range budgets {
		for _, f := range r.findings(w) {
			if !f.measured && w.unmeasured == "" {
				missing = append(missing, w.what+" ("+f.bound.of.name+")")
			}
		}
	}
	if missing != nil {
		return errors.New("the page is written, but these have neither a figure nor a reason: " + strings.Join(missing, ", "))
	}
	return nil
}

// describe notes what was measured where.
func (r *Results) describe(ctx context.Context, m *measurer, began time.Time) error {
	r.Date, r.Go = began.UTC().Format(time.DateOnly), runtime.Version()
	r.Machine = Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: m.cpu, Processors: runtime.GOMAXPROCS(0)}
	bench := filepath.Join(m.root, "bench")
	text, err := command(ctx, bench, append([]string{"go", "list", "-m", "-f", "{{.Path}} {{.Version}}"}, r.modules()...)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			r.Peers = append(r.Peers, Module{path, version})
		}
	}
	commit, err := command(ctx, bench, "git", "rev-parse", "--short", "HEAD")
	if err != nil {
		return err
	}
	changes, err := command(ctx, m.root, "git", "status", "--porcelain", "--", "*.go", "go.mod", "bench/go.mod")
	if err != nil {
		return err
	}
	r.Revision = strings.TrimSpace(commit)
	if changes != "" {
		r.Revision += "+"
	}
	r.Seconds = time.Since(began).Round(time.Second).Seconds()
	return nil
}

// check measures what is ours and compares it with the budgets.
func check(ctx context.Context, o options, out io.Writer) error {
	m, remove, err := o.measurer(out)
	if err != nil {
		return err
	}
	defer remove()
	all, also := checked()
	m.counts, m.also = true, also
	r := new(Results)
	if r.Benchmarks, err = m.measure(ctx, o.change(all)); err != nil {
		return err
	}
	if bad := r.check(budgets, out); bad > 0 {
		return fmt.Errorf("%d counts or slopes are over their budgets; mend it, or write the reason into bench/yardstick/why.go and the figure into budgets.go", bad)
	}
	return nil
}

// renderPage writes the page and its charts from the results beside it.
func renderPage(dir string) error {
	r, err := readResults(filepath.Join(dir, "performance.json"))
	if err != nil {
		return err
	}
	charts, err := r.charts()
	if err != nil {
		return err
	}
	if err := saveCharts(filepath.Join(dir, "performance"), charts); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "performance.md"), []byte(r.page(charts)), 0o644)
}

// writeSummaryTo prints the ratios at the end of a run.
func (r *Results) writeSummaryTo(out io.Writer) {
	for _, s := range scenarios {
		for _, group := range r.groups(s.name) {
			ours, ok := r.ours(group)
			if !ok {
				continue
			}
			fmt.Fprintf(out, "\n%s: Grapnel %s\n", group, s.text(ours))
			for _, b := range r.Benchmarks {
				if p, ok := split(b.Name); ok && p.group == group && b.Name != ours.Name {
					fmt.Fprintf(out, "  %-18s %-32s %s\n", p.subject, s.text(b), s.against(ours, b))
				}
			}
		}
	}
	fmt.Fprintln(out)
	r.check(budgets, out)
}
