package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/pgdb/documents"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// AllDocuments returns the tokens, the remembered answers, the agents of clients and the deletions that
// have begun, of all projects, in no order. Two Stores that have the same return the same.
func (s *Stores) AllDocuments(ctx context.Context) ([]documents.Document, error) {
	if s.db != nil {
		return documents.All(ctx, s.db)
	}
	var out []documents.Document
	add := func(kind, project string, docs map[string]json.RawMessage) error {
		for name, doc := range docs {
			body, err := json.Marshal(doc) // without the blanks of a file
			if err != nil {
				return fmt.Errorf("the %s %.80q: %w", kind, name, err)
			}
			out = append(out, documents.Document{Kind: kind, Project: project, Name: name, Body: body})
		}
		return nil
	}
	tokens, err := s.tokenFile().Read()
	if err == nil {
		err = add(documents.Tokens, "", tokens)
	}
	if err != nil {
		return nil, err
	}
	agents, err := s.agentsFile().Read()
	for project, docs := range agents {
		err = errors.Join(err, add(documents.Agents, project, docs))
	}
	deletions, wrong := s.deletions().Read()
	if err = errors.Join(err, wrong, add(documents.Deletions, s.paths.Owner, deletions)); err != nil {
		return nil, err
	}
	answers, err := answersIn(s.Answers())
	return append(out, answers...), err
}

// answersIn returns the remembered answers of a directory, with the projects that they are for.
func answersIn(dir approval.Store) (out []documents.Document, err error) {
	wrong := dir.Each(func(_, name string, body []byte, failed error) {
		var scope struct {
			Project string `json:"project"`
		}
		if failed == nil {
			failed = json.Unmarshal(body, &scope)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("the remembered answer %s: %w; `grapnel approvals forget` removes it", name, failed))
		}
		out = append(out, documents.Document{Kind: documents.Approvals, Project: scope.Project, Name: name, Body: body})
	})
	return out, errors.Join(err, wrong)
}

// AddDocuments adds those that AllDocuments returns, of which there must be none yet: in a database in one
// step, in files one kind after the other.
func (s *Stores) AddDocuments(ctx context.Context, docs []documents.Document) error {
	if s.db != nil {
		return documents.Add(ctx, s.db, docs)
	}
	projects := map[string]map[string]map[string]json.RawMessage{} // by kind
	for _, d := range docs {
		switch d.Kind {
		case documents.Approvals:
			if err := s.Answers().Write(d.Project, d.Name, d.Body); err != nil {
				return err
			}
			continue
		case documents.Tokens, documents.Agents, documents.Deletions:
		default:
			return fmt.Errorf("there is no file for documents of the kind %q; a newer program has written them", d.Kind)
		}
		if projects[d.Kind] == nil {
			projects[d.Kind] = map[string]map[string]json.RawMessage{}
		}
		if projects[d.Kind][d.Project] == nil {
			projects[d.Kind][d.Project] = map[string]json.RawMessage{}
		}
		projects[d.Kind][d.Project][d.Name] = d.Body
	}
	fill := func(to Documents, with map[string]json.RawMessage) error {
		if len(with) == 0 {
			return nil
		}
		return to.Change(func(all map[string]json.RawMessage) error {
			maps.Copy(all, with)
			return nil
		})
	}
	err := errors.Join(fill(s.tokenFile(), projects[documents.Tokens][""]), fill(s.deletions(), projects[documents.Deletions][s.paths.Owner]))
	for project, agents := range projects[documents.Agents] {
		err = errors.Join(err, fill(s.Agents(project), agents))
	}
	return err
}

func (s *Stores) tokenFile() lockedfile.File[json.RawMessage] {
	return lockedfile.File[json.RawMessage]{Path: s.tokenPath()}
}

func (s *Stores) agentsFile() lockedfile.File[map[string]json.RawMessage] {
	return lockedfile.File[map[string]json.RawMessage]{Path: filepath.Join(s.paths.State, "agents.json")}
}

func (s *Stores) tokenPath() string { return filepath.Join(s.paths.State, "tokens.json") }
