package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// table is the SQL behind the tools, for both databases.
type table struct {
	db    sqldb.DB
	words wordIndex
	// project and user are the tenant: those of Options.
	project, user string
	now           func() time.Time
	// mask masks what must not be in the database; nil masks nothing.
	mask func(text string) string
}

// home is the owner of memories: a row of the table space.
type home struct{ project, key string }

// space is the number of a home, and the project that has it. Statements that go by the number have the
// project in their condition too, so that the number of another tenant finds nothing.
type space struct {
	num     int64
	project string
}

const (
	// ofSpace is true if the project $2 has the space $1.
	ofSpace = ` EXISTS (SELECT 1 FROM space WHERE num = $1 AND project = $2)`
	// ofProject selects rows of the project $2.
	ofProject = ` space IN (SELECT num FROM space WHERE project = $2)`
	// ofTenant selects the spaces s of the project $1, and of the user $2.
	ofTenant = ` (s.project = $1 AND s.key NOT LIKE 'user:%' OR s.project = $2 AND s.key LIKE 'user:%')`
)

type entry struct {
	name, content string
	aliases       []string
	// conversation is the id of the conversation that writes it, and turn that of the turn.
	conversation, turn string
	kind               Kind
	label              label
	confidence         float64
}

// Source is where a memory was written or confirmed.
type Source struct {
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
}

const (
	// maxSources and maxAliases bound what a memory that is merged again and again keeps.
	maxSources = 20
	maxAliases = 32
)

// withSource adds the source to the JSON of the newest ones.
func withSource(stored string, add Source) (string, error) {
	var all []Source
	if err := json.Unmarshal([]byte(stored), &all); err != nil {
		all = nil // it was damaged; the newest ones matter most
	}
	if add != (Source{}) && !slices.Contains(all, add) {
		all = append(all, add)
	}
	text, err := json.Marshal(all[max(0, len(all)-maxSources):])
	if string(text) == "null" {
		return "[]", err
	}
	return string(text), err
}

// version identifies the state of a memory; zero is a missing memory.
type version struct {
	num, updated int64
	conversation string
}

// foreign reports whether another conversation has written it.
func (v version) foreign(conversation string) bool {
	return v.num != 0 && (v.conversation == "" || v.conversation != conversation)
}

// errForeign: another conversation has written the memory, and no person has agreed to
// replace it.
var errForeign = errors.New("another conversation has written it")

// key returns the name without case and repeated blanks, for comparisons.
func key(name string) string { return strings.ToLower(tidy(name)) }

// tidy returns the name with single blanks.
func tidy(name string) string { return strings.Join(strings.Fields(name), " ") }

// putResult says what put has done. Both zero: it has added the entry.
type putResult struct {
	replaced bool
	// merged is the name of the memory that says the same; "" if there is none.
	merged string
}

// masked returns the entry as the file may have it.
func (t *table) masked(e entry) entry {
	if t.mask == nil {
		return e
	}
	e.name, e.content, e.aliases = t.mask(e.name), t.mask(e.content), slices.Clone(e.aliases)
	for i := range e.aliases {
		e.aliases[i] = t.mask(e.aliases[i])
	}
	return e
}

// put adds the entry, or replaces the one of the same name if may allows it. An entry that
// says what another one says is merged with it.
func (t *table) put(ctx context.Context, h home, e entry, may func(version) bool) (done putResult, err error) {
	e = t.masked(e)
	err = t.write(ctx, []string{h.project}, func(tx sqldb.Tx) error {
		done = putResult{}
		was, err := look(tx, h, e.name)
		if err == nil && !may(was) {
			err = errForeign
		}
		if err == nil && was.num == 0 {
			done.merged, err = t.merge(tx, h, e, true)
		}
		if err == nil && done.merged == "" {
			done.replaced, err = t.putIn(tx, h, e)
		}
		return err
	})
	return done, err
}

