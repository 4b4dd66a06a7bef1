package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/rounds"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

const (
	// beat returns of each node whether it was dead before, and whether its row is new. If nobody has heard
	// that it was of an earlier beat, whose answer was lost, it says so again: heard is the mark of the last one
	// whose answer came. A gap of more than half a TTL may hide an outage in which the others could not beat.
	beat = `WITH b AS (SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[])
			AS b (id, url, version, ttl, projects, mark, heard)),
		beaten AS (INSERT INTO node AS n (id, url, version, ttl, projects, seen, mark, late)
			SELECT b.id, b.url, b.version, b.ttl, b.projects, ` + statement.Now + `, b.mark, false FROM b ORDER BY b.id
			ON CONFLICT (id) DO UPDATE SET url = excluded.url, version = excluded.version, ttl = excluded.ttl, projects = excluded.projects,
				seen = excluded.seen, mark = excluded.mark, late = ` + statement.Dead + ` OR n.late AND n.mark <> (SELECT b.heard FROM b WHERE b.id = n.id)
			RETURNING n.id, n.mark, n.late, n.xmax = 0 AS first),
		witnessed AS (INSERT INTO witness AS w (id, since, seen) SELECT b.id, ` + statement.Now + `, ` + statement.Now + ` FROM b ORDER BY b.id
			ON CONFLICT (id) DO UPDATE SET seen = excluded.seen,
				since = CASE WHEN excluded.seen > w.seen + (SELECT b.ttl FROM b WHERE b.id = w.id) / 2 THEN excluded.seen ELSE w.since END)
		SELECT id, mark, late, first FROM beaten` + anyTenant
	hour = `3600 * 1000000000::bigint`
	// bury frees what nodes held that left or died an hour ago, and forgets them. It reads all conversations, so it
	// is done when a node comes, and only if one is two hours old: commands are nodes that come and go.
	bury = `WITH due AS (SELECT FROM node n WHERE n.seen < ` + statement.Now + ` - 2 * ` + hour + ` AND ` + statement.Dead + ` LIMIT 1),
		gone AS (DELETE FROM node n WHERE n.seen < ` + statement.Now + ` - ` + hour + ` AND ` + statement.Dead + ` AND EXISTS (SELECT FROM due) RETURNING n.id),
		old AS (DELETE FROM witness w WHERE w.seen < ` + statement.Now + ` - ` + hour + ` AND EXISTS (SELECT FROM due)),
		jobs AS (UPDATE job j SET due = 0 FROM gone WHERE j.owner = gone.id AND j.status = 'running')
		UPDATE conversation c SET until = 0 FROM gone WHERE c.owner = gone.id AND c.until <> 0` + anyTenant
	// leave keeps the row for the owner of leases and jobs that are still there.
	leave = `UPDATE node SET ttl = 0, url = '', projects = '[]' WHERE id = $1` + anyTenant
	// unfinished reads the journals, which are few, and then their conversations.
	unfinished = `SELECT ` + columns + ` FROM conversation c WHERE c.parent = '' AND {c.project} AND c.num IN (SELECT e.conversation FROM entry e)`
	nodes      = `SELECT n.id, n.url, n.version, n.ttl, n.projects, n.seen, NOT ` + statement.Dead + ` FROM node n WHERE n.ttl > 0 ORDER BY n.id` + anyTenant
)

// presence is what the stores of all tenants have together of store.Presence.
type presence struct {
	beats rounds.Rounds[store.Node, map[string]beaten]
	lists rounds.Rounds[struct{}, []store.Node]
	// heard has the mark of the last beat of each node whose answer came, an int64.
	heard sync.Map
}

// beaten is what the database says of a beat.
type beaten struct {
	mark  int64
	late  bool // the node was dead before
	first bool // its row is new
}

// Beat implements store.Presence. The beats of all tenants that come at the same time are one statement.
func (s *Store) Beat(ctx context.Context, n store.Node) error {
	if err := n.Check(); err != nil {
		return err
	}
	all, err := s.presence.beats.Join(ctx, n.ID, n, s.beat)
	if err != nil {
		return s.failed("beat", err)
	}
	b := all[n.ID]
	s.presence.heard.Store(n.ID, b.mark)
	switch {
	case b.late:
		return fmt.Errorf("%w: %s", store.ErrLate, n.ID)
	case b.first:
		err = s.db.Exec(ctx, bury, s.clock())
	}
	return s.failed("beat", err)
}

