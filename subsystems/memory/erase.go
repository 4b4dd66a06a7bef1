package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

const (
	selectMemories     = `SELECT m.num, m.sources, m.conversation, s.project FROM memory m JOIN space s ON s.num = m.space`
	selectCandidates   = `SELECT c.num, c.sources, '', s.project FROM candidate c JOIN space s ON s.num = c.space`
	notOfUser          = ` WHERE s.project = $1 AND s.key NOT LIKE 'user:%'`
	deleteMemory       = `DELETE FROM memory WHERE num = $1 AND` + ofProject + ` RETURNING num, name, aliases, content`
	deleteCandidate    = `DELETE FROM candidate WHERE num = $1 AND` + ofProject
	deleteOfProject    = `DELETE FROM candidate WHERE space IN (SELECT num FROM space WHERE project = $1 AND key NOT LIKE 'user:%')`
	updateSources      = `UPDATE memory SET sources = $3, conversation = $4 WHERE num = $1 AND` + ofProject
	updateOfCandidates = `UPDATE candidate SET sources = $3 WHERE num = $1 AND` + ofProject
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
		return 0, 0, fmt.Errorf("delete memories: %w", err)
	}
	err = m.erase(ctx, projects, dry, func(tx sqldb.Tx) error {
		deleted, kept = 0, 0
		memories, err := sourcedBy(tx, of, selectMemories+sqldb.AnyTenant)
		if err != nil {
			return err
		}
		candidates, err := sourcedBy(tx, of, selectCandidates+sqldb.AnyTenant)
		if err != nil {
			return err
		}
		for _, r := range memories {
			left := r.without(of)
			if len(left) == 0 {
				deleted++
				err = m.table.remove(tx, r, dry)
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
				err = r.withSources(tx, updateOfCandidates, left)
			default:
				_, err = tx.Exec(deleteCandidate, r.num, r.project)
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
	err = m.table.db.Read(ctx, func(r sqldb.Reader) error {
		projects = nil
		for _, query := range []string{selectMemories, selectCandidates} {
			found, err := sourcedBy(r, conversations, query+sqldb.AnyTenant)
			if err != nil {
				return err
			}
			for _, s := range found {
				projects = append(projects, s.project)
			}
		}
		return nil
	})
	return projects, err
}

// EraseProject deletes all memories and candidates of a project. Those of the user stay.
func (m *Memory) EraseProject(ctx context.Context, project string, dry bool) (deleted int, err error) {
	err = m.erase(ctx, []string{project}, dry, func(tx sqldb.Tx) error {
		memories, err := sourcedBy(tx, nil, selectMemories+notOfUser, project)
		if err != nil {
			return err
		}
		deleted = len(memories)
		for _, r := range memories {
			if err := m.table.remove(tx, r, dry); err != nil {
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
	num          int64
	sources      []Source
	conversation string
	project      string
}

// sourcedBy returns the rows of the query that come from one of the conversations; nil is all rows.
func sourcedBy(r sqldb.Reader, conversations map[string]bool, query string, args ...any) (out []sourced, err error) {
	err = r.Each(func(row sqldb.Row) error {
		var s sourced
		var sources string
		err := row.Scan(&s.num, &sources, &s.conversation, &s.project)
		s.sources = sourcesOf(sources)
		if err == nil && (conversations == nil || s.of(conversations)) {
			out = append(out, s)
		}
		return err
	}, query, args...)
	return out, err
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
	return s.withSources(tx, updateSources, left, last)
}

func (s sourced) withSources(tx sqldb.Tx, query string, left []Source, more ...any) error {
	text, err := json.Marshal(left)
	if err == nil {
		_, err = tx.Exec(query, append([]any{s.num, s.project, string(text)}, more...)...)
	}
	return err
}

// remove deletes a memory.
func (t *table) remove(tx sqldb.Tx, s sourced, dry bool) error {
	if dry {
		return nil
	}
	r := row{project: s.project}
	if err := tx.One(deleteMemory, s.num, s.project).Scan(&r.num, &r.name, &r.aliases, &r.content); err != nil {
		return orNone(err)
	}
	return t.words.remove(tx, r)
}
