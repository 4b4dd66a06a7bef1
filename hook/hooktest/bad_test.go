package hooktest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// plain returns the case of a hook that is made afresh each time.
func plain(newHook func() hook.Hook) badCase { return badCase{hook: newHook} }

// blocks is a hook that contributes these blocks.
func blocks(list ...hook.ContextBlock) badCase {
	return plain(func() hook.Hook {
		return point.TurnContextFunc(func(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
			return append([]hook.ContextBlock(nil), list...), nil
		})
	})
}

func jobs(list ...hook.Job) badCase {
	return blocks(hook.ContextBlock{Attached: hook.Attached{Jobs: message.ListOf(list...)}})
}

func remarks(d hook.Diagnostic) badCase {
	return blocks(hook.ContextBlock{Attached: hook.Attached{Diagnostics: message.ListOf(d)}})
}

func adds(tool message.Tool) badCase {
	return plain(func() hook.Hook {
		return point.TurnToolsFunc(func(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
			return []hook.ToolChange{{Add: message.ListOf(hook.AddedTool{Tool: tool})}}, nil
		})
	})
}

// repairs is a hook that answers every invalid call.
func repairs(d hook.RepairDecision) badCase {
	return plain(func() hook.Hook {
		return point.OnInvalidToolFunc(func(context.Context, *hook.Step, hook.InvalidCall) (hook.RepairDecision, error) { return d, nil })
	})
}

// watches is a hook at BeforeTool.
func watches(f func(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error)) badCase {
	return plain(func() hook.Hook { return point.BeforeToolFunc(f) })
}

// spare contributes a block and falls back to what its function says.
type spare struct {
	hook.Nop
	f func(*hook.Turn) hook.Contributions
}

func (s *spare) TurnContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	return []hook.ContextBlock{{Domain: "spare", Text: "fresh"}}, nil
}

func (s *spare) Fallback(turn *hook.Turn) hook.Contributions { return s.f(turn) }

// falls is a spare with this fallback.
func falls(f func(*hook.Turn) hook.Contributions) badCase {
	return plain(func() hook.Hook { return &spare{f: f} })
}

// misnamed has a Fallback that is not that of package hook.
type misnamed struct {
	hook.Nop
}

func (misnamed) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	return nil, nil
}

func (misnamed) Fallback(context.Context, *hook.Turn) hook.Contributions { return hook.Contributions{} }

func stale(block hook.ContextBlock) hook.Contributions {
	return hook.Contributions{TurnContext: []hook.ContextBlock{block}}
}

// counting contributes the number of turns that it has seen.
type counting struct {
	hook.Nop
	turns atomic.Int64
}

func (c *counting) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	if c.turns.Add(1) > 1 {
		return hook.NarrowTool(hook.Grant{ReadOnly: true}), nil
	}
	return hook.ToolDecision{}, nil
}

// keeper answers with a list that it keeps.
type keeper struct {
	hook.Nop
	list []hook.PromptSection
}

func (k *keeper) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	return k.list, nil
}

// crowded fails where several are at its point at once.
type crowded struct {
	hook.Nop
	here atomic.Int64
}

func (c *crowded) BeforeTurn(_ context.Context, turn *hook.Turn, _ message.Input) (d hook.TurnDecision, err error) {
	if turn.ID() == "turn-alone" {
		return d, nil
	}
	if c.here.Add(1) > 4 {
		return d, errors.New("too many turns")
	}
	return d, nil
}

// leaky starts a goroutine when a turn ends, and leaves it.
type leaky struct {
	hook.Nop
	release <-chan struct{}
	wg      *sync.WaitGroup
	started atomic.Bool
}

func (l *leaky) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {
	if l.started.CompareAndSwap(false, true) {
		l.wg.Go(func() { <-l.release })
	}
}

// unopened has something only when it is open.
type unopened struct {
	hook.Nop
	open *string
}

func (u *unopened) OnOpen(context.Context, hook.Host) error {
	u.open = new(string)
	return nil
}

func (u *unopened) OnClose(context.Context) error { *u.open = "closed"; return nil }

// sloppy is a composite whose author has written some methods, badly.
type sloppy struct {
	*composite.Composite
	members []hook.Hook
}

