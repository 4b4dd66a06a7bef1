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
	// witnessed: another node has beaten without a gap for the TTL of node n since its last beat. So the
	// database was there, and n could have beaten.
	witnessed = `EXISTS (SELECT FROM witness w WHERE w.seen >= n.seen + n.ttl AND w.seen >= w.since + n.ttl)`
	// Dead: node n has left, or was silent for its TTL before a witness. Whose clock is not that of the
	// database needs none.
	Dead = `(n.ttl = 0 OR CASE WHEN $1::bigint IS NULL THEN ` + witnessed + ` ELSE $1 > n.seen + n.ttl END)`
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
