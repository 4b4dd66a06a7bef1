package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figures are what a benchmark reported: by unit, a value for each of its runs.
type figures map[string][]float64

// results are the figures by package and name: "runtime.Turn/calls=1".
type results struct {
	cpu  string
	each map[string]figures
}

var processors = regexp.MustCompile(`-\d+$`)

// parse reads what go test prints.
func parse(out string) results {
	r := results{each: map[string]figures{}}
	pkg := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "pkg: github.com/grapnel-go/grapnel/"); ok {
			pkg = rest[strings.LastIndex(rest, "/")+1:]
		} else if rest, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.cpu = rest
		} else if name, ok := strings.CutPrefix(line, "Benchmark"); ok {
			r.add(pkg, strings.Fields(name))
		}
	}
	return r
}

// add takes the fields of one line: name, number of iterations, values and units.
func (r results) add(pkg string, fields []string) {
	if len(fields) < 4 {
		return
	}
	name := pkg + "." + processors.ReplaceAllString(fields[0], "")
	if r.each[name] == nil {
		r.each[name] = figures{}
	}
	for i := 2; i+1 < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			r.each[name][fields[i+1]] = append(r.each[name][fields[i+1]], v)
		}
	}
}

// median of the values of a unit; 0 if there are none.
func (f figures) median(unit string) float64 { return median(f[unit]) }

// ratio is the median of the times as multiples of the limit's in the same round,
// so that what slows a round down slows both; 0 without a limit.
func (f figures) ratio(limit figures) float64 {
	var ratios []float64
	for i := range min(len(f[nanoseconds]), len(limit[nanoseconds])) {
		ratios = append(ratios, f[nanoseconds][i]/limit[nanoseconds][i])
	}
	return median(ratios)
}

func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
