package layers

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// first is the commit from which on limits only fall.
const first = "b488cd3a"

// row is a number of a table, and the line that it stands in.
type row struct {
	max  int
	line string
}

var (
	limitRow   = regexp.MustCompile(`^\t\{"([^"]+)", ".*", (\d+),`)
	namedRow   = regexp.MustCompile(`"([^"]+)": (\d+)[,}]`)
	groupRow   = regexp.MustCompile(`^\t"([^"]+)": \{`)
	ceilingRow = regexp.MustCompile(`^\t\t"([^"]+)": +\{(\d+),`)
)

// rows are the numbers of limits and ceilings by place, as gofmt writes them: "limits/package-size" and what it names,
// "limits/package-size/hook", and "ceilings/package-size/hook".
func rows(source string) map[string]row {
	out, group := map[string]row{}, ""
	add := func(place, number, line string) {
		n, _ := strconv.Atoi(number)
		out[place] = row{n, line}
	}
	for line := range strings.Lines(source) {
		if strings.HasPrefix(line, "func ") {
			group = ""
		} else if m := limitRow.FindStringSubmatch(line); m != nil {
			group = "limits/" + m[1]
			add(group, m[2], line)
		} else if m := groupRow.FindStringSubmatch(line); m != nil {
			group = "ceilings/" + m[1]
		} else if m := ceilingRow.FindStringSubmatch(line); m != nil && strings.HasPrefix(group, "ceilings/") {
			add(group+"/"+m[1], m[2], line)
		}
		if strings.HasPrefix(group, "limits/") {
			for _, m := range namedRow.FindAllStringSubmatch(line, -1) {
				add(group+"/"+m[1], m[2], line)
			}
		}
	}
	return out
}

var issue = regexp.MustCompile(`issue: \w`)

// risen are the places of today whose number has been lower, or whose ceiling has been missing, and whose line names no issue.
// A limit that an old version did not have yet says nothing of it.
func risen(today map[string]row, before []map[string]row) (out []string) {
	for _, place := range slices.Sorted(maps.Keys(today)) {
		now := today[place]
		limit, _, _ := strings.Cut(strings.TrimPrefix(place, "ceilings/"), "/")
		for _, old := range before {
			if strings.HasPrefix(place, "limits/") {
				if was, ok := old[place]; !ok || now.max <= was.max {
					continue
				}
			} else if _, ok := old["limits/"+limit]; !ok || now.max <= old[place].max {
				continue
			}
			if !issue.MatchString(now.line) {
				out = append(out, place)
				break
			}
		}
	}
	return out
}

// TestLimitsOnlyFall reads the tables as every commit since the first has left them. Who raises a limit, or adds a ceiling, writes
// "issue: " and the name of the issue that says so into its line.
func TestLimitsOnlyFall(t *testing.T) {
	needs.Program(t, "git")
	tables := []string{"limits_test.go", "ceilings_test.go"}
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", args...).Output()
		return string(out), err
	}
	if _, err := git("merge-base", "--is-ancestor", first, "HEAD"); err != nil {
		needs.Lacking(t, "the history since "+first+" is not here")
	}
	now := ""
	for _, name := range tables {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		now += string(source)
	}
	today := rows(now)
	for _, l := range limits {
		require.Equal(t, l.max, today["limits/"+l.id].max)
		for where, c := range ceilings[l.id] {
			require.Equal(t, c.max, today["ceilings/"+l.id+"/"+where].max)
		}
	}
	commits, err := git("log", "--format=%H", first+"..HEAD", "--", tables[0], tables[1])
	require.NoError(t, err)
	var before []map[string]row
	for _, commit := range append(strings.Fields(commits), first) {
		sources, err := git("show", commit+":./"+tables[0], commit+":./"+tables[1])
		require.NoError(t, err)
		before = append(before, rows(sources))
	}
	for _, place := range risen(today, before) {
		t.Errorf("%s has risen since %s: lower it, or name the issue that says so in its line", place, first)
	}
}

func TestRisen(t *testing.T) {
	const limit = "\t{\"a\", \"why\", 10, map[string]int{\"x\": 12}, nil},\n"
	table := func(line string) string { return limit + "\t\"a\": {\n\t\t" + line + "\n" }
	old := table(`"y": {20, "why"},`)
	cases := map[string]struct {
		old, today string
		want       []string
	}{
		"as it was":            {old, old, nil},
		"lower":                {old, table(`"y": {19, "why"},`), nil},
		"higher":               {old, table(`"y": {21, "why"},`), []string{"ceilings/a/y"}},
		"higher for an issue":  {old, table(`"y": {21, "why; issue: More"},`), nil},
		"new":                  {limit, old, []string{"ceilings/a/y"}},
		"new with a new limit": {"", old, nil},
		"a higher limit":       {limit, strings.ReplaceAll(limit, "10", "11"), []string{"limits/a"}},
		"a higher named one":   {limit, strings.ReplaceAll(limit, "12", "13"), []string{"limits/a/x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, risen(rows(c.today), []map[string]row{rows(c.old)}))
		})
	}
}
