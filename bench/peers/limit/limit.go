// Package limit does the work as a hand would write it for this one case: a history,
// a model that is asked twice, a goroutine for each call, and nothing else. It has no
// events but the deltas of an answer, no scope, but among many agents: a bit for each tool. It has no
// recovery of panics, no cancellation, no limits, and
// its hooks are a list of interfaces that is called in order. The conversations in
// SQLite are rows of a table, each turn one transaction that is synced.
package limit

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"sync"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Subject is the hand-written limit.
var Subject = work.Subject{Name: "limit", Start: start, Agents: agents}

type role uint8

const (
	person role = iota
	model
	tool
)

type message struct {
	role  role
	text  string
	calls []call
	id    string // of the call that a result answers
}

// call has names that encoding/json sees, as it is kept.
type call struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	Args string `json:"args"`
}

// hook is what surrounds model calls and tool calls.
type hook interface {
	beforeModel(ctx context.Context, history []message)
	afterModel(ctx context.Context, m message)
	beforeTool(ctx context.Context, c call)
	afterTool(ctx context.Context, c call, result string)
}

type counter struct{ all work.Ledgers }

func (c *counter) beforeModel(ctx context.Context, _ []message)    { c.all.In(ctx).Hook() }
func (c *counter) afterModel(ctx context.Context, _ message)       { c.all.In(ctx).Hook() }
func (c *counter) beforeTool(ctx context.Context, _ call)          { c.all.In(ctx).Hook() }
func (c *counter) afterTool(ctx context.Context, _ call, _ string) { c.all.In(ctx).Hook() }

// agent is what all conversations share.
type agent struct {
	turn  work.Turn
	all   work.Ledgers
	tools map[string]func(ctx context.Context, args string) (string, error)
	hooks []hook
	db    *database // nil keeps nothing but the history
	scope *scope    // nil is all tools
}

func newAgent(t work.Turn) *agent {
	a := &agent{turn: t, all: work.NewLedgers(t), tools: map[string]func(context.Context, string) (string, error){}}
	for i := range t.Tools {
		a.tools[name(i)] = a.find
	}
	for range t.Hooks {
		a.hooks = append(a.hooks, &counter{a.all})
	}
	return a
}

// name is the name of tool i.
func name(i int) string {
	if i == 0 {
		return work.Tool
	}
	return work.OtherTool(i)
}

func start(ctx context.Context, t work.Turn) (*work.Running, error) {
	a := newAgent(t)
	if t.Dir != "" {
		db, err := openDatabase(ctx, filepath.Join(t.Dir, "limit.db"))
		if err != nil {
			return nil, err
		}
		a.db = db
	}
	histories := make([][]message, len(a.all))
	for i := range histories {
		for j := range t.Messages {
			m := message{role: model}
			p, text := work.Old(j)
			if p {
				m.role = person
			}
			m.text = text
			histories[i] = append(histories[i], m)
		}
	}
	r := &work.Running{Send: func(ctx context.Context, i int) error {
		a.all[i].Begin()
		from := len(histories[i])
		history, err := a.run(a.all.With(ctx, i), histories[i])
		if err != nil {
			return err
		}
		histories[i] = history
		if a.db != nil {
			if err := a.db.keep(ctx, i, from, history[from:]); err != nil {
				return err
			}
		}
		return a.all[i].End(history[len(history)-1].text)
	}}
	if a.db != nil {
		r.Close = a.db.Close
	}
	return r, nil
}

// run is a turn.
func (a *agent) run(ctx context.Context, history []message) ([]message, error) {
	history = append(history, message{role: person, text: work.Say})
	for {
		for _, h := range a.hooks {
			h.beforeModel(ctx, history)
		}
		m, err := a.ask(ctx, history)
		if err != nil {
			return nil, err
		}
		for _, h := range a.hooks {
			h.afterModel(ctx, m)
		}
		history = append(history, m)
		if len(m.calls) == 0 {
			return history, nil
		}
		if history, err = a.execute(ctx, history, m.calls); err != nil {
			return nil, err
		}
	}
}

// told is how many tools the model is told.
func (a *agent) told() int {
	if a.scope == nil {
		return len(a.tools)
	}
	return bits.OnesCount64(a.scope.set)
}

// ask is the model: it looks at what it is shown and answers.
func (a *agent) ask(ctx context.Context, history []message) (message, error) {
	l := a.all.In(ctx)
	n, s := len(history), work.Seen{Tools: a.told(), Messages: len(history)}
	for s.Results < n && history[n-1-s.Results].role == tool {
		s.Results++
	}
	s.Last = history[n-1].text
	calls, err := l.Model(s)
	if err != nil {
		return message{}, err
	}
	if calls == 0 {
		if a.turn.Deltas == 0 {
			return message{role: model, text: l.Answer()}, nil
		}
		var text []byte
		for range a.turn.Deltas {
			text = append(text, work.Word...)
			l.Delta(work.Word)
		}
		return message{role: model, text: string(text)}, nil
	}
	m := message{role: model, calls: make([]call, calls)}
	for i := range m.calls {
		m.calls[i] = call{ID: l.ID(), Tool: work.Tool, Args: work.Args}
	}
	return m, nil
}

// execute runs the calls at the same time and appends their results in order.
func (a *agent) execute(ctx context.Context, history []message, calls []call) ([]message, error) {
	from := len(history)
	for _, c := range calls {
		for _, h := range a.hooks {
			h.beforeTool(ctx, c)
		}
		history = append(history, message{role: tool, id: c.ID})
	}
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			run, ok := a.tools[c.Tool]
			if !ok || !a.scope.has(c.Tool) {
				errs[i] = fmt.Errorf("no tool %q", c.Tool)
				return
			}
			history[from+i].text, errs[i] = run(ctx, c.Args)
		})
	}
	wg.Wait()
	for i, c := range calls {
		for _, h := range a.hooks {
			h.afterTool(ctx, c, history[from+i].text)
		}
	}
	return history, errors.Join(errs...)
}

// find is the tool: with encoding/json, as a hand writes it.
func (a *agent) find(ctx context.Context, args string) (string, error) {
	return a.all.In(ctx).FindJSON(args)
}
