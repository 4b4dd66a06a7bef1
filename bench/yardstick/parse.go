package main

import (
	"regexp"
	"strconv"
	"strings"
)

// line is what one run of one benchmark reported: its values by unit.
type line struct {
	// name is the benchmark's with its package: "runtime.Turn/tools=1/calls=1".
	name   string
	values map[string]float64
}

var processors = regexp.MustCompile(`-\d+$`)

// parse reads what a test binary prints: its benchmarks in their order, and the
// name of the processor, which is empty where go test does not know it.
func parse(out string) (lines []line, cpu string) {
	pkg := ""
	for text := range strings.Lines(out) {
		text = strings.TrimSpace(text)
		if rest, ok := strings.CutPrefix(text, "pkg: "); ok {
			pkg = rest[strings.LastIndex(rest, "/")+1:]
		} else if rest, ok := strings.CutPrefix(text, "cpu: "); ok {
			cpu = rest
		} else if rest, ok := strings.CutPrefix(text, "Benchmark"); ok {
			if l, ok := parseLine(pkg, strings.Fields(rest)); ok {
				lines = append(lines, l)
			}
		}
	}
	return lines, cpu
}

// parseLine takes the fields of a line: name, number of iterations, values and
// units. A benchmark with others inside prints its name alone: no line.
func parseLine(pkg string, fields []string) (line, bool) {
	if len(fields) < 4 {
		return line{}, false
	}
	l := line{name: pkg + "." + processors.ReplaceAllString(fields[0], ""), values: map[string]float64{}}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return line{}, false
		}
		l.values[fields[i+1]] = v
	}
	return l, true
}

// parts of a benchmark's name.
type parts struct {
	// scenario is "Turn", group "Turn/tools=64", subject "grapnel".
	scenario, group, subject string
}

// split takes the name of a benchmark of this module apart; false for those of
// other packages.
func split(name string) (parts, bool) {
	name, ok := strings.CutPrefix(name, "bench.")
	if !ok {
		return parts{}, false
	}
	at := strings.LastIndex(name, "/")
	if at < 0 {
		return parts{}, false
	}
	scenario, _, _ := strings.Cut(name, "/")
	return parts{scenario: scenario, group: name[:at], subject: name[at+1:]}, true
}
