package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Runs = (*Store)(nil)

const (
	runByID  = `SELECT body FROM hook_run WHERE project = ? AND id = ?`
	writeRun = `INSERT INTO hook_run (project, id, conversation, subsystem, status, body) SELECT ?1, ?2, ?3, ?4, ?5, ?6
		WHERE NOT EXISTS (SELECT 1 FROM erased WHERE id = ?3)
		ON CONFLICT (project, id) DO UPDATE SET conversation = ?3, subsystem = ?4, status = ?5, body = ?6`
	// dropRuns drops the oldest runs of the project beyond the limit.
	dropRuns = `DELETE FROM hook_run WHERE project = ?1 AND num <= (SELECT num FROM hook_run WHERE project = ?1 ORDER BY num DESC LIMIT 1 OFFSET ?2)`
	runsOf   = `SELECT body FROM hook_run WHERE project = ?1 AND (?2 = '' OR id = ?2) AND (?3 = '' OR conversation = ?3)
		AND (?4 = '' OR subsystem = ?4 OR substr(subsystem, 1, length(?4) + 1) = ?4 || '.') AND (?5 = '' OR status = ?5)
		ORDER BY num DESC LIMIT ?6`
)

// WriteRuns implements store.Runs.
func (s *Store) WriteRuns(ctx context.Context, runs []store.Run) error {
	projects := map[string]bool{}
	for _, r := range runs {
		if err := store.CheckRun(r); err != nil {
			return s.failed("write runs", err)
		}
		projects[r.Project] = true
	}
	err := s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		for _, r := range runs {
			if err := mergeRun(tx, r); err != nil {
				return err
			}
		}
		for project := range projects {
			if _, err := tx.Exec(dropRuns, project, store.MaxRuns); err != nil {
				return err
			}
		}
		return nil
	})
	return s.failed("write runs", err)
}

func mergeRun(tx *sqlitedb.Tx, r store.Run) error {
	var body string
	err := tx.QueryRow(runByID, r.Project, r.ID).Scan(&body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err == nil {
		if old, err := decodeRun(body, r.Project); err == nil { // a damaged one is replaced
			r = store.MergeRun(old, r)
		}
	}
	r = r.Bounded()
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a run: %w", err)
	}
	_, err = tx.Exec(writeRun, r.Project, r.ID, r.Conversation, r.Subsystem, string(r.Status), string(data))
	return err
}

func decodeRun(body, project string) (r store.Run, err error) {
	err = json.Unmarshal([]byte(body), &r)
	r.Project = project
	return r, err
}

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, f store.RunFilter) (out []store.Run, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = store.MaxRuns
	}
	rows, err := s.db.Read().QueryContext(ctx, runsOf, f.Project, f.ID, f.Conversation, strings.TrimSuffix(f.Subsystem, "."), string(f.Status), limit)
	if err != nil {
		return nil, s.failed("list runs", err)
	}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return nil, s.failed("list runs", errors.Join(err, rows.Close()))
		}
		r, err := decodeRun(body, f.Project)
		if err != nil {
			continue // a damaged record is no reason to show none
		}
		out = append(out, r)
	}
	return out, s.failed("list runs", errors.Join(rows.Err(), rows.Close()))
}
