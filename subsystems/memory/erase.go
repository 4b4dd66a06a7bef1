package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

const (
	selectSourced = `SELECT num, name, aliases, content, sources, conversation FROM memory WHERE conversation IN (SELECT value FROM json_each(?1))
		OR EXISTS (SELECT 1 FROM json_each(iif(json_valid(sources), sources, '[]')) WHERE json_extract(value, '$.conversation') IN (SELECT value FROM json_each(?1)))`
	selectCandidates = `SELECT num, name, aliases, content, sources, '' FROM candidate
		WHERE EXISTS (SELECT 1 FROM json_each(iif(json_valid(sources), sources, '[]')) WHERE json_extract(value, '$.conversation') IN (SELECT value FROM json_each(?1)))`
	selectProject = `SELECT m.num, m.name, m.aliases, m.content, m.sources, '' FROM memory m JOIN space s ON s.num = m.space
		WHERE s.project = ? AND s.key NOT LIKE 'user:%'`
	deleteMemory       = `DELETE FROM memory WHERE num = ?`
	deleteCandidate    = `DELETE FROM candidate WHERE num = ?`
	deleteOfProject    = `DELETE FROM candidate WHERE space IN (SELECT num FROM space WHERE project = ? AND key NOT LIKE 'user:%')`
	updateSources      = `UPDATE memory SET sources = ?2, conversation = iif(conversation IN (SELECT value FROM json_each(?3)), '', conversation) WHERE num = ?1`
	updateOfCandidates = `UPDATE candidate SET sources = ?2 WHERE num = ?1`
)

// Erase deletes the memories and candidates that come from these conversations alone. In those
// that others have written or confirmed too, the conversations are taken out of the sources, and
// the text stays. It covers all projects and the user's memories. With dry it only counts. After
// it no file has a deleted text.
func (m *Memory) Erase(ctx context.Context, conversations []string, dry bool) (deleted, kept int, err error) {
	ids, err := json.Marshal(append([]string{}, conversations...))
	if err != nil {
		return 0, 0, err
	}
	err = m.erase(ctx, dry, func(tx *sqlitedb.Tx) error {
		deleted, kept = 0, 0
		memories, err := sourcedBy(tx, selectSourced, string(ids))
		if err != nil {
			return err
		}
		candidates, err := sourcedBy(tx, selectCandidates, string(ids))
		if err != nil {
			return err
		}
		for _, r := range memories {
			left := r.without(conversations)
			if len(left) == 0 {
				deleted++
				err = removeRow(tx, r.row, dry)
			} else if kept++; !dry {
				err = withSources(tx, updateSources, r.num, left, string(ids))
			}
			if err != nil {
				return err
			}
		}
		for _, r := range candidates {
			left := r.without(conversations)
			if len(left) > 0 {
				kept++
			} else {
				deleted++
			}
			switch {
			case dry:
			case len(left) > 0:
				err = withSources(tx, updateOfCandidates, r.num, left)
			default:
				_, err = tx.Exec(deleteCandidate, r.num)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return deleted, kept, err
}

// EraseProject deletes all memories and candidates of a project. Those of the user stay.
func (m *Memory) EraseProject(ctx context.Context, project string, dry bool) (deleted int, err error) {
	err = m.erase(ctx, dry, func(tx *sqlitedb.Tx) error {
		memories, err := sourcedBy(tx, selectProject, project)
		if err != nil {
			return err
		}
		deleted = len(memories)
		for _, r := range memories {
			if err := removeRow(tx, r.row, dry); err != nil {
				return err
			}
		}
		if dry {
			return nil
		}
		_, err = tx.Exec(deleteOfProject, project)
		return err
	})
	return deleted, err
}

func (m *Memory) erase(ctx context.Context, dry bool, f func(tx *sqlitedb.Tx) error) error {
	err := m.table.write(ctx, f)
	if err == nil && !dry {
		err = m.table.db.Scrub(ctx)
	}
	if err != nil {
		return fmt.Errorf("delete memories: %w", err)
	}
	return nil
}

// sourced is a memory or a candidate with where it is from.
type sourced struct {
	row
	sources      []Source
	conversation string
}

func sourcedBy(tx *sqlitedb.Tx, query, arg string) (out []sourced, err error) {
	rows, err := tx.Query(query, arg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r sourced
		var sources sql.RawBytes
		if err := rows.Scan(&r.num, &r.name, &r.aliases, &r.content, &sources, &r.conversation); err != nil {
			return nil, err
		}
		r.sources = sourcesOf(string(sources))
		out = append(out, r)
	}
	return out, rows.Err()
}

// without returns the sources of other conversations.
func (s sourced) without(conversations []string) (left []Source) {
	all := s.sources
	if s.conversation != "" && !slices.ContainsFunc(all, func(o Source) bool { return o.Conversation == s.conversation }) {
		all = append(slices.Clone(all), Source{Conversation: s.conversation})
	}
	for _, o := range all {
		if !slices.Contains(conversations, o.Conversation) {
			left = append(left, o)
		}
	}
	return left
}

func withSources(tx *sqlitedb.Tx, query string, num int64, left []Source, more ...any) error {
	text, err := json.Marshal(left)
	if err == nil {
		_, err = tx.Exec(query, append([]any{num, string(text)}, more...)...)
	}
	return err
}

func removeRow(tx *sqlitedb.Tx, r row, dry bool) error {
	if dry {
		return nil
	}
	if _, err := tx.Exec(deleteMemory, r.num); err != nil {
		return err
	}
	return unindex(tx, r)
}
