package pgdb_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

func TestAnotherMachineHasToProveItsName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, dsn string
		refused   bool
	}{
		{"no mode", "postgres://u@192.0.2.1/d", true},
		{"prefer", "postgres://u@192.0.2.1/d?sslmode=prefer", true},
		{"disable", "postgres://u@192.0.2.1/d?sslmode=disable", true},
		{"require", "postgres://u@192.0.2.1/d?sslmode=require", true},
		{"verify-ca", "postgres://u@192.0.2.1/d?sslmode=verify-ca", true},
		{"verify-full", "postgres://u@192.0.2.1/d?sslmode=verify-full", false},
		{"words", "host=192.0.2.1 user=u dbname=d sslmode=require", true},
		{"the second of two", "postgres://u@127.0.0.1,192.0.2.1/d", true},
		{"loopback", "postgres://u@127.0.0.1:1/d?sslmode=disable", false},
		{"loopback of IPv6", "postgres://u@[::1]:1/d?sslmode=disable", false},
		{"a socket", "postgres:///d?user=u&host=/nowhere", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := pgdb.Open(ctx, tt.dsn, &pgdb.Options{Patience: time.Millisecond})
			require.Error(t, err, "nobody answers")
			if !tt.refused {
				assert.NotErrorIs(t, err, pgdb.ErrUnverified)
				return
			}
			require.ErrorIs(t, err, pgdb.ErrUnverified)
			assert.ErrorContains(t, err, "192.0.2.1")
			assert.ErrorContains(t, err, "add sslmode=verify-full")
			_, err = pgdb.Open(ctx, tt.dsn, &pgdb.Options{Patience: time.Millisecond, Unverified: true})
			assert.NotErrorIs(t, err, pgdb.ErrUnverified)
		})
	}
}

func TestNoErrorHasThePassword(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, &pgtest.Options{TCP: true})
	const secret = "canary-of-the-password"
	for name, dsn := range map[string]string{
		"wrong password":     "postgres://postgres:" + secret + "@" + c.Address() + "/postgres?sslmode=disable",
		"no such database":   "postgres://postgres:" + c.Password() + "@" + c.Address() + "/nothing?sslmode=disable",
		"nobody listens":     "postgres://postgres:" + secret + "@127.0.0.1:1/postgres?sslmode=disable",
		"another machine":    "postgres://postgres:" + secret + "@192.0.2.1/postgres",
		"a bad port":         "postgres://postgres:" + secret + "@127.0.0.1:port/postgres",
		"a bad escape":       "postgres://postgres:%zz" + secret + "@127.0.0.1/postgres",
		"a slash":            "postgres://postgres:a/" + secret + "@127.0.0.1/postgres",
		"words":              "host=127.0.0.1 port=1 password=" + secret,
		"words that are bad": "host=127.0.0.1 port=x password=" + secret,
		"a quote":            "host=127.0.0.1 password='" + secret,
		"no DSN":             secret,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pgdb.Open(t.Context(), dsn, &pgdb.Options{Patience: 10 * time.Millisecond, Connections: 1})
			require.Error(t, err)
			assert.NotContains(t, err.Error(), secret)
			assert.NotContains(t, err.Error(), c.Password())
		})
	}
}

