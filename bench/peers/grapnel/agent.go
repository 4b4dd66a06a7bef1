package grapnel

//go:generate go tool hookgen .

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/bench/work"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Agent is the composite: the typed tool, the other tools, and as many hooks as the
// turn wants. Members that are nil are not there.
//
//hook:composite
type Agent struct {
	Find      *Find      `hook:"optional"`
	More      *More      `hook:"optional"`
	One       *Counter   `hook:"optional"`
	Eight     *Eight     `hook:"optional"`
	SixtyFour *SixtyFour `hook:"optional"`
}

// Eight are eight hooks.
//
//hook:composite
type Eight struct{ A, B, C, D, E, F, G, H *Counter }

// SixtyFour are eight times eight.
//
//hook:composite
type SixtyFour struct{ A, B, C, D, E, F, G, H *Eight }

// newAgent makes the composite for a turn.
func newAgent(t work.Turn, all work.Ledgers) (hook.Hook, error) {
	a := &Agent{}
	if t.Tools > 0 {
		a.Find = &Find{all: all}
	}
	if t.Tools > 1 {
		a.More = newMore(t.Tools - 1)
	}
	c := &Counter{all: all}
	eight := &Eight{c, c, c, c, c, c, c, c}
	switch t.Hooks {
	case 0:
	case 1:
		a.One = c
	case 8:
		a.Eight = eight
	case 64:
		a.SixtyFour = &SixtyFour{eight, eight, eight, eight, eight, eight, eight, eight}
	default:
		return nil, fmt.Errorf("%d hooks: there are composites of 0, 1, 8 and 64", t.Hooks)
	}
	return a, nil
}

// Find has the tool.
//
//hook:subsystem
type Find struct {
	hook.Nop
	all work.Ledgers
}

// Find finds the list with a title and says how much is on it.
//
//hook:tool name=find
func (f *Find) Find(ctx context.Context, in work.Input) (work.Answer, error) {
	return f.all.In(ctx).Find(in)
}

// More has tools of which the generator knows nothing, as a subsystem has them that
// gets them from a server.
type More struct {
	hook.Nop
	tools []message.Tool
}

func newMore(n int) *More {
	m := &More{tools: make([]message.Tool, n)}
	find := (&Find{}).Schema()[0]
	for i := range m.tools {
		m.tools[i] = find
		m.tools[i].Name = work.OtherTool(i + 1)
	}
	return m
}

// Schema implements hook.Hook.
func (m *More) Schema() []message.Tool { return m.tools }

// Counter is a hook that counts where it is told.
type Counter struct {
	hook.Nop
	all work.Ledgers
}

var (
	_ hook.BeforeModel = (*Counter)(nil)
	_ hook.AfterModel  = (*Counter)(nil)
	_ hook.BeforeTool  = (*Counter)(nil)
	_ hook.AfterTool   = (*Counter)(nil)
)

// BeforeModel implements hook.BeforeModel.
func (c *Counter) BeforeModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	c.all.In(ctx).Hook()
	return hook.ModelDecision{}, nil
}

// AfterModel implements hook.AfterModel.
func (c *Counter) AfterModel(ctx context.Context, _ *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	c.all.In(ctx).Hook()
	return hook.ReplyDecision{}, nil
}

// BeforeTool implements hook.BeforeTool.
func (c *Counter) BeforeTool(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
	c.all.In(ctx).Hook()
	return hook.ToolDecision{}, nil
}

// AfterTool implements hook.AfterTool.
func (c *Counter) AfterTool(ctx context.Context, _ *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	c.all.In(ctx).Hook()
	return hook.OutcomeDecision{}, nil
}