func made(members []hook.Hook) sloppy {
	c, err := composite.Of("Sloppy", composite.Field{Name: "A", Hook: members[0]},
		composite.Field{Name: "B", Hook: members[1]}, composite.Field{Name: "C", Hook: members[2]})
	if err != nil {
		panic(err)
	}
	return sloppy{c, members}
}

// disordered calls the first member last.
type disordered struct{ sloppy }

func (d disordered) RewriteArgs(ctx context.Context, call *hook.ToolCall, args message.JSON) (message.JSON, error) {
	inner, err := composite.Of("Other", composite.Field{Name: "B", Hook: d.members[1]},
		composite.Field{Name: "C", Hook: d.members[2]}, composite.Field{Name: "A", Hook: d.members[0]})
	if err != nil {
		return "", err
	}
	return inner.RewriteArgs(ctx, call, args)
}

// lenient goes on without a decider that has failed.
type lenient struct{ sloppy }

func (l lenient) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	d, err := l.Composite.BeforeTool(ctx, call)
	if d.Verdict().Failure != nil {
		return hook.ToolDecision{}, nil
	}
	return d, err
}

// twice tells of everything twice.
type twice struct{ sloppy }

func (d twice) AfterTurn(ctx context.Context, turn *hook.Turn, outcome hook.TurnOutcome) {
	d.Composite.AfterTurn(ctx, turn, outcome)
	d.Composite.AfterTurn(ctx, turn, outcome)
}

func composes[H hook.Hook](of func(sloppy) H) badCase {
	return badCase{
		hook:    func() hook.Hook { return nil },
		options: hooktest.Options{Compose: func(members ...hook.Hook) hook.Hook { return of(made(members)) }},
	}
}

