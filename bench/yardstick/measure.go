package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measurer runs benchmarks and keeps what they report.
type measurer struct {
	// root is that of the repository, dir where the test binaries are.
	root, dir string
	// out gets the progress.
	out io.Writer
	// wanted chooses among the names of benchmarks, and also, if it is not nil, takes.
	wanted choice
	also   func(name string) bool
	// counts makes runs as long as a check has them.
	counts bool

	built map[string]int
	lines map[string][]line
	names []string // in the order of the first run
	cpu   string
	began time.Time
	took  map[string]time.Duration // by pattern: its last run
}

// timeout is what no process of a run comes near.
const timeout = 10 * time.Minute

// measure runs the units and returns their benchmarks.
func (m *measurer) measure(ctx context.Context, all []unit) ([]Benchmark, error) {
	m.built, m.lines, m.took, m.began = map[string]int{}, map[string][]line{}, map[string]time.Duration{}, time.Now()
	if err := m.build(ctx, all); err != nil {
		return nil, err
	}
	jobs, err := m.discover(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, misused("no benchmark has such a name; (cd bench && go test -list Benchmark .) shows those of the comparison")
	}
	order := schedule(jobs)
	for i, j := range order {
		lines, err := m.run(ctx, j)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if m.lines[l.name] == nil {
				m.names = append(m.names, l.name)
			}
			m.lines[l.name] = append(m.lines[l.name], l)
			m.progress(i+1, len(order), m.left(order[i+1:]), l)
		}
	}
	return m.benchmarks()
}

// build compiles each package once.
func (m *measurer) build(ctx context.Context, all []unit) error {
	for _, u := range all {
		if _, ok := m.built[u.dir]; ok || len(m.wanted.of(&u)) == 0 {
			continue
		}
		fmt.Fprintf(m.out, "compiling the benchmarks of %s\n", u.dir)
		n := len(m.built)
		m.built[u.dir] = n
		if _, err := command(ctx, filepath.Join(m.root, u.dir), "go", "test", "-c", "-o", m.program(n), "."); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurer) program(n int) string { return filepath.Join(m.dir, strconv.Itoa(n)) }

// discover runs everything once, to see what there is and that it works, and
// returns what has to be run.
func (m *measurer) discover(ctx context.Context, all []unit) (jobs []job, err error) {
	for i := range all {
		u := &all[i]
		names := m.wanted.of(u)
		if len(names) == 0 {
			continue
		}
		j := job{unit: u, program: m.built[u.dir], pattern: "^Benchmark(" + strings.Join(names, "|") + ")$" + u.within}
		if u.whole {
			jobs = append(jobs, j)
			continue
		}
		fmt.Fprintf(m.out, "looking at %s: %s\n", u.dir, strings.Join(names, ", "))
		text, err := m.execute(ctx, j, "1x")
		if err != nil {
			return nil, err
		}
		lines, cpu := parse(text)
		m.cpu = cpu
		for _, name := range names {
			if !slices.ContainsFunc(lines, func(l line) bool { return strings.HasPrefix(l.name+"/", path.Base(u.dir)+"."+name+"/") }) {
				return nil, fmt.Errorf("%s has no benchmark %s, which the table of units in bench/yardstick names; it printed:\n%s", u.dir, name, text)
			}
		}
		for _, l := range lines {
			if m.wanted.takes(l.name) && (m.also == nil || m.also(l.name)) {
				jobs = append(jobs, job{unit: u, program: j.program, names: []string{l.name}, pattern: exactly(l.name)})
			}
		}
	}
	return jobs, nil
}

// run runs a job and returns what it reports.
func (m *measurer) run(ctx context.Context, j job) ([]line, error) {
	began, length := time.Now(), j.unit.time
	if m.counts {
		length = j.unit.count
	}
	text, err := m.execute(ctx, j, length)
	if err != nil {
		return nil, err
	}
	m.took[j.unit.dir+j.pattern] = time.Since(began)
	lines, _ := parse(text)
	for _, name := range j.names {
		if !slices.ContainsFunc(lines, func(l line) bool { return l.name == name }) {
			return nil, fmt.Errorf("%s reports nothing; it printed:\n%s", name, text)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s reports nothing; it printed:\n%s", j.pattern, text)
	}
	return lines, nil
}

func (m *measurer) execute(ctx context.Context, j job, length string, more ...string) (string, error) {
	return command(ctx, filepath.Join(m.root, j.unit.dir), append([]string{m.program(j.program), "-test.run", "^$", "-test.bench", j.pattern,
		"-test.benchmem", "-test.benchtime", length, "-test.timeout", timeout.String()}, more...)...)
}

// benchmarks are the figures of all rounds.
func (m *measurer) benchmarks() ([]Benchmark, error) {
	var out []Benchmark
	for _, name := range m.names {
		rounds := map[string][]float64{}
		for _, l := range m.lines[name] {
			for unit, v := range l.values {
				rounds[unit] = append(rounds[unit], v)
			}
		}
		b := Benchmark{Name: name, Units: map[string]Figure{}}
		for unit, values := range rounds {
			if len(values) != len(m.lines[name]) {
				return nil, fmt.Errorf("%s has reported %s in %d of %d rounds", name, unit, len(values), len(m.lines[name]))
			}
			b.Units[unit] = newFigure(values)
		}
		out = append(out, b)
	}
	return out, nil
}

// left is how long the jobs will take, by how long they have taken; those that
// have not run are taken for as long as the others.
func (m *measurer) left(jobs []job) time.Duration {
	var known, average time.Duration
	for _, d := range m.took {
		average += d / time.Duration(len(m.took))
	}
	for _, j := range jobs {
		if d, ok := m.took[j.unit.dir+j.pattern]; ok {
			known += d
		} else {
			known += average
		}
	}
	return known
}

func (m *measurer) progress(n, of int, left time.Duration, l line) {
	fmt.Fprintf(m.out, "%*d of %d  %6s  %6s left  %-50s %s\n", len(strconv.Itoa(of)), n, of,
		time.Since(m.began).Round(time.Second), left.Round(time.Second), l.name, duration(l.values[nanoseconds]))
}

// command runs a program and returns what it prints on either stream; it is part
// of the error. When ctx ends it is interrupted and then killed.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s, in %s: %w; it printed:\n%s", strings.Join(args, " "), dir, err, out.String())
	}
	return out.String(), nil
}
