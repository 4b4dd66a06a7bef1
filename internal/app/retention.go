package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/retention"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// retained is the section retention of config.yaml.
type retained struct {
	// Age and Size are those of retention.Limits, as 90d and 2GiB; "" is no limit.
	Age  string `json:"age"`
	Size string `json:"size"`
}

// retentionLimits returns the limits of the section.
func retentionLimits(conf config.Config) (l retention.Limits, err error) {
	if conf.Retention == "" {
		return l, nil
	}
	all := hook.AgentConfig{}.WithSection("retention", conf.Retention)
	s, _, err := hook.SectionOf[retained](&all, "retention")
	if err == nil && s.Age != "" {
		l.Age, err = retention.ParseAge(s.Age)
	}
	if err == nil && s.Size != "" {
		l.Bytes, err = retention.ParseSize(s.Size)
	}
	if err != nil {
		return l, fmt.Errorf("~/.grapnel/config.yaml: retention: %w", err)
	}
	return l, nil
}

// ofOwner is the store without what other owners have: their own programs delete that, with what belongs to it elsewhere.
type ofOwner struct {
	Store
	owner string
}

// List implements store.Reader.
func (s ofOwner) List(ctx context.Context) ([]store.Record, error) {
	all, err := s.Store.List(ctx)
	return slices.DeleteFunc(all, func(r store.Record) bool { return tenant.Parse(r.Key.Project).Owner != s.owner }), err
}

// Keeper returns what deletes conversations, senders and projects from all places, and keeps the
// limits of the section retention. A program
// makes one.
func (a *App) Keeper() (*retention.Keeper, error) {
	limits, err := retentionLimits(a.conf)
	if err != nil {
		return nil, err
	}
	return retention.New(retention.Options{
		Store: ofOwner{a.Store, a.paths.Owner}, Delete: a.Runtime.Delete, DeleteRest: a.Runtime.DeleteRest, Busy: runtime.ErrBusy,
		Journal: a.options.Stores.deletions(), Limits: limits, Note: a.options.Note, Forget: a.forgetErased,
		Places: []retention.Place{
			{Name: "undo", Erase: a.eraseUndo},
			{Name: "memories", Erase: a.eraseMemories},
			{Name: "schedules", Erase: a.eraseSchedules},
			{Name: "sandbox", Erase: a.eraseSandbox},
			{Name: "approvals", Erase: a.eraseApprovals},
			{Name: "settings of the project", Erase: a.eraseProjectFiles},
			{Name: "typed lines", Erase: a.eraseTyped},
			{Name: "audit", Erase: a.keptInAudit},
			{Name: "spending", Erase: keptInSpending},
		},
	}), nil
}

// forgetErased forgets the turns of conversations that a daemon of another machine has deleted: what they changed is on
// this machine's disk.
func (a *App) forgetErased(ctx context.Context) error {
	known, err := a.options.turns.Conversations(ctx)
	if err != nil {
		return err
	}
	gone, err := a.options.Stores.erased(ctx, known)
	if err != nil || len(gone) == 0 {
		return err
	}
	_, _, err = a.options.turns.Forget(ctx, gone, false)
	return err
}

// eraseUndo forgets the turns of the conversations in the books of their projects.
func (a *App) eraseUndo(ctx context.Context, s retention.Scope, dry bool) (retention.Part, error) {
	part := retention.Part{What: "turns that could be undone, with their snapshots"}
	projects := s.Projects
	if s.Kind == retention.Project {
		projects = []string{s.Name}
	}
	for _, project := range projects {
		book := a.options.turns
		if project != a.Project() {
			other := a.paths
			other.Root = tenant.Parse(project).Root
			o := a.options
			o.Paths = other
			book = newBook(o, a.presence.owner, a.gone)
		}
		turns, freed, err := 0, int64(0), error(nil)
		switch {
		case s.Kind == retention.Project:
			turns, err = book.Clear(ctx, dry)
		case project == a.Project() || !Abandoned(project):
			turns, freed, err = book.Forget(ctx, s.Conversations, dry)
		default: // the snapshots of a directory that is gone restore nothing
			turns, err = book.Clear(ctx, dry)
		}
		if err != nil {
			return part, err
		}
		part.Deleted += int64(turns)
		part.Bytes += freed
	}
	return part, nil
}