// beat sends the beats of nodes.
func (s *Store) beat(ctx context.Context, in map[string]store.Node) (map[string]beaten, error) {
	var ids, urls, versions []string
	var ttls, marks, heard []int64
	var projects [][]byte
	for id, n := range in {
		its, err := json.Marshal(n.Projects)
		if err != nil {
			return nil, err
		}
		ids, urls, versions, ttls, projects = append(ids, id), append(urls, n.URL), append(versions, n.Version), append(ttls, int64(n.TTL)), append(projects, its)
		marks, heard = append(marks, statement.Mark()), append(heard, s.presence.heardOf(id))
	}
	out := map[string]beaten{}
	err := s.db.Urgent(ctx, func(q pgdb.Queryer) error {
		rows, err := q.Query(ctx, beat, s.clock(), ids, urls, versions, ttls, projects, marks, heard)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var b beaten
			if err := rows.Scan(&id, &b.mark, &b.late, &b.first); err != nil {
				return err
			}
			b.late = b.late || b.first && s.presence.heardOf(id) != 0 // its row was buried
			out[id] = b
		}
		return rows.Err()
	})
	return out, err
}

func (p *presence) heardOf(id string) int64 {
	mark, _ := p.heard.Load(id)
	n, _ := mark.(int64)
	return n
}

// Unfinished implements store.Unfinished.
func (s *Store) Unfinished(ctx context.Context) ([]store.Record, error) {
	out, err := query(ctx, s, scanRecord, unfinished, s.clock())
	return out, s.failed("look for turns that have not ended", err)
}

// Leave implements store.Presence.
func (s *Store) Leave(ctx context.Context, id string) error {
	s.presence.heard.Delete(id)
	return s.failed("leave", s.db.Exec(ctx, leave, id))
}

// Nodes implements store.Presence. Tenants that ask at the same time share the answer.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	all, err := s.presence.lists.Join(ctx, "", struct{}{}, s.list)
	return slices.Clone(all), s.failed("list the nodes", err)
}

// list reads the nodes.
func (s *Store) list(ctx context.Context, _ map[string]struct{}) ([]store.Node, error) {
	return query(ctx, s, func(row pgdb.Row) (n store.Node, err error) {
		var ttl, seen int64
		var projects []byte
		if err := row.Scan(&n.ID, &n.URL, &n.Version, &ttl, &projects, &seen, &n.Alive); err != nil {
			return n, err
		}
		n.TTL, n.Seen = time.Duration(ttl), time.Unix(0, seen)
		return n, json.Unmarshal(projects, &n.Projects)
	}, nodes, s.clock())
}

const (
	// channel is where the ids of conversations are told that were written to.
	channel = "grapnel_conversation"
	// tick is how long the ids of one notification are collected. A notification in each write
	// would halve what the database can commit.
	tick = 20 * time.Millisecond
	// maxPayload is how many bytes a notification has at most; the limit is 8,000.
	maxPayload = 7900
)

// changes are ids of conversations that others have not been told of yet.
type changes struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (c *changes) add(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
}

// payloads takes the ids, as payloads of one line for each.
func (c *changes) payloads() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines strings.Builder
	for id := range c.ids {
		if lines.Len()+1+len(id) > maxPayload {
			out = append(out, lines.String())
			lines.Reset()
		}
		if lines.Len() > 0 {
			lines.WriteByte('\n')
		}
		lines.WriteString(id)
	}
	if lines.Len() > 0 {
		out = append(out, lines.String())
	}
	clear(c.ids)
	return out
}

// notify tells of changes until ctx ends. What it cannot tell it drops: who waits for a change
// reads now and then.
func (s *Store) notify(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			s.tell(last)
			return
		case <-ticker.C:
			s.tell(ctx)
		}
	}
}

func (s *Store) tell(ctx context.Context) {
	for _, payload := range s.changed.payloads() {
		_ = s.db.Notify(ctx, channel, payload) // see notify
	}
}

// Watch implements store.Waker.
func (s *Store) Watch(ctx context.Context, changed func(id string)) error {
	err := s.db.Listen(ctx, channel, func(payload string) {
		for id := range strings.SplitSeq(payload, "\n") {
			changed(id)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.failed("listen for changes", err)
}
