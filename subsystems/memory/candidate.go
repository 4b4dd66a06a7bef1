package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

const (
	// maxCandidates bounds those that wait in one space; the oldest go first.
	maxCandidates = 200
	// extractedTime is how long turns are known to be done. Jobs are not that old.
	extractedTime = 30 * 24 * time.Hour
)

// extracted reports whether the job of the turn has been done.
func (t *table) extracted(ctx context.Context, turn string) (done bool, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		return r.One(`SELECT EXISTS (SELECT 1 FROM extracted WHERE turn = $1)`+sqldb.AnyTenant, turn).Scan(&done)
	})
	return done, err
}

// keep keeps what was found in a turn, once for the turn. Of that it takes what comes from
// people, if the task is automatic and nothing is replaced; the rest waits for review.
func (t *table) keep(ctx context.Context, of task, entries []entry) (taken, waiting int, err error) {
	h := home{of.Project, of.Key}
	err = t.write(ctx, []string{h.project}, func(tx sqldb.Tx) error {
		taken, waiting = 0, 0
		now := t.now()
		var first int
		err := tx.One(`INSERT INTO extracted (turn, at) VALUES ($1, $2) ON CONFLICT (turn) DO NOTHING RETURNING 1`+sqldb.AnyTenant, of.Turn, now.UnixNano()).Scan(&first)
		if err != nil {
			return orNone(err) // another run of the job has kept it
		}
		if _, err := tx.Exec(`DELETE FROM extracted WHERE at < $1`+sqldb.AnyTenant, now.Add(-extractedTime).UnixNano()); err != nil {
			return err
		}
		for _, e := range entries {
			switch took, waits, err := t.keepIn(tx, h, t.masked(e), of.Auto); {
			case err != nil:
				return err
			case took:
				taken++
			case waits:
				waiting++
			}
		}
		return nil
	})
	return taken, waiting, err
}

// keepIn merges the entry with the memory that says the same, or takes it, or lets it wait. What may not be taken
// by itself adds nothing to a memory that is there.
func (t *table) keepIn(tx sqldb.Tx, h home, e entry, auto bool) (taken, waits bool, err error) {
	auto = auto && e.label.origin.strength() >= OriginModel.strength()
	was, err := look(tx, h, e.name)
	if err != nil {
		return false, false, err
	}
	if merged, err := t.merge(tx, h, e, auto); err != nil || merged != "" {
		return false, false, err
	}
	if auto && was.num == 0 {
		_, err := t.putIn(tx, h, e)
		return err == nil, false, err
	}
	return false, true, t.wait(tx, h, e)
}