// write changes memories of the projects, together with the index. No two processes write those of
// one project at the same time.
func (t *table) write(ctx context.Context, projects []string, f func(tx sqldb.Tx) error) error {
	return t.words.write(ctx, func(tx sqldb.Tx) error {
		for _, project := range slices.Compact(slices.Sorted(slices.Values(projects))) {
			if err := tx.Lock("memories of " + project); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

const lookup = `SELECT m.num, m.updated, m.conversation FROM memory m JOIN space s ON s.num = m.space WHERE s.project = $1 AND s.key = $2 AND m.key = $3`

func look(tx sqldb.Reader, h home, name string) (v version, err error) {
	err = tx.One(lookup, h.project, h.key, key(name)).Scan(&v.num, &v.updated, &v.conversation)
	if isNone(err) {
		err = nil
	}
	return v, err
}

func (t *table) putIn(tx sqldb.Tx, h home, e entry) (replaced bool, err error) {
	aliases, err := json.Marshal(e.aliases)
	if err != nil {
		return false, err
	}
	in, err := ensureSpace(tx, h)
	if err != nil {
		return false, err
	}
	old, replaced, err := rowOf(tx, in, e.name)
	if err == nil && replaced {
		err = t.words.remove(tx, old)
	}
	if err != nil {
		return false, err
	}
	now := t.now().UnixNano()
	sources, err := withSource("[]", Source{e.conversation, e.turn})
	if err != nil {
		return false, err
	}
	var num int64
	err = tx.One(`INSERT INTO memory (num, space, key, name, aliases, content, conversation, created, updated, kind, origin, trust, confidence, sources)
		SELECT coalesce((SELECT max(num) FROM memory WHERE num BETWEEN $3 AND $4), $3) + 1, $1, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, $14, $15 WHERE`+ofSpace+`
		ON CONFLICT (space, key) DO UPDATE SET name = excluded.name, aliases = excluded.aliases,
			content = excluded.content, conversation = excluded.conversation, updated = excluded.updated, kind = excluded.kind,
			origin = excluded.origin, trust = excluded.trust, confidence = excluded.confidence, sources = excluded.sources, used = 0, uses = 0
		RETURNING num`,
		in.num, in.project, in.first(), in.last(), key(e.name), e.name, string(aliases), e.content, e.conversation, now,
		cmp.Or(e.kind, KindFact), cmp.Or(e.label.origin, OriginModel), cmp.Or(e.label.trust, message.TrustExternal), cmp.Or(e.confidence, 1), sources).Scan(&num)
	if err != nil {
		return false, err
	}
	return replaced, t.words.add(tx, row{num, in.project, e.name, string(aliases), e.content})
}

// row is the stored memory of a project, with its fields that are in the index.
type row struct {
	num                    int64
	project                string
	name, aliases, content string
}

// space returns that of the row.
func (r row) space() space { return space{r.num >> spaceBits, r.project} }

func rowOf(tx sqldb.Tx, in space, name string) (r row, found bool, err error) {
	r.project = in.project
	err = tx.One(`SELECT num, name, aliases, content FROM memory WHERE space = $1 AND key = $3 AND`+ofSpace, in.num, in.project, key(name)).
		Scan(&r.num, &r.name, &r.aliases, &r.content)
	if isNone(err) {
		return r, false, nil
	}
	return r, err == nil, err
}

// texts returns the fields of the memory that are in the index.
func (r row) texts() (name, aliases, content string, err error) {
	var words []string
	if err := json.Unmarshal([]byte(r.aliases), &words); err != nil {
		return "", "", "", fmt.Errorf("the aliases of %s: %w", r.name, err)
	}
	return r.name, strings.Join(words, "\n"), r.content, nil
}

func isNone(err error) bool { return errors.Is(err, sqldb.ErrNoRows) }

func ensureSpace(tx sqldb.Tx, h home) (space, error) {
	_, err := tx.Exec(`INSERT INTO space (project, key) VALUES ($1, $2) ON CONFLICT (project, key) DO NOTHING`, h.project, h.key)
	if err != nil {
		return space{}, err
	}
	return spaceIn(tx, h)
}

// spaceIn returns the space of the home; sqldb.ErrNoRows.
func spaceIn(r sqldb.Reader, h home) (space, error) {
	out := space{project: h.project}
	return out, r.One(spaceOf, h.project, h.key).Scan(&out.num)
}

const spaceOf = `SELECT num FROM space WHERE project = $1 AND key = $2`

// spaceBits are the bits of a memory's number behind those of its space.
const spaceBits = 40

// first and last bound the numbers of the memories of the space; first itself is none.
func (s space) first() int64 { return s.num << spaceBits }
func (s space) last() int64  { return (s.num+1)<<spaceBits - 1 }

// drop removes the memory of the name, and what waits under it. It returns false if there was no memory.
func (t *table) drop(ctx context.Context, h home, name string) (found bool, err error) {
	err = t.write(ctx, []string{h.project}, func(tx sqldb.Tx) error {
		found = false
		if _, err := tx.Exec(`DELETE FROM candidate WHERE key = $3 AND space IN (`+spaceOf+`)`, h.project, h.key, key(name)); err != nil {
			return err
		}
		r := row{project: h.project}
		err := tx.One(`DELETE FROM memory WHERE key = $3 AND
			space IN (`+spaceOf+`) RETURNING num, name, aliases, content`, h.project, h.key, key(name)).Scan(&r.num, &r.name, &r.aliases, &r.content)
		if isNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return t.words.remove(tx, r)
	})
	if err == nil { // also without a row: the call before may have been cut short
		err = t.db.Scrub(ctx)
	}
	return found, err
}
