package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// trustMemories asks about agents of the project that request the memories of the user, which
// all projects share. Without an approval they get those of the project.
func trustMemories(ctx context.Context, o Options, agents []Agent) error {
	var wide []string
	narrow := map[int]message.JSON{}
	for i, a := range agents {
		s, _, err := hook.SectionOf[memory.Section](&a.Config, "memory")
		if err != nil || s.Scope != memory.ScopeUser || a.File == "" {
			continue // the registration of the agent reports it
		}
		whose := "its own"
		if s.Space != "" {
			whose = "those of the space " + s.Space
		}
		wide = append(wide, fmt.Sprintf("agent %s: %s", a.Config.Name, whose))
		if narrow[i], err = withoutScope(&a.Config); err != nil {
			return err
		}
	}
	if len(wide) == 0 {
		return nil
	}
	want := trust.Request{From: "the project", Wants: map[trust.Kind][]string{trust.Memories: wide}}
	answer, err := o.confirm(ctx, want, filepath.Join(o.Paths.Root, "memory"), trust.Digest(wide))
	if err != nil || answer.Allows() {
		return err
	}
	for i, section := range narrow {
		agents[i].Config = agents[i].Config.WithSection("memory", section)
	}
	why := "nobody has approved it; run the command in a terminal to be asked"
	if answer == trust.Refused {
		why = refusedTrust
	}
	o.Note(fmt.Sprintf("memories of the user are not used, but those of the project (%s): %s", strings.Join(wide, "; "), why))
	return nil
}

// jobs returns the handlers of the jobs that subsystems queue.
func (a *App) jobs() runtime.JobOptions {
	handlers := map[string]func(context.Context, runtime.JobRun) error{}
	if m := a.Hooks.Memory; m != nil {
		handlers[memory.JobKind] = func(ctx context.Context, j runtime.JobRun) error {
			err := m.Extract(ctx, j.Host, j.Job)
			if unusable, ok := errors.AsType[*memory.UnusableError](err); ok {
				return &runtime.JobGiveUp{Reason: unusable.Reason}
			}
			return err
		}
	}
	o := runtime.JobOptions{Handlers: handlers}
	if a.nodes != nil {
		o.Engine = a.nodes.engine
	}
	return o
}

// withoutScope returns the agent's section memory without its scope.
func withoutScope(cfg *hook.AgentConfig) (message.JSON, error) {
	members, _, err := hook.SectionOf[map[string]json.RawMessage](cfg, "memory")
	if err != nil {
		return "", err
	}
	delete(members, "scope")
	text, err := json.Marshal(members)
	return message.JSON(text), err
}

// loadMemories opens the memories, once the project's wishes about them are approved or dropped.
func loadMemories(ctx context.Context, o Options, agents []Agent) (*memory.Memory, error) {
	if err := trustMemories(ctx, o, agents); err != nil {
		return nil, err
	}
	return o.Stores.Memories(ctx, o.Note)
}
