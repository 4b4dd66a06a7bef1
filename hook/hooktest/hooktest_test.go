package hooktest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// pad is a hook that keeps every rule; the tests break one of its methods each.
type pad struct {
	hook.Nop
	opened, closed, agents atomic.Int64
}

const padSchema = `{"type":"object","properties":{` +
	`"title":{"type":"string","description":"Title of the note.","pattern":"^[a-z]{2,5}-[0-9]+$"},` +
	`"level":{"type":["integer","null"],"description":"How urgent.","minimum":3,"maximum":7}` +
	`},"required":["title","level"],"additionalProperties":false}`

var padTool = message.Tool{Name: "pad_add", Description: "Adds a note.", Input: padSchema}

func (p *pad) Schema() []message.Tool                { return []message.Tool{padTool} }
func (p *pad) SystemPrompt(*hook.AgentConfig) string { return "Notes are short." }
func (p *pad) ScopedTools(*hook.AgentConfig) hook.Scope {
	return hook.Scope{Tools: []string{"pad_add"}}
}
func (p *pad) OnOpen(context.Context, hook.Host) error              { p.opened.Add(1); return nil }
func (p *pad) OnClose(context.Context) error                        { p.closed.Add(1); return nil }
func (p *pad) OnUnregisterAgent(context.Context, *hook.AgentConfig) { p.agents.Add(-1) }

func (p *pad) OnRegisterAgent(context.Context, *hook.AgentConfig) error {
	p.agents.Add(1)
	return nil
}

func (p *pad) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if call.Name() != "pad_add" {
		return hook.Invocation{}, false
	}
	d := args.New(call, padSchema)
	o := d.Object()
	for o.Next() {
		switch o.Key() {
		case "title":
			o.Once(0)
			_ = d.String()
		case "level":
			o.Once(1)
			_ = d.Int(64)
		default:
			o.Unknown("title", "level")
		}
	}
	o.Require(0, "title")
	o.Require(1, "level")
	return d.Bind(done{}), true
}

type done struct{}

func (done) Run(_ context.Context, env *hook.Env) message.ToolResult {
	return message.TextResult("added " + string(env.Call.Args()))
}

func TestNopAndGoodHooksPass(t *testing.T) {
	t.Run("nil", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return nil }, nil)
	})
	t.Run("nop", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return hook.Nop{} }, nil)
	})
	t.Run("func", func(t *testing.T) {
		silent := func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.ToolDecision{}, nil }
		hooktest.Run(t, func(*testing.T) hook.Hook { return point.BeforeToolFunc(silent) }, nil)
	})
	t.Run("fallback", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook {
			return &spare{f: func(*hook.Turn) hook.Contributions {
				return stale(hook.ContextBlock{Domain: "spare", Text: "stale"})
			}}
		}, nil)
	})
	t.Run("pad", func(t *testing.T) {
		var pads []*pad
		t.Run("rules", func(t *testing.T) {
			hooktest.Run(t, func(*testing.T) hook.Hook {
				pads = append(pads, &pad{})
				return pads[len(pads)-1]
			}, nil)
		})
		for _, p := range pads {
			assert.LessOrEqual(t, p.opened.Load(), int64(1), "opened at most once")
			assert.EqualValues(t, 1, p.closed.Load(), "closed once")
			assert.Zero(t, p.agents.Load(), "every registration undone")
		}
	})
}

// bad is pad with some methods replaced.
type bad struct {
	pad
	schema     func() []message.Tool
	prompt     func() string
	build      func(hook.AgentConfig) (hook.AgentConfig, error)
	register   func() error
	preprocess func(message.Input) (message.Input, error)
	scope      func() hook.Scope
	dispatch   func(*hook.ToolCall) (hook.Invocation, bool)
	event      func(hook.Event)
	open       func() error
	claims     hook.PointSet
}

func (b *bad) Schema() []message.Tool {
	if b.schema != nil {
		return b.schema()
	}
	return b.pad.Schema()
}

func (b *bad) SystemPrompt(cfg *hook.AgentConfig) string {
	if b.prompt != nil {
		return b.prompt()
	}
	return b.pad.SystemPrompt(cfg)
}

func (b *bad) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	if b.build != nil {
		return b.build(cfg)
	}
	return b.pad.OnBuildAgent(ctx, cfg)
}

func (b *bad) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	if b.register != nil {
		return b.register()
	}
	return b.pad.OnRegisterAgent(ctx, cfg)
}

func (b *bad) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	if b.preprocess != nil {
		return b.preprocess(in)
	}
	return b.pad.Preprocess(ctx, t, in)
}

func (b *bad) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if b.scope != nil {
		return b.scope()
	}
	return hook.Scope{}
}

func (b *bad) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if b.dispatch != nil {
		return b.dispatch(call)
	}
	return b.pad.Dispatch(ctx, call)
}

func (b *bad) OnEvent(_ context.Context, ev hook.Event) {
	if b.event != nil {
		b.event(ev)
	}
}

