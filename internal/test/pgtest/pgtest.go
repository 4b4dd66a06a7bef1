// Package pgtest gives tests a real PostgreSQL. It is for tests only.
//
// [Database] makes a new database in a cluster that all tests of a test binary share;
// [Template] makes copies of a prepared one. [Start] gives a test a cluster of its own, which it
// may stop, kill and restart. A cluster listens on a socket in a private directory. It ends with
// the process that started it, also if that process is killed.
//
// Without the programs of PostgreSQL a test is skipped; see package needs. If
// GRAPNEL_TEST_POSTGRES is set, it is the DSN of a server in which Database and Template may
// make databases; Start still needs the programs. There templates and copies that are used again
// stay, named grapnel_test_PID_NUMBER.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// Variable is the environment variable with the DSN of a server for tests.
const Variable = "GRAPNEL_TEST_POSTGRES"

// Database returns the DSN of a new, empty database, which the end of the test drops. Safe for
// concurrent use.
func Database(t testing.TB) string {
	t.Helper()
	return shared(t).database(t, "")
}

// Template is a database of which tests get copies. A copy takes some 40 ms.
type Template struct {
	// Prepare fills the empty database of the DSN, once. When it returns, no connection to it
	// may be open.
	Prepare func(ctx context.Context, dsn string) error
	// Reset are statements that empty a copy, so that another test can have it; "" drops it instead.
	Reset string

	once sync.Once
	name string
	err  error

	mu   sync.Mutex
	free []string // copies that were reset
}

// Database returns the DSN of an empty copy. Safe for concurrent use.
func (p *Template) Database(t testing.TB) string {
	t.Helper()
	s := shared(t)
	p.once.Do(func() {
		ctx := context.Background()
		if p.name, p.err = s.create(ctx, ""); p.err == nil {
			p.err = p.Prepare(ctx, s.dsn(p.name))
		}
	})
	if p.err != nil {
		t.Fatalf("prepare the template of a database: %v", p.err)
	}
	if p.Reset == "" {
		return s.database(t, p.name)
	}
	return s.dsn(p.reused(t, s))
}

// reused returns a copy that the end of the test resets.
func (p *Template) reused(t testing.TB, s server) (name string) {
	t.Helper()
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		name, p.free = p.free[n-1], p.free[:n-1]
	}
	p.mu.Unlock()
	if name == "" {
		var err error
		if name, err = s.create(t.Context(), p.name); err != nil {
			t.Fatalf("make a database: %v", err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.exec(ctx, name, p.Reset); err != nil {
			t.Errorf("reset the database of the test: %v", err)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, name)
	})
	return name
}

// server is a server in which databases are made.
type server struct {
	dsn  func(database string) string
	made *atomic.Int64
}

func newServer(dsn func(database string) string) server { return server{dsn, new(atomic.Int64)} }

// theServer is that of all tests of the process.
var theServer = sync.OnceValues(func() (server, error) {
	if dsn := os.Getenv(Variable); dsn != "" {
		return newServer(func(database string) string { return withDatabase(dsn, database) }), nil
	}
	c, err := start(Options{})
	if err != nil {
		return server{}, err
	}
	return c.server, nil
})

func shared(t testing.TB) server {
	t.Helper()
	if os.Getenv(Variable) == "" {
		Programs(t)
	}
	s, err := theServer()
	started(t, err)
	return s
}

// withDatabase returns the DSN with another database; "" is that of the DSN.
func withDatabase(dsn, database string) string {
	if database == "" {
		return dsn
	}
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok {
		return dsn + " dbname=" + database // the last one counts
	}
	rest, query, _ := strings.Cut(rest, "?")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/" + database + "?" + query
}

// create makes a database, as a copy if from is not "".
func (s server) create(ctx context.Context, from string) (string, error) {
	name := fmt.Sprintf("grapnel_test_%d_%d", os.Getpid(), s.made.Add(1))
	sql := "CREATE DATABASE " + name
	if from != "" {
		sql += " TEMPLATE " + from
	}
	return name, s.exec(ctx, "", sql)
}

func (s server) exec(ctx context.Context, database, sql string) error {
	conn, err := pgx.Connect(ctx, s.dsn(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost with it
	_, err = conn.Exec(ctx, sql)
	return err
}

func (s server) database(t testing.TB, from string) string {
	t.Helper()
	name, err := s.create(t.Context(), from)
	if err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.exec(ctx, "", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Logf("drop the database of the test: %v", err)
		}
	})
	return s.dsn(name)
}

// Programs returns the directory of PostgreSQL's programs, such as pg_dump.
func Programs(t testing.TB) string {
	t.Helper()
	dir, err := findPrograms()
	if err != nil {
		needs.Lacking(t, err.Error())
	}
	return dir
}
