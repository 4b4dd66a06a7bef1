// Package statements checks that the statements of a package know their tenant: each is run again with the name of another one, at the
// moment when it finds what it is for, and has to read and change nothing. It is for tests only.
package statements

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Check watches statements, which have the tenant as arguments, and finds those that go beyond it. Make one by its fields. It is safe
// for concurrent use.
type Check struct {
	// Own begins the arguments that name the tenant, and Other is put in its place: that of a tenant without any rows.
	Own, Other string
	// AnyTenant are parts of the statements that end with sqldb.AnyTenant, with the reasons. There are no others.
	AnyTenant map[string]string
	// Makes are parts of the statements that make a row of the tenant and have no condition, with the reasons.
	Makes map[string]string
	// Unfound are parts of the statements that need not find anything, with the reasons.
	Unfound map[string]string

	mu       sync.Mutex
	seen     map[place]bool // whether it has found something without its condition
	used     map[string]bool
	problems []string
}

// place is a statement in one of the databases.
type place struct{ database, sql string }

// Again runs a statement once more, takes back what it did, and returns how many rows it has read or changed.
type Again func(sql string, args []any) (int, error)

// condition is what a statement has for its tenant: its project, or all projects of its owner.
var condition = regexp.MustCompile(`\b(?:[a-z]+\.)?project = \$\d+|\bsubstring\(project FROM [^=]*= \$\d+`)

// Watch is called with each statement to a database before it runs.
func (c *Check) Watch(database, sql string, args []any, again Again) {
	if strings.HasSuffix(sql, sqldb.AnyTenant) {
		if !c.excused(c.AnyTenant, sql) {
			c.problem("is of all tenants, and no reason says why", sql)
		}
		c.saw(place{database, sql}, true)
		return
	}
	theirs, named := c.theirs(args)
	free := condition.ReplaceAllString(sql, "($0 OR true)")
	switch {
	case !named:
		c.problem("does not carry the tenant", sql)
	case c.excused(c.Makes, sql):
		c.saw(place{database, sql}, true)
		return
	case free == sql:
		c.problem("has the tenant in no condition", sql)
	}
	n, err := again(sql, theirs)
	if err != nil {
		c.problem("fails for another tenant: "+err.Error(), sql)
	}
	if n > 0 {
		c.problem(fmt.Sprintf("finds %d rows for another tenant", n), sql)
	}
	if n, err = again(free, theirs); err != nil {
		c.problem("fails without its condition: "+err.Error(), sql)
	}
	c.saw(place{database, sql}, n > 0)
}

// theirs returns the arguments with the other tenant in the place of the own one.
func (c *Check) theirs(args []any) (out []any, named bool) {
	out = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			if rest, own := strings.CutPrefix(arg, c.Own); own {
				out[i], named = c.Other+rest, true
			}
		case []byte:
			if rest, own := strings.CutPrefix(string(arg), c.Own); own {
				out[i], named = []byte(c.Other+rest), true
			}
		}
	}
	return out, named
}

func (c *Check) excused(reasons map[string]string, sql string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for part := range reasons {
		if strings.Contains(sql, part) {
			if c.used == nil {
				c.used = map[string]bool{}
			}
			c.used[part] = true
			return true
		}
	}
	return false
}

func (c *Check) saw(at place, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[place]bool{}
	}
	c.seen[at] = c.seen[at] || found
}

func (c *Check) problem(what, sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := "this statement " + what + ":\n" + sql; !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
	}
}

// Problems returns a sentence for each statement that does not know its tenant, for each that found nothing even without its condition,
// so that the other tenant proves nothing, for each of the literals that no call has run, and for each reason without a statement.
func (c *Check) Problems(literals []string) []string {
	c.mu.Lock()
	out := slices.Clone(c.problems)
	seen := maps.Clone(c.seen)
	c.mu.Unlock()
	for at, found := range seen {
		if !found && !c.excused(c.Unfound, at.sql) {
			out = append(out, "this statement found nothing in "+at.database+", so that the other tenant proves nothing:\n"+at.sql)
		}
	}
	for _, literal := range literals {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(at place) bool { return strings.Contains(at.sql, literal) }) {
			out = append(out, "no call has run this statement:\n"+literal)
		}
	}
	for _, reasons := range []map[string]string{c.AnyTenant, c.Makes, c.Unfound} {
		for part, reason := range reasons {
			if !c.used[part] {
				out = append(out, "no statement has this part, which was to be excused because it "+reason+": "+part)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Report fails the test for each problem, those with the literals of the package in the working directory.
func (c *Check) Report(t *testing.T) {
	t.Helper()
	literals, err := Literals(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range c.Problems(literals) {
		t.Error(problem)
	}
	t.Logf("%d statements, %d literals", len(c.seen), len(literals))
}