// Clients and logs get errors: they say why the database cannot be reached, and not where it is or who asks.
func TestNoErrorNamesTheDatabase(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, &pgtest.Options{TCP: true})
	host, port, err := net.SplitHostPort(c.Address())
	require.NoError(t, err)
	for _, sql := range []string{`CREATE ROLE canaryuser LOGIN PASSWORD 'x'`, `CREATE ROLE canaryfull LOGIN PASSWORD 'x' CONNECTION LIMIT 0`,
		`CREATE DATABASE canarydb`, `REVOKE CONNECT ON DATABASE canarydb FROM public`} {
		exec(t, c.DSN(""), sql)
	}
	discreet := func(t *testing.T, err error, why string) {
		t.Helper()
		require.ErrorContains(t, err, why)
		for _, name := range []string{"canary", host, port, "localhost", "/nowhere"} {
			assert.NotContains(t, err.Error(), name)
		}
	}
	at := c.Address()
	for dsn, why := range map[string]string{
		"postgres://canaryuser:wrong@" + at + "/postgres?sslmode=disable": "cannot be reached: it refuses the user or the password (SQLSTATE 28P01)",
		"postgres://canaryuser:x@" + at + "/canarynone?sslmode=disable":   "there is no such database",
		"postgres://canaryuser:x@" + at + "/canarydb?sslmode=disable":     "permission denied for the database (SQLSTATE 42501)",
		"postgres://canaryfull:x@" + at + "/postgres?sslmode=disable":     "it takes no more connections",
		"postgres://canaryuser:x@127.0.0.1:1/canarydb?sslmode=disable":    "cannot be reached: connection refused",
		"postgres://canaryuser:x@localhost:1/canarydb?sslmode=disable":    "cannot be reached: connection refused",
		"postgres://canaryuser:x@canary..host/canarydb?sslmode=disable":   "the name of its machine cannot be resolved",
		"postgres:///canarydb?user=canaryuser&host=/nowhere":              "no such file or directory",
		"postgres://canaryuser:x@" + at + "/postgres?sslmode=verify-full": "TLS",
	} {
		_, err := pgdb.Open(t.Context(), dsn, &pgdb.Options{Patience: time.Millisecond, Unverified: true})
		discreet(t, err, why)
	}

	dsn := migrated.Database(t)
	w := newWire(t, dsn, "tcp")
	_, port, err = net.SplitHostPort(w.address)
	require.NoError(t, err)
	db := open(t, w.dsn, &pgdb.Options{Patience: time.Nanosecond, Connections: 1})
	ask := func(q pgdb.Queryer) error { return q.QueryRow(t.Context(), `SELECT 1`).Scan(new(int)) }
	for name, call := range map[string]func() error{
		"read":     func() error { return db.Read(t.Context(), ask) },
		"urgent":   func() error { return db.Urgent(t.Context(), ask) },
		"snapshot": func() error { return db.Snapshot(t.Context(), ask) },
		"exec":     func() error { return db.Exec(t.Context(), `SELECT 1`) },
		"apply":    func() error { return add(t.Context(), db, 1) },
		"notify":   func() error { return db.Notify(t.Context(), "x", "y") },
		"write": func() error {
			return db.Write(t.Context(), func(tx pgdb.Tx) error {
				_, err := tx.Exec(t.Context(), `SELECT 1`)
				return fmt.Errorf("within: %w", err)
			})
		},
	} {
		require.Eventually(t, func() bool { return db.Read(t.Context(), ask) == nil && db.Urgent(t.Context(), ask) == nil }, time.Minute, time.Millisecond, name)
		w.cut(true)
		err := call()
		require.Error(t, err, name)
		discreet(t, err, "")
	}
}

func TestThePasswordComesFromTheEnvironment(t *testing.T) {
	c := pgtest.Start(t, &pgtest.Options{TCP: true})
	t.Setenv("PGPASSWORD", c.Password())
	db, err := pgdb.Open(t.Context(), "postgres://postgres@"+c.Address()+"/postgres?sslmode=disable", nil)
	require.NoError(t, err)
	db.Close()
}

func TestHasPassword(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"postgres://u@h/d":                            false,
		"postgres://u:p@h/d":                          true,
		"postgres://u:@h/d":                           true,
		"postgres://h/d?user=u&password=p":            true,
		"postgres://h/d?sslpassword=p":                true,
		"postgres://u:%zz@h/d":                        true,
		"host=h user=u":                               false,
		"host=h password=p":                           true,
		"host=h password = p":                         true,
		"host=h sslmode=verify-full user=u":           false,
		"host=/run password=p application_name=a://b": true,
		"host=h sslpassword=p user=a://b":             true,
		"host=h user=u application_name=a://b":        false,
		"postgresql://u:p@h/d":                        true,
		"postgresql://u@h/d":                          false,
	} {
		assert.Equal(t, want, pgdb.HasPassword(dsn), dsn)
	}
}