// lacks reports whether there is no such file, and no database in its place.
func (p Paths) lacks(file string) bool {
	_, err := os.Stat(file)
	return p.Database == "" && errors.Is(err, fs.ErrNotExist)
}

// eraseMemories deletes the memories whose only sources are the conversations, or all of the project.
func (a *App) eraseMemories(ctx context.Context, s retention.Scope, dry bool) (part retention.Part, err error) {
	if a.paths.lacks(a.paths.Memories) {
		return part, nil
	}
	m := a.Hooks.Memory
	if m == nil {
		if m, err = a.options.Stores.Memories(ctx, a.options.Note); err != nil {
			return part, err
		}
		defer func() { err = errors.Join(err, m.OnClose(context.WithoutCancel(ctx))) }()
	}
	deleted, kept, err := m.Erase(ctx, s.Conversations, dry)
	if err != nil {
		return part, err
	}
	if s.Kind == retention.Project {
		n, err := m.EraseProject(ctx, s.Name, dry)
		if err != nil {
			return part, err
		}
		if dry { // a memory may be counted in both
			deleted = max(deleted, n)
		} else {
			deleted += n
		}
	}
	part = retention.Part{Deleted: int64(deleted), What: "memories that come from these conversations alone"}
	if kept > 0 {
		part.Kept = fmt.Sprintf("%d memories that other conversations have written or confirmed too; they do not name these any more", kept)
	}
	return part, nil
}

func (a *App) eraseSchedules(ctx context.Context, s retention.Scope, dry bool) (part retention.Part, err error) {
	if a.paths.Owner != "" { // schedules are the user's
		return part, nil
	}
	if a.paths.lacks(a.paths.Schedules) {
		return part, nil
	}
	all := a.Hooks.Schedule
	if all == nil {
		if all, err = a.options.Stores.Schedules(ctx, a.options.Note); err != nil {
			return part, err
		}
		defer func() { err = errors.Join(err, all.OnClose(context.WithoutCancel(ctx))) }()
	}
	of := schedule.Subject{Conversations: s.Conversations, Within: func(project string) bool { return tenant.Parse(project).Owner == a.paths.Owner }}
	switch s.Kind {
	case retention.Sender:
		of.Sender = s.Name
	case retention.Project:
		of.Project, of.AllOfProject = s.Name, true
	}
	deleted, named, err := all.Erase(ctx, of, dry)
	part = retention.Part{Deleted: deleted, What: "schedules"}
	if left := named - deleted; left > 0 {
		part.Kept = fmt.Sprintf("%d schedules, whose next turns begin a new conversation; `grapnel schedule remove` removes them", left)
	}
	return part, err
}

// eraseSandbox deletes what sandboxes keep of a project. What one conversation has written there
// cannot be told apart.
func (a *App) eraseSandbox(_ context.Context, s retention.Scope, dry bool) (part retention.Part, err error) {
	state := filepath.Join(a.paths.State, "sandbox")
	if s.Kind != retention.Project {
		for _, project := range s.Projects {
			bytes, err := sandbox.Erase(state, tenant.Parse(project).Root, true)
			if err == nil && bytes > 0 {
				part.Kept = "temporary files, caches and quarantine of the project: nobody knows which conversation they are from; unused ones go after 14 days"
			}
		}
		return part, nil
	}
	part = retention.Part{What: "bytes of temporary files, caches and quarantine"}
	part.Bytes, err = sandbox.Erase(state, tenant.Parse(s.Name).Root, dry)
	part.Deleted = part.Bytes
	return part, err
}

