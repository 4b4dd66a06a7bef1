package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

const (
	selectMemories     = `SELECT m.num, m.name, m.aliases, m.content, m.sources, m.conversation, s.project FROM memory m JOIN space s ON s.num = m.space`
	selectCandidates   = `SELECT c.num, c.name, c.aliases, c.content, c.sources, '', s.project FROM candidate c JOIN space s ON s.num = c.space`
	ofProject          = ` WHERE s.project = $1 AND s.key NOT LIKE 'user:%'`
	deleteMemory       = `DELETE FROM memory WHERE num = $1`
	deleteCandidate    = `DELETE FROM candidate WHERE num = $1`
	deleteOfProject    = `DELETE FROM candidate WHERE space IN (SELECT num FROM space WHERE project = $1 AND key NOT LIKE 'user:%')`
	updateSources      = `UPDATE memory SET sources = $2, conversation = $3 WHERE num = $1`
	updateOfCandidates = `UPDATE candidate SET sources = $2 WHERE num = $1`
)

// Erase deletes the memories and candidates that come from these conversations alone. In those
// that others have written or confirmed too, the conversations are taken out of the sources, and
// the text stays. It covers all projects and the user's memories. With dry it only counts. After
// it no file has a deleted text.
func (m *Memory) Erase(ctx context.Context, conversations []string, dry bool) (deleted, kept int, err error) {
	of := map[string]bool{}
	for _, id := range conversations {
		of[id] = true
	}
	projects, err := m.projectsOf(ctx, of)
	if err != nil {
		return 0, 0, err
	}
	err = m.erase(ctx, projects, dry, func(tx sqldb.Tx) error {
		deleted, kept = 0, 0
		memories, err := sourcedBy(tx, of, selectMemories)
		if err != nil {
			return err
		}
		candidates, err := sourcedBy(tx, of, selectCandidates)
		if err != nil {
			return err
		}
		for _, r := range memories {
			left := r.without(of)
			if len(left) == 0 {
				deleted++
				err = m.table.removeRow(tx, r.row, dry)
			} else if kept++; !dry {
				err = r.keepSources(tx, left, of)
			}
			if err != nil {
				return err
			}
		}
		for _, r := range candidates {
			left := r.without(of)
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

// projectsOf returns the projects with memories or candidates of the conversations.
func (m *Memory) projectsOf(ctx context.Context, conversations map[string]bool) (projects []string, err error) {
	for _, query := range []string{selectMemories, selectCandidates} {
		found, err := sourcedBy(m.table.db.Read(ctx), conversations, query)
		if err != nil {
			return nil, fmt.Errorf("delete memories: %w", err)
		}
		for _, r := range found {
			projects = append(projects, r.project)
		}
	}
	return projects, nil
}

// EraseProject deletes all memories and candidates of a project. Those of the user stay.
func (m *Memory) EraseProject(ctx context.Context, project string, dry bool) (deleted int, err error) {
	err = m.erase(ctx, []string{project}, dry, func(tx sqldb.Tx) error {
		memories, err := sourcedBy(tx, nil, selectMemories+ofProject, project)
		if err != nil {
			return err
		}
		deleted = len(memories)
		for _, r := range memories {
			if err := m.table.removeRow(tx, r.row, dry); err != nil {
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

func (m *Memory) erase(ctx context.Context, projects []string, dry bool, f func(tx sqldb.Tx) error) error {
	err := m.table.write(ctx, projects, f)
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
	project      string
}

// sourcedBy returns the rows of the query that come from one of the conversations; nil is all rows.
func sourcedBy(tx sqldb.Reader, conversations map[string]bool, query string, args ...any) (out []sourced, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r sourced
		var sources string
		if err := rows.Scan(&r.num, &r.name, &r.aliases, &r.content, &sources, &r.conversation, &r.project); err != nil {
			return nil, err
		}
		r.sources = sourcesOf(sources)
		if conversations == nil || r.of(conversations) {
			out = append(out, r)
		}
	}
	return out, rows.Err()
}

func (s sourced) of(conversations map[string]bool) bool {
	return conversations[s.conversation] || slices.ContainsFunc(s.sources, func(o Source) bool { return conversations[o.Conversation] })
}

// without returns the sources of other conversations.
func (s sourced) without(conversations map[string]bool) (left []Source) {
	all := s.sources
	if s.conversation != "" && !slices.ContainsFunc(all, func(o Source) bool { return o.Conversation == s.conversation }) {
		all = append(slices.Clone(all), Source{Conversation: s.conversation})
	}
	for _, o := range all {
		if !conversations[o.Conversation] {
			left = append(left, o)
		}
	}
	return left
}

// keepSources writes the sources that are left of a memory, and forgets who wrote it last if that is deleted.
func (s sourced) keepSources(tx sqldb.Tx, left []Source, conversations map[string]bool) error {
	last := s.conversation
	if conversations[last] {
		last = ""
	}
	return withSources(tx, updateSources, s.num, left, last)
}

func withSources(tx sqldb.Tx, query string, num int64, left []Source, more ...any) error {
	text, err := json.Marshal(left)
	if err == nil {
		_, err = tx.Exec(query, append([]any{num, string(text)}, more...)...)
	}
	return err
}

func (t *table) removeRow(tx sqldb.Tx, r row, dry bool) error {
	if dry {
		return nil
	}
	if _, err := tx.Exec(deleteMemory, r.num); err != nil {
		return err
	}
	return t.words.remove(tx, r)
}
