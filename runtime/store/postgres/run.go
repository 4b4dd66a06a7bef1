package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// lockRuns waits for the deletion of the conversations, so that the next statement sees it.
	lockRuns = `SELECT c.num FROM conversation c WHERE c.id = ANY ($1::text[]) AND {c.project} ORDER BY c.num FOR KEY SHARE`
	oldRuns  = `SELECT r.project, r.body FROM unnest($1::bytea[], $2::bytea[]) x (project, id) JOIN hook_run r ON r.project = x.project AND r.id = x.id WHERE {r.project} FOR UPDATE OF r`
	writeRun = `INSERT INTO hook_run (project, id, conversation, subsystem, status, body) SELECT $1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::bytea, $6::bytea
		WHERE NOT EXISTS (SELECT FROM erased e WHERE e.id = $7) AND {$1::bytea}
		ON CONFLICT (project, id) DO UPDATE SET conversation = excluded.conversation, subsystem = excluded.subsystem, status = excluded.status, body = excluded.body`
	// dropRuns drops the oldest runs of the project beyond the limit.
	dropRuns = `DELETE FROM hook_run WHERE project = $1 AND {project} AND num <= (SELECT num FROM hook_run WHERE project = $1 ORDER BY num DESC LIMIT 1 OFFSET $2)`
	runsOf   = `SELECT r.body FROM hook_run r WHERE r.project = $1 AND {r.project} AND ($2::bytea = '' OR r.id = $2) AND ($3::bytea = '' OR r.conversation = $3)
		AND ($4::bytea = '' OR r.subsystem = $4 OR substring(r.subsystem FOR octet_length($4) + 1) = $4 || '.'::bytea) AND ($5::bytea = '' OR r.status = $5)
		ORDER BY r.num DESC LIMIT $6`
)

// WriteRuns implements store.Runs.
func (s *Store) WriteRuns(ctx context.Context, runs []store.Run) error {
	var projects, ids [][]byte
	var conversations []string
	for _, r := range runs {
		if err := store.CheckRun(r); err != nil {
			return s.failed("write runs", err)
		}
		projects, ids = append(projects, []byte(r.Project)), append(ids, []byte(r.ID))
		conversations = append(conversations, r.Bounded().Conversation)
	}
	err := s.db.Write(ctx, func(tx pgdb.Tx) error {
		if _, err := tx.Exec(ctx, lockRuns, conversations); err != nil {
			return err
		}
		old, err := rowsOf(ctx, tx, scanRun, oldRuns, projects, ids)
		if err != nil {
			return err
		}
		batch := &pgdb.Batch{}
		for _, r := range mergeRuns(old, runs) {
			data, err := json.Marshal(r)
			if err != nil {
				return fmt.Errorf("encode a run: %w", err)
			}
			batch.Queue(writeRun, []byte(r.Project), []byte(r.ID), []byte(r.Conversation), []byte(r.Subsystem), []byte(r.Status), data, r.Conversation)
		}
		if len(old) < len(runs) { // there are new ones
			for _, project := range distinct(projects) {
				batch.Queue(dropRuns, project, store.MaxRuns)
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	return s.failed("write runs", err)
}

func distinct(texts [][]byte) [][]byte {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(texts), slices.Compare[[]byte]), slices.Equal[[]byte])
}

// mergeRuns returns the records as they will be; one that is written twice is there twice.
func mergeRuns(old, runs []store.Run) (out []store.Run) {
	for _, r := range runs {
		i := slices.IndexFunc(old, func(o store.Run) bool { return o.Project == r.Project && o.ID == r.ID })
		if i >= 0 {
			r = store.MergeRun(old[i], r)
			old = slices.Delete(old, i, i+1)
		}
		r = r.Bounded()
		old, out = append(old, r), append(out, r)
	}
	return out
}

// scanRun reads a run; a damaged one is zero, and is replaced.
func scanRun(row pgdb.Row) (r store.Run, err error) {
	var project, body []byte
	if err := row.Scan(&project, &body); err != nil {
		return r, err
	}
	if json.Unmarshal(body, &r) != nil {
		return store.Run{}, nil
	}
	r.Project = string(project)
	return r, nil
}

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, f store.RunFilter) ([]store.Run, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = store.MaxRuns
	}
	all, err := query(ctx, s, func(row pgdb.Row) (r store.Run, err error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return r, err
		}
		if json.Unmarshal(body, &r) != nil {
			r = store.Run{}
		}
		r.Project = f.Project
		return r, nil
	}, runsOf, []byte(f.Project), []byte(f.ID), []byte(f.Conversation), []byte(strings.TrimSuffix(f.Subsystem, ".")), []byte(f.Status), limit)
	all = slices.DeleteFunc(all, func(r store.Run) bool { return r.ID == "" }) // a damaged record is no reason to show none
	return all, s.failed("list runs", err)
}
