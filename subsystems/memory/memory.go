// Package memory gives agents notes that outlive a conversation: the tools remember, recall,
// get_memory and forget over one SQLite file, or a PostgreSQL database, with full-text search.
//
// Memories belong to an agent of a project, by its name. Other agents and projects do not
// find them; all people who use the agent share them. Agents whose sections name the same
// space share its memories instead, and a section can share them among the agents of the
// project, or among all projects of the user.
//
// By its section, memory also takes part in turns. A classifier decides what each turn may do.
// The turn gets preferences, open tasks and facts that fit the message, and tools and prompt
// follow the decision. Afterwards a job looks for what should be remembered. Without these
// settings an agent gets memories only by calling recall.
//
// Package memory does not store conversations; the runtime does.
package memory

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Memory is the subsystem. It is safe for concurrent use; Open makes one.
//
//hook:subsystem
type Memory struct {
	hook.Nop
	table table
	// closeDB closes what Open has opened.
	closeDB func() error
	// asked has, by call id, the version of the memory that a person was asked to replace.
	asked hook.TurnState[map[string]version]
	// recalled is what a turn has got from memory.
	recalled hook.TurnState[recalled]
	// shown is the weakest label of the memories that a conversation has got. What was recalled in a turn is in no later
	// history, and what the model said of it is.
	shown hook.ConversationState[shown]
	// extracts is the id of the last turn whose policy lets it be extracted. A turn that is only settled gets no policy again.
	extracts hook.ConversationState[string]

	mu     sync.RWMutex
	agents map[*hook.AgentConfig]*settings
}

var (
	_ hook.TurnPolicy     = (*Memory)(nil)
	_ hook.TurnContext    = (*Memory)(nil)
	_ hook.RefineContext  = (*Memory)(nil)
	_ hook.TurnTools      = (*Memory)(nil)
	_ hook.PromptSections = (*Memory)(nil)
	_ hook.Fallback       = (*Memory)(nil)
	_ hook.BeforeTool     = (*Memory)(nil)
	_ hook.AfterTurn      = (*Memory)(nil)
	_ hook.OnClose        = (*Memory)(nil)
	_ hook.Stateful       = (*Memory)(nil)
)

// Options of a Memory; nil is all zero values.
type Options struct {
	// Project is the project of the memories. Agents with ScopeUser do not use it. "" is a
	// project like any other.
	Project string
	// User is whose memories those of the user are, in a database that several users share. "" is a user
	// like any other, and the one of a file.
	User string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Note is called with a sentence about each repaired or lost part of the file. Nil
	// drops them.
	Note func(text string)
	// Mask masks what must not be in the file, in all that is written from now on; nil masks
	// nothing.
	Mask func(text string) string
}

// Open opens the file of memories, or makes it: the file with mode 0600, directories with
// 0700. Several processes may use one file. Open returns an error, and changes nothing,
// if the file has other content, comes from a newer program, is damaged, or was emptied.
// It rebuilds a damaged index of words. OnClose closes the file.
func Open(ctx context.Context, path string, o *Options) (*Memory, error) {
	if o == nil {
		o = &Options{}
	}
	file, err := openFile(ctx, path, o.Note)
	if err != nil {
		return nil, err
	}
	return newMemory(file.SQL(), fts{file, file.SQL()}, file.Close, o), nil
}

// OpenIn returns the memories of a PostgreSQL database, which has their tables. Processes on several
// machines may use it. OnClose leaves the database open.
func OpenIn(db sqldb.DB, o *Options) *Memory {
	if o == nil {
		o = &Options{}
	}
	return newMemory(db, postings{db}, func() error { return nil }, o)
}

func newMemory(db sqldb.DB, words wordIndex, closeDB func() error, o *Options) *Memory {
	m := &Memory{table: table{db: db, words: words, project: o.Project, user: o.User, now: time.Now, mask: o.Mask}, closeDB: closeDB}
	if o.Now != nil {
		m.table.now = o.Now
	}
	return m
}

// States implements hook.Stateful.
func (m *Memory) States() map[string]hook.State {
	return map[string]hook.State{"shown": &m.shown, "extracts": &m.extracts}
}

// OnClose closes the file of Open once the calls in flight have ended; later ones fail.
// A program without a runtime calls it itself. A second call does nothing.
func (m *Memory) OnClose(context.Context) error { return m.closeDB() }

func (m *Memory) names() []string {
	var out []string
	for _, t := range m.Schema() {
		out = append(out, t.Name)
	}
	return out
}

// ScopedTools gives an agent the tools that its section names. A wrong section gives
// none; OnBuildAgent refuses it.
func (m *Memory) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	s, _, err := hook.SectionOf[Section](cfg, sectionName)
	if err != nil {
		return hook.Scope{Tools: []string{}}
	}
	if len(s.Tools) == 0 {
		return hook.Scope{Tools: s.Tools}
	}
	public := make([]string, len(s.Tools))
	for i, name := range s.Tools {
		public[i] = cfg.ToolName(name)
	}
	return hook.Scope{Tools: s.Tools, Line: "Of the tools for memories: " + strings.Join(public, ", ") + "."}
}

// turn returns the turn of a call; nil outside a turn.
func turn(call *hook.ToolCall) *hook.Turn {
	if call == nil || call.Step() == nil {
		return nil
	}
	return call.Step().Turn()
}

// turnOf returns the turn of a tool's call; nil outside a turn.
func turnOf(env *hook.Env) *hook.Turn {
	if env == nil {
		return nil
	}
	return turn(env.Call)
}

// agent returns the configuration of the calling agent; nil outside a turn.
func agent(env *hook.Env) *hook.AgentConfig {
	if t := turnOf(env); t != nil {
		return t.Agent()
	}
	return nil
}
