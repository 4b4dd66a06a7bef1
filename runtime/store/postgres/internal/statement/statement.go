// Package statement builds the statements of a PostgreSQL store that add to conversations.
package statement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	// Now is the time of a statement whose first argument is the time, or nil for the clock of the database.
	// An index is searched for (SELECT Now) only: the clock itself goes on between two rows.
	Now = `coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint)`
	// started is when the server was started: before, no node could beat.
	started = `CASE WHEN $1::bigint IS NULL THEN (extract(epoch FROM pg_postmaster_start_time()) * 1000000000)::bigint ELSE 0 END`
	// Dead: node n has left, or was not seen for longer than its TTL.
	Dead = `(n.ttl = 0 OR ` + Now + ` > greatest(n.seen, ` + started + `) + n.ttl)`
	// Orphaned: the owner of the lease on conversation c is a node that is dead.
	Orphaned = `EXISTS (SELECT FROM node n WHERE n.id = c.owner AND ` + Dead + `)`
	// Marked is the condition that the write of the mark $2 has not run, Marking sets its mark.
	Marked  = `NOT $2::bigint = ANY (c.marks)`
	Marking = `marks = (array_prepend($2::bigint, c.marks))[1:16]`
)

// Mark returns the mark of a write, another one each time.
func Mark() int64 { return rand.Int64() } //nolint:gosec // it need not be secret

// Hold is how long a lease lasts, in nanoseconds; 0 frees it.
func Hold(d time.Duration) int64 { return int64(max(0, d)) }

// Builder builds a statement of several parts. The zero value has none.
type Builder struct {
	// Args are the arguments so far.
	Args  []any
	parts []string
}

// Arg adds an argument and returns its place, with its type.
func (b *Builder) Arg(v any, kind string) string {
	b.Args = append(b.Args, v)
	return fmt.Sprintf("$%d::%s", len(b.Args), kind)
}

// Part adds a part that later ones can name.
func (b *Builder) Part(name, sql string) { b.parts = append(b.parts, name+" AS ("+sql+")") }

// With returns the statement behind the parts.
func (b *Builder) With(sql string) string {
	return `WITH ` + strings.Join(b.parts, ",\n") + "\n" + sql
}
