package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres/internal/statement"
)

const (
	// beat returns whether the node was dead before. If nobody has heard that of an earlier beat,
	// whose answer was lost, it says so again: $8 is the mark of the last one whose answer came.
	// A gap of more than half a TTL may hide an outage in which the others could not beat.
	beat = `WITH beaten AS (INSERT INTO node AS n (id, url, version, ttl, projects, seen, mark, late) VALUES ($2, $3, $4, $5, $6, ` + statement.Now + `, $7, false)
			ON CONFLICT (id) DO UPDATE SET url = excluded.url, version = excluded.version, ttl = excluded.ttl, projects = excluded.projects,
				seen = excluded.seen, mark = excluded.mark, late = ` + statement.Dead + ` OR n.late AND n.mark <> $8
			RETURNING n.late OR n.xmax = 0 AND $8 <> 0 AS late, n.xmax = 0 AS first), -- a row that is new: its beats were buried
		witnessed AS (INSERT INTO witness AS w (id, since, seen) VALUES ($2, ` + statement.Now + `, ` + statement.Now + `)
			ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, since = CASE WHEN excluded.seen > w.seen + $5 / 2 THEN excluded.seen ELSE w.since END)
		SELECT late, first FROM beaten` + anyTenant
	// bury frees what nodes held that died a day ago, and forgets them. It reads all conversations,
	// so it is done when a node comes and not by each beat.
	bury = `WITH gone AS (DELETE FROM node n WHERE n.seen < ` + statement.Now + ` - 86400 * 1000000000::bigint AND ` + statement.Dead + ` RETURNING n.id),
		old AS (DELETE FROM witness w WHERE w.seen < ` + statement.Now + ` - 86400 * 1000000000::bigint),
		jobs AS (UPDATE job j SET due = 0 FROM gone WHERE j.owner = gone.id AND j.status = 'running')
		UPDATE conversation c SET until = 0 FROM gone WHERE c.owner = gone.id AND c.until <> 0` + anyTenant
	leave = `UPDATE node SET ttl = 0 WHERE id = $1` + anyTenant
	// unfinished reads the journals, which are few, and then their conversations.
	unfinished = `SELECT ` + columns + ` FROM conversation c WHERE c.parent = '' AND {c.project} AND c.num IN (SELECT e.conversation FROM entry e)`
	nodes      = `SELECT n.id, n.url, n.version, n.ttl, n.projects, n.seen, NOT ` + statement.Dead + ` FROM node n ORDER BY n.id` + anyTenant
)

// Beat implements store.Presence.
func (s *Store) Beat(ctx context.Context, n store.Node) error {
	if err := n.Check(); err != nil {
		return err
	}
	projects, err := json.Marshal(n.Projects)
	if err != nil {
		return s.failed("beat", err)
	}
	mark := statement.Mark()
	s.beats.Lock()
	heard := s.beats.heard[n.ID]
	s.beats.Unlock()
	var late, first bool
	err = s.db.Urgent(ctx, func(q pgdb.Queryer) error {
		return q.QueryRow(ctx, beat, s.clock(), n.ID, n.URL, n.Version, int64(n.TTL), projects, mark, heard).Scan(&late, &first)
	})
	if err != nil {
		return s.failed("beat", err)
	}
	s.beats.Lock()
	s.beats.heard[n.ID] = mark
	s.beats.Unlock()
	switch {
	case late:
		return fmt.Errorf("%w: %s", store.ErrLate, n.ID)
	case first:
		err = s.db.Exec(ctx, bury, s.clock())
	}
	return s.failed("beat", err)
}

// beats has the mark of the last beat of each node whose answer came.
type beats struct {
	sync.Mutex
	heard map[string]int64
}

// Unfinished implements store.Unfinished.
func (s *Store) Unfinished(ctx context.Context) ([]store.Record, error) {
	out, err := query(ctx, s, scanRecord, unfinished, s.clock())
	return out, s.failed("look for turns that have not ended", err)
}

// Leave implements store.Presence.
func (s *Store) Leave(ctx context.Context, id string) error {
	return s.failed("leave", s.db.Exec(ctx, leave, id))
}

// Nodes implements store.Presence.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	out, err := query(ctx, s, func(row pgdb.Row) (n store.Node, err error) {
		var ttl, seen int64
		var projects []byte
		if err := row.Scan(&n.ID, &n.URL, &n.Version, &ttl, &projects, &seen, &n.Alive); err != nil {
			return n, err
		}
		n.TTL, n.Seen = time.Duration(ttl), time.Unix(0, seen)
		return n, json.Unmarshal(projects, &n.Projects)
	}, nodes, s.clock())
	return out, s.failed("list the nodes", err)
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