// wait adds a candidate. One of its name goes, unless it is of a stronger origin: then the new one is dropped.
func (t *table) wait(tx sqldb.Tx, h home, e entry) error {
	in, err := ensureSpace(tx, h)
	if err != nil {
		return err
	}
	aliases, err := json.Marshal(append([]string{}, e.aliases...))
	if err != nil {
		return err
	}
	sources, err := withSource("[]", Source{e.conversation, e.turn})
	if err != nil {
		return err
	}
	var was Origin
	err = tx.One(`SELECT origin FROM candidate WHERE space = $1 AND key = $3 AND`+ofSpace, in.num, in.project, key(e.name)).Scan(&was)
	if err == nil && was.strength() > e.label.origin.strength() {
		return nil
	}
	if err = orNone(err); err == nil {
		_, err = tx.Exec(`DELETE FROM candidate WHERE space = $1 AND key = $3 AND`+ofSpace, in.num, in.project, key(e.name))
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO candidate (space, key, name, aliases, content, kind, origin, trust, confidence, sources, created)
		SELECT $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 WHERE`+ofSpace,
		in.num, in.project, key(e.name), e.name, string(aliases), e.content, e.kind, e.label.origin, e.label.trust, e.confidence, sources, t.now().UnixNano())
	if err == nil {
		_, err = tx.Exec(`DELETE FROM candidate WHERE num IN (SELECT num FROM candidate WHERE space = $1 AND`+ofSpace+` ORDER BY created DESC, num DESC LIMIT $3 OFFSET $3)`, in.num, in.project, maxCandidates)
	}
	return err
}

// Candidate is a memory that waits for a person.
type Candidate struct {
	// Number names it to Accept and Reject.
	Number int64 `json:"number"`
	Remembered
}

// Candidates returns the memories of the project and of the user that wait, the oldest first.
func (m *Memory) Candidates(ctx context.Context) (out []Candidate, err error) {
	err = m.table.db.Read(ctx, func(r sqldb.Reader) error {
		out = nil
		return r.Each(func(row sqldb.Row) error {
			var c Candidate
			var key, sources string
			var created int64
			err := row.Scan(&c.Number, &c.Project, &key, &c.Name, &c.Content, &c.Kind, &c.Origin, &c.Trust, &c.Confidence, &sources, &created)
			c.fill(key, sources, created)
			out = append(out, c)
			return err
		}, `SELECT c.num, s.project, s.key, c.name, c.content, c.kind, c.origin, c.trust, c.confidence, c.sources, c.created
		FROM candidate c JOIN space s ON s.num = c.space WHERE`+ofTenant+` ORDER BY c.created, c.num`, m.table.project, m.table.user)
	})
	if err != nil {
		return nil, fmt.Errorf("list candidates: %w", err)
	}
	return out, nil
}

// ErrNoCandidate: the project and the user have no candidate with that number.
var ErrNoCandidate = errors.New("no memory with this number waits")

// Accept makes the candidate a memory. One of its name is replaced, and one that says the same
// is merged with it; the mark of its origin stays. It returns the name.
func (m *Memory) Accept(ctx context.Context, number int64) (name string, err error) {
	err = m.table.changeCandidate(ctx, number, func(tx sqldb.Tx) error {
		h, e, err := m.table.takeCandidate(tx, number)
		if err != nil {
			return err
		}
		name = e.name
		was, err := look(tx, h, e.name)
		if err != nil {
			return err
		}
		if was.num == 0 {
			if merged, err := m.table.merge(tx, h, e, true); err != nil || merged != "" {
				name = merged
				return err
			}
		}
		_, err = m.table.putIn(tx, h, e)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("accept memory %d: %w", number, err)
	}
	return name, nil
}

// Reject removes the candidate. No file has its text then.
func (m *Memory) Reject(ctx context.Context, number int64) error {
	err := m.table.changeCandidate(ctx, number, func(tx sqldb.Tx) error {
		_, _, err := m.table.takeCandidate(tx, number)
		return err
	})
	if err == nil {
		err = m.table.db.Scrub(ctx)
	}
	if err != nil {
		return fmt.Errorf("reject memory %d: %w", number, err)
	}
	return nil
}

// changeCandidate is write for the project of the candidate.
func (t *table) changeCandidate(ctx context.Context, number int64, f func(tx sqldb.Tx) error) error {
	var project string
	err := t.db.Read(ctx, func(r sqldb.Reader) error {
		return r.One(`SELECT s.project FROM candidate c JOIN space s ON s.num = c.space WHERE c.num = $3 AND`+ofTenant, t.project, t.user, number).Scan(&project)
	})
	if isNone(err) {
		return ErrNoCandidate
	}
	if err != nil {
		return err
	}
	return t.write(ctx, []string{project}, f)
}

// takeCandidate removes the candidate and returns it.
func (t *table) takeCandidate(tx sqldb.Tx, number int64) (h home, e entry, err error) {
	var aliases, sources string
	err = tx.One(`SELECT s.project, s.key, c.name, c.aliases, c.content, c.kind, c.origin, c.trust, c.confidence, c.sources
		FROM candidate c JOIN space s ON s.num = c.space WHERE c.num = $3 AND`+ofTenant, t.project, t.user, number).
		Scan(&h.project, &h.key, &e.name, &aliases, &e.content, &e.kind, &e.label.origin, &e.label.trust, &e.confidence, &sources)
	if isNone(err) {
		return h, e, ErrNoCandidate
	}
	if err == nil {
		err = json.Unmarshal([]byte(aliases), &e.aliases)
	}
	if from := sourcesOf(sources); len(from) > 0 {
		e.conversation, e.turn = from[len(from)-1].Conversation, from[len(from)-1].Turn
	}
	if err == nil {
		_, err = tx.Exec(deleteCandidate, number, h.project)
	}
	return h, e, err
}

// sourcesOf decodes the sources; none if they are damaged.
func sourcesOf(text string) (out []Source) {
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// fill sets what the columns say in other words.
func (r *Remembered) fill(key, sources string, updated int64) {
	key, r.User = strings.CutPrefix(key, userKey)
	r.Of, r.Updated, r.Sources = strings.TrimSuffix(strings.Replace(key, ":", " ", 1), " "), time.Unix(0, updated), sourcesOf(sources)
	r.Trust = weaker(r.Trust, message.TrustWorkspace)
}