// eraseApprovals deletes the remembered answers of a project. Those of a conversation go with it.
func (a *App) eraseApprovals(_ context.Context, s retention.Scope, dry bool) (retention.Part, error) {
	part := retention.Part{What: "remembered answers"}
	if s.Kind != retention.Project && s.Kind != retention.Sender {
		return part, nil
	}
	all, err := approval.List(a.options.Stores.Answers())
	for _, r := range all {
		if tenant.Parse(r.Project).Owner != a.paths.Owner {
			continue
		}
		if s.Kind == retention.Sender {
			if r.By == s.Name {
				part.Kept = "answers of this person that projects remember: they hold for others too; `grapnel approvals forget` deletes them"
			}
			continue
		}
		if r.Problem != "" || r.Project != s.Name {
			continue
		}
		part.Deleted++
		if !dry && err == nil {
			err = approval.Forget(a.options.Stores.Answers(), r.ID)
		}
	}
	return part, err
}

// eraseProjectFiles deletes what was allowed to a project, and the agents that clients have made in it.
func (a *App) eraseProjectFiles(_ context.Context, s retention.Scope, dry bool) (retention.Part, error) {
	part := retention.Part{What: "agents of clients, and permissions of the project"}
	if s.Kind != retention.Project {
		return part, nil
	}
	agents, err := deleteKeys(a.options.Stores.Agents(s.Name), dry, func(string) bool { return true })
	part.Deleted = agents
	if err != nil || a.paths.Owner != "" { // what the user has approved counts for all owners
		return part, err
	}
	allowed, err := deleteKeys(lockedfile.File[json.RawMessage]{Path: a.paths.trusted().Path}, dry, func(key string) bool {
		return key == s.Name || strings.HasPrefix(key, s.Name+string(filepath.Separator))
	})
	part.Deleted += allowed
	return part, err
}

// deleteKeys deletes the documents whose names are chosen, and returns how many; with dry it only counts.
func deleteKeys(from Documents, dry bool, chosen func(key string) bool) (n int64, err error) {
	all, err := from.Read()
	if err != nil {
		return 0, err
	}
	for key := range all {
		if chosen(key) {
			n++
		}
	}
	if n == 0 || dry {
		return n, nil
	}
	return n, from.Change(func(all map[string]json.RawMessage) error {
		maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return chosen(key) })
		return nil
	})
}

// eraseTyped deletes the lines that were typed in a project.
func (a *App) eraseTyped(_ context.Context, s retention.Scope, dry bool) (part retention.Part, err error) {
	projects := s.Projects
	if s.Kind == retention.Project {
		projects = []string{s.Name}
	}
	for _, project := range projects {
		file := a.paths.History(tenant.Parse(project).Root)
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return part, err
		}
		if s.Kind != retention.Project {
			part.Kept = "the lines that were typed in `grapnel chat`: they are of the project, and not of a conversation; they go with it"
			continue
		}
		part = retention.Part{Deleted: 1, What: "files with the lines that were typed in `grapnel chat`", Bytes: info.Size()}
		if !dry {
			return part, os.Remove(file)
		}
	}
	return part, nil
}

// keptInAudit says what the audit keeps: its records are a chain, and without one of them it is broken.
func (a *App) keptInAudit(context.Context, retention.Scope, bool) (part retention.Part, err error) {
	empty, err := a.options.Stores.Audit().Empty()
	if err == nil && !empty {
		part.Kept = "all records, because each is chained to the one before: ids, times, names of agents, senders and tools, and digests of texts; " +
			"texts themselves only where a section audit had contents: true"
	}
	return part, err
}

func keptInSpending(context.Context, retention.Scope, bool) (retention.Part, error) {
	return retention.Part{Kept: "sums by day, project, agent, model and token, without texts: limits count them"}, nil
}
