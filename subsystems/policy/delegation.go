package policy

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// A call is judged by the rules of the calling agent and of every agent above it in the
// delegation. The strictest answer counts, and all grants narrow. So no agent can do more
// by delegating.

// answer judges the call for all agents up to the root.
func (p *Policy) answer(call *hook.ToolCall) (hook.ToolDecision, error) {
	confined := p.confinement(call)
	own, err := p.judge(agentOf(call), call, confined)
	if err != nil {
		return hook.ToolDecision{}, err
	}
	turn := turnOf(call)
	if turn == nil || turn.Parent() == nil {
		return own.decision(), nil
	}
	judged := []judgement{own}
	for below, t := turn, turn.Parent(); t != nil; below, t = t, t.Parent() {
		if t.Agent() == below.Agent() {
			continue
		}
		j, err := p.judge(t.Agent(), call, confined)
		if err != nil {
			return hook.ToolDecision{}, err
		}
		own.join(j, t.Agent().Name, judged)
		judged = append(judged, j)
	}
	return own.decision(), nil
}

// judge judges the call by the rules of one agent.
func (p *Policy) judge(cfg *hook.AgentConfig, call *hook.ToolCall, confined *Confinement) (judgement, error) {
	set, err := p.of(cfg)
	if err != nil {
		return judgement{}, err
	}
	return set.judge(question{p.compiler, senderOf(call), call.Tool(), call.Args(), confined})
}

// join adds the judgement by the rules of an agent above. An ask names that agent in its
// reason, so that an answer remembered for the rule of one agent does not count for
// another's. judged has the judgements below: join skips an ask that they already have.
func (j *judgement) join(above judgement, agent string, judged []judgement) {
	j.grant = j.grant.Intersect(above.grant)
	if above.effect != Deny && above.effect != Ask || j.effect == Deny {
		return
	}
	for i := range judged {
		if above.sameAs(&judged[i]) {
			return
		}
	}
	reason := fmt.Sprintf("%s (policy of agent %q, which delegated the task)", above.reason, agent)
	if j.effect == Ask && above.effect == Ask {
		reason = j.reason + "; " + reason
	}
	j.effect, j.reason = above.effect, reason
}

// sameAs reports whether two judgements have the same answer by the same rule or default.
func (j *judgement) sameAs(o *judgement) bool {
	if j.effect != o.effect || j.reason != o.reason || (j.decided == nil) != (o.decided == nil) {
		return false
	}
	return j.decided == nil || j.decided.rule == o.decided.rule
}

// senderOf returns the sender of the turn that a user started.
func senderOf(call *hook.ToolCall) sender {
	turn := turnOf(call)
	if turn == nil || turn.Root().Conversation() == nil {
		return sender{}
	}
	return sender{turn.Root().Conversation().Sender(), true}
}

// turnOf returns the turn of the call; nil outside a turn.
func turnOf(call *hook.ToolCall) *hook.Turn {
	if call.Step() == nil || call.Step().Turn() == nil || call.Step().Turn().Conversation() == nil {
		return nil
	}
	return call.Step().Turn()
}

// agentOf returns the calling agent; nil outside a turn.
func agentOf(call *hook.ToolCall) *hook.AgentConfig {
	if turn := turnOf(call); turn != nil {
		return turn.Agent()
	}
	return nil
}
