package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

const (
	// userKey is the prefix of the key of a user's space.
	userKey = "user:"
	// projectKey is the key of the memories that agents of the project share.
	projectKey = "project:"
)

// Remembered is one memory, in a form for people.
type Remembered struct {
	// ID names the memory as it is to Rewrite and Discard: after a change it has another one. "" if it waits for review.
	ID string `json:"-"`
	// Project is the project of the memory. User: all projects of the user share it, and
	// Project is Options.User.
	Project string `json:"project,omitzero"`
	User    bool   `json:"user,omitzero"`
	// Of is the owner: "agent NAME", "space NAME", or "project" for all agents of the project.
	Of      string `json:"of"`
	Name    string `json:"name"`
	Content string `json:"content"`
	Kind    Kind   `json:"kind"`
	// Origin is the mark of where it is from, and Trust the weakest label of what went in.
	Origin     Origin        `json:"origin"`
	Trust      message.Trust `json:"trust"`
	Confidence float64       `json:"confidence"`
	// Sources are the newest conversations and turns that wrote or confirmed it.
	Sources []Source `json:"sources,omitzero"`
	// Uses counts how often turns have got it, and Used is the last time.
	Uses int64     `json:"uses,omitzero"`
	Used time.Time `json:"used,omitzero"`
	// Conversation is the id of the conversation that wrote it last; "" if unknown.
	Conversation string    `json:"conversation,omitzero"`
	Updated      time.Time `json:"updated"`
}

// Named reports whether the memory has the name, whatever its case and blanks.
func (r *Remembered) Named(name string) bool { return key(r.Name) == key(name) }

// List returns the memories of the project and of the user, ordered by project, owner and name.
func (m *Memory) List(ctx context.Context) ([]Remembered, error) {
	return m.list(ctx, selectRemembered+` WHERE`+ofTenant+inOrder, m.table.project, m.table.user)
}

// ListAll returns the memories of all projects and users, in the order of List.
func (m *Memory) ListAll(ctx context.Context) ([]Remembered, error) {
	return m.list(ctx, selectRemembered+inOrder+sqldb.AnyTenant)
}

const (
	selectRemembered = `SELECT s.project, s.key, m.name, m.content, m.conversation, m.updated, m.kind, m.origin, m.trust, m.confidence, m.sources, m.uses, m.used, m.num
		FROM memory m JOIN space s ON s.num = m.space`
	inOrder = ` ORDER BY s.project, s.key, m.key`
)

func (m *Memory) list(ctx context.Context, query string, args ...any) (out []Remembered, err error) {
	err = m.table.db.Read(ctx, func(r sqldb.Reader) error {
		out = nil
		return r.Each(func(row sqldb.Row) error {
			var r Remembered
			var key, sources string
			var updated, used, num int64
			err := row.Scan(&r.Project, &key, &r.Name, &r.Content, &r.Conversation, &updated,
				&r.Kind, &r.Origin, &r.Trust, &r.Confidence, &sources, &r.Uses, &used, &num)
			r.fill(key, sources, updated)
			r.ID = idOf(num, updated)
			if used != 0 {
				r.Used = time.Unix(0, used)
			}
			out = append(out, r)
			return err
		}, query, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return out, nil
}

// Remove removes a memory that List has returned, for good: no file has its text then. It goes
// by project, owner and name, and reports whether there was such a memory.
func (m *Memory) Remove(ctx context.Context, r Remembered) (bool, error) {
	h := home{r.Project, strings.Replace(r.Of, " ", ":", 1)}
	if r.Of == "project" {
		h.key = projectKey
	}
	if r.User {
		h.key = userKey + h.key
	}
	found, err := m.table.drop(ctx, h, r.Name)
	if err != nil {
		return false, fmt.Errorf("forget %s: %w", r.Name, err)
	}
	return found, nil
}

// Adopt moves the memories of another project to this one: those of an agent to the agent
// of its name, those of a space to that space. A memory whose name is taken here stays
// there. It returns how many moved and how many stayed.
func (m *Memory) Adopt(ctx context.Context, project string) (moved, kept int, err error) {
	if project == m.table.project {
		return 0, 0, nil
	}
	err = m.table.write(ctx, []string{project, m.table.project}, func(tx sqldb.Tx) error {
		moved, kept, err = m.table.adopt(tx, project, m.table.project)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("adopt memories: %w", err)
	}
	return moved, kept, nil
}

func (t *table) adopt(tx sqldb.Tx, from, to string) (moved, kept int, err error) {
	for last := int64(0); ; {
		var num int64
		h := home{project: to}
		err := tx.One(`SELECT s.key, m.num FROM memory m JOIN space s ON s.num = m.space
			WHERE s.project = $1 AND m.num > $2 AND s.key NOT LIKE 'user:%' ORDER BY m.num LIMIT 1`, from, last).Scan(&h.key, &num)
		if isNone(err) {
			return moved, kept, nil
		}
		if err != nil {
			return 0, 0, err
		}
		last = num
		switch ok, err := t.move(tx, num, from, h); {
		case err != nil:
			return 0, 0, err
		case ok:
			moved++
		default:
			kept++
		}
	}
}

// move moves a memory of a project to another home, under a number of that home. It returns false if
// the name is taken there.
func (t *table) move(tx sqldb.Tx, num int64, from string, h home) (bool, error) {
	in, err := ensureSpace(tx, h)
	if err != nil {
		return false, err
	}
	now := row{project: in.project}
	err = tx.One(`UPDATE memory SET space = $1, num = coalesce((SELECT max(num) FROM memory WHERE num BETWEEN $3 AND $4), $3) + 1
		WHERE num = $5 AND space IN (SELECT num FROM space WHERE project = $6) AND`+ofSpace+`
			AND NOT EXISTS (SELECT 1 FROM memory o WHERE o.space = $1 AND o.key = memory.key)
		RETURNING num, name, aliases, content`, in.num, in.project, in.first(), in.last(), num, from).
		Scan(&now.num, &now.name, &now.aliases, &now.content)
	if isNone(err) {
		return false, nil
	}
	if err == nil {
		was := now
		was.num, was.project = num, from
		err = t.words.remove(tx, was)
	}
	if err == nil {
		err = t.words.add(tx, now)
	}
	return err == nil, err
}