func (b *bad) OnOpen(ctx context.Context, h hook.Host) error {
	if b.open != nil {
		return b.open()
	}
	return b.pad.OnOpen(ctx, h)
}

func (b *bad) Points() hook.PointSet {
	return b.claims.With(point.Set(point.OnOpen, point.OnClose))
}

// tools returns a Schema of pad's tool, changed.
func tools(change func(*message.Tool)) func() []message.Tool {
	t := padTool
	change(&t)
	return func() []message.Tool { return []message.Tool{t} }
}

// lax binds like pad but lets through what pad refuses.
func lax(through func(call *hook.ToolCall, err *hook.ArgError) bool) func(*hook.ToolCall) (hook.Invocation, bool) {
	return func(call *hook.ToolCall) (hook.Invocation, bool) {
		inv, owned := (&pad{}).Dispatch(context.Background(), call)
		if owned && inv.Err() != nil && through(call, inv.Err()) {
			return hook.Bound(call.Args(), done{}), true
		}
		return inv, owned
	}
}

// knownBad has, for each rule, hooks that break this rule and no other.
var knownBad = map[string][]func() *bad{
	"lifecycle": {
		func() *bad { return &bad{open: func() error { return errors.New("no disk") }} },
	},
	"tool-names": {
		func() *bad {
			return &bad{
				schema: tools(func(t *message.Tool) { t.Name = "pad.add" }),
				dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
					if c.Name() != "pad.add" {
						return hook.Invocation{}, false
					}
					return (&pad{}).Dispatch(context.Background(), c.As("pad_add"))
				},
			}
		},
		func() *bad { return &bad{schema: func() []message.Tool { return []message.Tool{padTool, padTool} }} },
	},
	"schema-valid": {
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Input = "{" })} },
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Input = "" })} },
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Input = `{"type":"array"}` })} },
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Output = "nothing" })} },
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Output = `{"type":"text"}` })} },
		func() *bad {
			return &bad{schema: tools(func(t *message.Tool) {
				t.Input = message.JSON(strings.Replace(padSchema, `"string"`, `"text"`, 1))
			})}
		},
		func() *bad {
			return &bad{schema: tools(func(t *message.Tool) {
				t.Input = message.JSON(strings.Replace(padSchema, `["title","level"]`, `["titel","level"]`, 1))
			})}
		},
	},
	"schema-subset": {
		func() *bad {
			return &bad{schema: tools(func(t *message.Tool) {
				t.Input = message.JSON(strings.Replace(padSchema, `,"additionalProperties":false`, ``, 1))
			})}
		},
		func() *bad {
			return &bad{schema: tools(func(t *message.Tool) {
				t.Input = message.JSON(strings.Replace(padSchema, `{"type":"object",`, `{"type":"object","oneOf":[{"type":"object","additionalProperties":false}],`, 1))
			})}
		},
	},
	"schema-described": {
		func() *bad { return &bad{schema: tools(func(t *message.Tool) { t.Description = " " })} },
		func() *bad {
			return &bad{schema: tools(func(t *message.Tool) {
				t.Input = message.JSON(strings.Replace(padSchema, `"description":"How urgent.",`, ``, 1))
			})}
		},
	},
	"dispatch-own": {
		func() *bad {
			return &bad{dispatch: func(*hook.ToolCall) (hook.Invocation, bool) { return hook.Invocation{}, false }}
		},
	},
	"dispatch-foreign": {
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				return (&pad{}).Dispatch(context.Background(), c.As("pad_add"))
			}}
		},
	},
	"dispatch-canonical": {
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				inv, owned := (&pad{}).Dispatch(context.Background(), c)
				if inv.Runner() != nil {
					return hook.Bound(c.Args(), inv.Runner()), true
				}
				return inv, owned
			}}
		},
	},
	"dispatch-garbage": {
		func() *bad {
			return &bad{dispatch: lax(func(c *hook.ToolCall, _ *hook.ArgError) bool { return strings.Contains(string(c.Args()), "__x") })}
		},
		func() *bad {
			return &bad{dispatch: lax(func(c *hook.ToolCall, _ *hook.ArgError) bool { return strings.Contains(string(c.Args()), "TITLE") })}
		},
		func() *bad {
			return &bad{dispatch: lax(func(_ *hook.ToolCall, err *hook.ArgError) bool { return strings.Contains(err.Reason, "twice") })}
		},
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				if strings.HasPrefix(string(c.Args()), "[") {
					panic("no object")
				}
				return (&pad{}).Dispatch(context.Background(), c)
			}}
		},
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				inv, owned := (&pad{}).Dispatch(context.Background(), c)
				if inv.Err() != nil && c.Args() == "null" {
					return hook.BadArgs("null", &hook.ArgError{Tool: "pad_add", Reason: "no"}), true
				}
				return inv, owned
			}}
		},
	},
	"dispatch-missing": {
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				inv, owned := (&pad{}).Dispatch(context.Background(), c)
				if err := inv.Err(); err != nil {
					return hook.BadArgs(c.Args(), &hook.ArgError{Tool: err.Tool, Reason: "wrong", Schema: err.Schema}), true
				}
				return inv, owned
			}}
		},
	},
	"dispatch-pure": {
		func() *bad {
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				c.Host().Emit(context.Background(), hook.Event{Kind: event.Diagnostic})
				return (&pad{}).Dispatch(context.Background(), c)
			}}
		},
		func() *bad {
			b, n := &bad{}, atomic.Int64{}
			b.schema = func() []message.Tool {
				t := padTool
				if n.Load() > 0 {
					t.Description = "Adds another note."
				}
				return []message.Tool{t}
			}
			b.dispatch = func(c *hook.ToolCall) (hook.Invocation, bool) {
				n.Add(1)
				return b.pad.Dispatch(context.Background(), c)
			}
			return b
		},
	},
	"dispatch-concurrent": {
		func() *bad {
			// More binds than any caller alone makes: only a crowd gets here.
			var n atomic.Int64
			return &bad{dispatch: func(c *hook.ToolCall) (hook.Invocation, bool) {
				if n.Add(1) > 64 {
					panic("too many callers")
				}
				return (&pad{}).Dispatch(context.Background(), c)
			}}
		},
	},
	"agent-balanced": {
		func() *bad {
			b := &bad{}
			b.register = func() error {
				if b.agents.Add(1) > 0 && b.opened.Add(1) > 2 {
					return errors.New("registered before")
				}
				return nil
			}
			return b
		},
	},
	"build-plain": {
		func() *bad {
			return &bad{build: func(c hook.AgentConfig) (hook.AgentConfig, error) { c.Name += "!"; return c, nil }}
		},
		func() *bad {
			return &bad{build: func(c hook.AgentConfig) (hook.AgentConfig, error) {
				c.Tools = append(c.Tools, "pad_add")
				return c, nil
			}}
		},
	},
	"prompt-stable": {
		func() *bad {
			n := 0
			return &bad{prompt: func() string { n++; return strings.Repeat("x", n) }}
		},
	},
	"scope-own": {
		func() *bad { return &bad{scope: func() hook.Scope { return hook.Scope{Tools: []string{"bash"}} }} },
		func() *bad {
			return &bad{scope: func() hook.Scope { return hook.Scope{Tools: []string{"pad_add", "pad_add"}} }}
		},
	},
	"preprocess-plain": {
		func() *bad {
			return &bad{preprocess: func(in message.Input) (message.Input, error) {
				return message.TextInput(strings.TrimSpace(in.Text())), nil
			}}
		},
		func() *bad {
			return &bad{preprocess: func(in message.Input) (message.Input, error) { return in, errors.New("no") }}
		},
	},
	"event-any": {
		func() *bad {
			return &bad{event: func(ev hook.Event) {
				if ev.Kind == "hooktest_unknown" {
					panic("what is this?")
				}
			}}
		},
	},
	"points-real": {
		func() *bad { return &bad{claims: point.Set(point.BeforeTool)} },
	},
}

