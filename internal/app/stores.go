package app

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/pgdb/documents"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/audit"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// Stores has what the program keeps beside conversations: in files of the state directory, or in the
// database of [Paths]. docs/scale.md says what lies where. It is safe for concurrent use.
type Stores struct {
	paths Paths
	db    *pgdb.DB // nil: files
	// node names this machine in the audit, and key is that of its chain.
	node string
	key  []byte
	// ofApp: the App has opened them, and closes them.
	ofApp bool
}

// storeConnections are those to the database. They are apart from those of turns, so that a token is checked
// while many turns write.
const storeConnections = 4

// OpenStores connects to the database, if the paths name one. The caller closes it.
func OpenStores(ctx context.Context, p Paths) (*Stores, error) {
	s := &Stores{paths: p}
	if p.Database == "" {
		return s, nil
	}
	if !utf8.ValidString(p.Project()) {
		return nil, fmt.Errorf("the path %q is not UTF-8, and the database cannot have its memories and schedules; rename the directory", p.Project())
	}
	var err error
	if s.key, err = audit.Key(filepath.Join(p.userState(), "audit")); err != nil {
		return nil, fmt.Errorf("the key of the audit: %w", err)
	}
	if s.node, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("the name of this machine: %w", err)
	}
	s.db, err = pgdb.Open(ctx, p.Database, &pgdb.Options{Connections: storeConnections})
	return s, err
}

// Of returns those of the owner whose tenant has these paths, over the same connections. The caller does not
// close them.
func (s *Stores) Of(p Paths) *Stores {
	of := *s
	of.paths, of.ofApp = p, false
	return &of
}

// Close ends the connections to the database. Close what Memories and Schedules have returned first.
// Nil does nothing.
func (s *Stores) Close() {
	if s != nil && s.db != nil {
		s.db.Close()
	}
}

// release is Close of an App.
func (s *Stores) release() {
	if s.ofApp {
		s.Close()
	}
}

// Memories opens the memories of the project and the user. note gets a sentence about each damage. The
// caller closes them.
func (s *Stores) Memories(ctx context.Context, note func(string)) (*memory.Memory, error) {
	r, err := s.paths.Redactor()
	if err != nil {
		return nil, err
	}
	o := &memory.Options{Project: s.paths.Project(), Note: note, Mask: maskText(r)}
	if s.db != nil {
		o.User = s.paths.Owner
		return memory.OpenIn(s.db.SQL(), o), nil
	}
	return memory.Open(ctx, s.paths.Memories, o)
}

// Schedules opens the schedules of the project, of which nothing runs. note gets a sentence about each
// damage. The caller closes them.
func (s *Stores) Schedules(ctx context.Context, note func(string)) (*schedule.Schedule, error) {
	return s.schedules(ctx, schedule.Options{Note: note})
}

func (s *Stores) schedules(ctx context.Context, o schedule.Options) (*schedule.Schedule, error) {
	r, err := s.paths.Redactor()
	if err != nil {
		return nil, err
	}
	o.Project, o.Mask = s.paths.Project(), maskText(r)
	if s.db != nil {
		return schedule.OpenIn(s.db.SQL(), &o), nil
	}
	return schedule.Open(ctx, s.paths.Schedules, &o)
}

// Answers are the approvals that were remembered for good, of all projects; for an owner, of those of the owner.
func (s *Stores) Answers() approval.Store {
	if s.db != nil {
		return documents.Answers{DB: s.db, Owner: s.paths.Owner}
	}
	return approval.Dir(s.paths.Approvals())
}

// Tokens are those of the clients of all daemons with these stores.
func (s *Stores) Tokens() *access.Tokens {
	if s.db != nil {
		return access.NewTokens(documents.NewTokens(s.db))
	}
	return access.OpenTokens(s.tokenPath())
}

// AuditRecord is the record of the audit, of all projects.
type AuditRecord interface {
	audit.Appender
	Verify() (audit.Verified, error)
	Records() iter.Seq2[json.RawMessage, error]
	Empty() (bool, error)
}

// Audit is the record of the audit.
func (s *Stores) Audit() AuditRecord {
	if s.db != nil {
		return audit.NewChains(s.db.SQL(), audit.ChainsOptions{Node: s.chain(), Key: s.key, Project: s.paths.Project()})
	}
	return audit.NewLog(s.paths.audit(), nil)
}

// chain names the chain of this machine and owner in the audit.
func (s *Stores) chain() string {
	if s.paths.Owner == "" {
		return s.node
	}
	return s.paths.Owner + "@" + s.node
}

// Documents are small JSON documents by name. [lockedfile.File] is one.
type Documents interface {
	Read() (map[string]json.RawMessage, error)
	// Change calls change with all of them and keeps what that has left, or nothing after an error.
	// change may be called again.
	Change(change func(all map[string]json.RawMessage) error) error
}

// Agents are the agents that clients have made in a project, as they sent them.
func (s *Stores) Agents(project string) Documents {
	if s.db != nil {
		return documents.Set[json.RawMessage]{DB: s.db, Kind: documents.Agents, Project: project}
	}
	return agentFile{s.agentsFile(), project}
}

// deletions are those of the owner that have begun.
func (s *Stores) deletions() Documents {
	if s.db != nil {
		return documents.Set[json.RawMessage]{DB: s.db, Kind: documents.Deletions, Project: s.paths.Owner}
	}
	return lockedfile.File[json.RawMessage]{Path: filepath.Join(s.paths.State, "deletions.json")}
}

// erased returns those of the conversations that were deleted from the database, by whatever daemon. Of files it
// returns none: there a deletion reaches everything itself.
func (s *Stores) erased(ctx context.Context, conversations []string) (gone []string, err error) {
	if s.db == nil || len(conversations) == 0 {
		return nil, nil
	}
	err = s.db.Read(ctx, func(q pgdb.Queryer) error {
		return q.QueryRow(ctx, `SELECT coalesce(array_agg(id), '{}') FROM erased WHERE id = ANY ($1::text[])`, conversations).Scan(&gone)
	})
	return gone, err
}

// agentFile has the agents of one project in the file of all projects.
type agentFile struct {
	file    lockedfile.File[map[string]json.RawMessage]
	project string
}

func (f agentFile) Read() (map[string]json.RawMessage, error) {
	all, err := f.file.Read()
	return all[f.project], err
}

func (f agentFile) Change(change func(all map[string]json.RawMessage) error) error {
	return f.file.Change(func(projects map[string]map[string]json.RawMessage) error {
		agents := projects[f.project]
		if agents == nil {
			agents = map[string]json.RawMessage{}
		}
		if err := change(agents); err != nil {
			return err
		}
		if projects[f.project] = agents; len(agents) == 0 {
			delete(projects, f.project)
		}
		return nil
	})
}
