// Package scope says what an agent may use: its hooks, the tools that it is offered and may
// call, and its system prompt. One object answers both questions, so that an agent is never
// offered a tool that it may not call.
package scope

import (
	"context"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
)

// Hooks are the hooks of the process, of an agent or of a turn. An agent's are those of the
// process under its layers, and a turn's are those of its agent under the turn's layers.
// Without layers both share the same Hooks. A member that one layer turns off stays off under
// further layers: it was not opened, or does not know the agent.
type Hooks struct {
	*composite.Composite
	known catalogCache
}

// New returns the hooks of a linked composite.
func New(c *composite.Composite) *Hooks { return &Hooks{Composite: c} }

// None returns hooks without a member.
func None() *Hooks {
	c, _ := composite.From(hook.Nop{}) // never an error
	return New(c)
}

// Under returns the hooks under the layers; h itself if there are none.
func (h *Hooks) Under(layers []plan.Layer) (*Hooks, error) {
	if len(layers) == 0 {
		return h, nil
	}
	over, err := h.Layered(layers...)
	if err != nil {
		return nil, err
	}
	return New(over), nil
}

// HasAny reports whether a member has one of the points.
func (h *Hooks) HasAny(points ...hook.Point) bool {
	return slices.ContainsFunc(points, h.Has)
}

// SeesRequest reports whether a hook sees the turn before the model answers.
func (h *Hooks) SeesRequest() bool {
	return h.HasAny(point.BeforeStep, point.RewriteRequest, point.BeforeModel, point.WrapModel)
}

// SeesReply reports whether a hook sees the turn between the reply and its tools.
func (h *Hooks) SeesReply() bool { return h.HasAny(point.RewriteReply, point.AfterModel) }

// MayContinue reports whether a hook may continue a turn that is about to end, or answer a
// failed one.
func (h *Hooks) MayContinue() bool { return h.HasAny(point.OnStop, point.OnTurnError) }

// At returns the members that act at the point, as work that can be abandoned there.
func (h *Hooks) At(p hook.Point) abandoned.Work {
	return abandoned.Work{Hook: strings.Join(membersAt(h.Plan(), "", p.String()), " or "), Point: p.String()}
}

// membersAt returns the paths of the members that act at the point.
func membersAt(p *plan.Plan, path, point string) (out []string) {
	if p == nil {
		return nil
	}
	for _, m := range p.Members {
		switch {
		case m.Composite != nil:
			out = append(out, membersAt(m.Composite, path+m.Field+".", point)...)
		case slices.ContainsFunc(m.Points, func(u plan.PointUse) bool { return u.Name == point }):
			out = append(out, path+m.Field)
		}
	}
	return out
}

// BuildAgent calls OnBuildAgent. A panic becomes an error.
//
//hook:ignore HG013
func (h *Hooks) BuildAgent(ctx context.Context, cfg hook.AgentConfig) (out hook.AgentConfig, err error) {
	defer failure.Catch(point.OnBuildAgent, &err)
	return h.OnBuildAgent(ctx, cfg)
}

func (h *Hooks) schema() (tools []message.Tool, err error) {
	defer failure.Catch(point.Schema, &err)
	return h.Schema(), nil
}

func (h *Hooks) scopeOf(cfg *hook.AgentConfig) (s hook.Scope, err error) {
	defer failure.Catch(point.ScopedTools, &err)
	return h.ScopedTools(cfg), nil
}

func (h *Hooks) promptsOf(cfg *hook.AgentConfig) (texts []composite.Prompt, err error) {
	defer failure.Catch(point.SystemPrompt, &err)
	return h.Prompts(cfg), nil
}