// badCase is a hook that breaks one rule, and what the kit is told of it.
type badCase struct {
	hook    func() hook.Hook
	options hooktest.Options
}

// allKnownBad has the cases by rule. Their hooks end with the test.
func allKnownBad(t *testing.T) map[string][]badCase {
	t.Helper()
	cases := knownBadPoints(t)
	for id, hooks := range knownBad {
		for _, newBad := range hooks {
			cases[id] = append(cases[id], badCase{hook: func() hook.Hook { return newBad() }})
		}
	}
	return cases
}

// TestEachRuleFindsItsKnownBadHooks: in a bubble, so that a hook which never returns is
// found by the rule's own patience, whatever else the machine has to do.
func TestEachRuleFindsItsKnownBadHooks(t *testing.T) {
	assert.Len(t, allKnownBad(t), len(hooktest.Rules()), "a known-bad hook of no rule")
	for _, r := range hooktest.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cases := allKnownBad(t)[r.ID]
				require.NotEmpty(t, cases, "the rule has no known-bad hook")
				for i, bad := range cases {
					findsOnly(t, r, i, bad)
				}
			})
		})
	}
}

// findsOnly checks that the kit finds the bad hook by this rule and no other.
func findsOnly(t *testing.T, r hooktest.Rule, i int, bad badCase) {
	t.Helper()
	found := hooktest.Check(t.Context(), bad.hook, &bad.options)
	broken := map[string]bool{}
	for _, v := range found {
		broken[v.Rule] = true
		if v.Rule == r.ID {
			assert.Contains(t, v.String(), r.Reason)
		}
	}
	assert.Equal(t, []string{r.ID}, slices.Sorted(maps.Keys(broken)), "bad hook %d: %v", i, found)
}