// knownBadPoints has the cases about points and composites.
func knownBadPoints(t *testing.T) map[string][]badCase {
	release, wg := make(chan struct{}), new(sync.WaitGroup)
	t.Cleanup(func() { close(release); wg.Wait() })
	other := filepath.Join(t.TempDir(), "descriptor")
	require.NoError(t, os.WriteFile(other, []byte("type pad\n"), 0o600))
	var made atomic.Int64
	diagnostic := func(text string) hook.Diagnostic { return hook.Diagnostic{Code: "bad.case", Text: text} }
	sources := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(sources, "pad.go"), []byte("package pad\n\n//hook:composite\ntype Pad struct{}\n"), 0o600))
	return map[string][]badCase{
		"generated-current": {{hook: func() hook.Hook { return &pad{} }, options: hooktest.Options{Sources: sources}}},
		"descriptor-stable": {
			{hook: func() hook.Hook { return &pad{} }, options: hooktest.Options{Golden: other}},
			{hook: func() hook.Hook { return &pad{} }, options: hooktest.Options{Golden: other + "-missing"}},
			plain(func() hook.Hook {
				b := &bad{}
				if made.Add(1)%2 == 0 {
					b.schema = tools(func(t *message.Tool) { t.Annotations.ReadOnly = true })
				}
				return b
			}),
		},
		"points-answer": {
			repairs(hook.RepairArgs("{")),
			repairs(hook.RenameTool("no tool")),
			watches(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.DenyTool(""), nil }),
			watches(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				if c.Step().Turn().Number() > 0 {
					return hook.ToolDecision{}, errors.New("no")
				}
				return hook.ToolDecision{}, nil
			}),
			plain(func() hook.Hook {
				return point.WrapToolFunc(func(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
					next.Run(ctx)
					return next.Run(ctx)
				})
			}),
			plain(func() hook.Hook {
				return point.WrapModelFunc(func(context.Context, *hook.Step, message.ModelRequest, hook.ModelNext) message.ModelStream {
					return func(func(message.Chunk, error) bool) {}
				})
			}),
		},
		"points-bare": {
			watches(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				_ = c.Name()[0]
				return hook.ToolDecision{}, nil
			}),
		},
		"points-prompt": {
			plain(func() hook.Hook {
				return point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
					if ctx.Err() != nil {
						<-release
					}
					return hook.TurnDecision{}, nil
				})
			}),
			{
				hook: func() hook.Hook {
					return point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
						if ctx.Err() != nil {
							select {
							case <-release:
							case <-time.After(3 * time.Second): // it comes back, and too late
							}
						}
						return hook.TurnDecision{}, nil
					})
				},
				options: hooktest.Options{Patience: 2 * time.Second},
			},
		},
		"points-concurrent": {plain(func() hook.Hook { return &crowded{} })},
		"views-unchanged": {
			watches(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				if turn := c.Step().Turn(); turn.ID() == "turn-1" { // one turn, so that it is no race beside
					turn.Agent().Model.Name = "another"
				}
				return hook.ToolDecision{}, nil
			}),
			{
				hook: func() hook.Hook {
					return point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
						if turn := c.Step().Turn(); turn.ID() == "turn-1" {
							turn.Agent().Tools[0] = "another"
						}
						return hook.ToolDecision{}, nil
					})
				},
				options: hooktest.Options{Agent: hook.AgentConfig{Tools: []string{"hooktest_tool"}}},
			},
		},
		"answers-own": {
			plain(func() hook.Hook { return &keeper{list: []hook.PromptSection{{ID: "a", Text: "b"}}} }),
		},
		"turns-isolated": {plain(func() hook.Hook { return &counting{} })},
		"fallback-ready": {
			plain(func() hook.Hook { return misnamed{} }),
			falls(func(*hook.Turn) hook.Contributions { panic("no fallback") }),
			falls(func(turn *hook.Turn) hook.Contributions {
				if turn.ID() == "" {
					panic("a turn without an id")
				}
				return hook.Contributions{}
			}),
			falls(func(*hook.Turn) hook.Contributions { <-release; return hook.Contributions{} }),
			falls(func(*hook.Turn) hook.Contributions {
				return stale(hook.ContextBlock{Domain: "spare", Text: fmt.Sprint(made.Add(1))})
			}),
			falls(func(*hook.Turn) hook.Contributions { return stale(hook.ContextBlock{Domain: "spare"}) }),
			falls(func(*hook.Turn) hook.Contributions {
				return stale(hook.ContextBlock{Domain: "spare", Text: "stale", By: "Me"})
			}),
			falls(func(*hook.Turn) hook.Contributions {
				return hook.Contributions{RefineContext: []hook.ContextBlock{{Domain: "spare", Text: "stale"}}}
			}),
		},
		"contributions-valid": {
			blocks(hook.ContextBlock{ID: "a", Text: "no domain"}),
			blocks(hook.ContextBlock{Domain: "a", ID: "a"}),
			blocks(hook.ContextBlock{Domain: "a", Text: "b", By: "Me"}),
			jobs(hook.Job{Kind: "k"}),
			jobs(hook.Job{Kind: "k", Key: "k", Payload: "{"}),
			remarks(hook.Diagnostic{Code: "No Code"}),
			remarks(hook.Diagnostic{Code: "a.code", Visibility: "everybody"}),
			adds(message.Tool{Name: "a b", Input: padSchema}),
			adds(message.Tool{Name: "final_answer", Input: padSchema}),
			adds(message.Tool{Name: "nobody_binds", Input: padSchema}),
			adds(message.Tool{Name: "no_schema"}),
			plain(func() hook.Hook {
				return point.TurnPolicyFunc(func(context.Context, *hook.Turn) ([]hook.Policy, error) {
					return []hook.Policy{{Domain: "a", Value: "without a key"}}, nil
				})
			}),
		},
		"values-private": {
			plain(func() hook.Hook {
				return point.TurnContextFunc(func(_ context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
					found := diagnostic("nothing found about " + turn.Input().Text())
					return []hook.ContextBlock{{Attached: hook.Attached{Diagnostics: message.ListOf(found)}}}, nil
				})
			}),
			watches(func(ctx context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				c.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "called with " + string(c.Args())})
				return hook.ToolDecision{}, nil
			}),
		},
		"open-close":          {plain(func() hook.Hook { return &unopened{} })},
		"goroutines-end":      {plain(func() hook.Hook { return &leaky{release: release, wg: wg} })},
		"compose-order":       {composes(func(s sloppy) disordered { return disordered{s} })},
		"compose-fail-policy": {composes(func(s sloppy) lenient { return lenient{s} })},
		"compose-once":        {composes(func(s sloppy) twice { return twice{s} })},
	}
}
