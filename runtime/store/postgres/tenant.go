package postgres

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Each statement says whose rows it may touch: {c.project} stands for the condition that this column is the project of the tenant,
// {$3::bytea} that this value is, and {of m.conversation} that the conversation of that number is one of the tenant. For a store of all
// projects each is true. A statement that says nothing is refused for a tenant, unless it ends with anyTenant: then it reads and writes
// what no tenant has.
const anyTenant = ` /* any tenant */`

// condition finds the places in a statement.
var condition = regexp.MustCompile(`\{(of )?((?:[a-z]+\.)?(?:project|conversation)|\$\d+::(?:bytea|bigint))\}`)

// Tenant returns the store as one project has it: every statement has the condition that what it reads and writes is that project's, so
// that the ids of another one lead nowhere. It has the connections of s; its Close does nothing. What daemons know of each other
// (store.Presence, store.Waker) is not for tenants.
func (s *Store) Tenant(project string) *Store {
	t := &tenant{project: []byte(project), texts: &s.ofTenant, searching: make(chan struct{}, 1)}
	return &Store{database: s.database, db: s.db.Bound(t.bind), tenant: t}
}

// tenant is the only project that a store has.
type tenant struct {
	project []byte
	texts   *texts
	// searching has a place for the search that runs.
	searching chan struct{}
}

// errNoTenant: a statement does not say whose rows it touches. No caller can cause it.
var errNoTenant = errors.New("the statement does not say whose rows it touches")

// bind completes a statement for the tenant, whose name is its last argument.
func (t *tenant) bind(sql string, args []any) (string, []any, error) {
	if strings.HasSuffix(sql, anyTenant) {
		return sql, args, nil
	}
	own := t.texts.of(sql, len(args)+1)
	if own == "" {
		return "", nil, fmt.Errorf("%w: %.80s", errNoTenant, sql)
	}
	return own, append(args[:len(args):len(args)], t.project), nil
}

// bindAll completes a statement for all projects.
func (d *database) bindAll(sql string, args []any) (string, []any, error) {
	return d.ofAll.of(sql, 0), args, nil
}

// texts are completed statements by what they were made of. There are few.
type texts struct{ known sync.Map }

// of returns the statement with the tenant at an argument, "" if it names none; 0 is all tenants.
func (t *texts) of(sql string, arg int) string {
	if known, ok := t.known.Load(sql); ok {
		return known.(string)
	}
	out := condition.ReplaceAllStringFunc(sql, func(place string) string {
		m := condition.FindStringSubmatch(place)
		switch {
		case arg == 0:
			return "true"
		case m[1] != "":
			return fmt.Sprintf("EXISTS (SELECT FROM conversation tenant WHERE tenant.num = %s AND tenant.project = $%d::bytea)", m[2], arg)
		}
		return fmt.Sprintf("%s = $%d::bytea", m[2], arg)
	})
	if arg > 0 && out == sql {
		out = ""
	}
	t.known.Store(sql, out)
	return out
}
