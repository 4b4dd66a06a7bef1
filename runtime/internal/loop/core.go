package loop

import (
	"github.com/grapnel-go/grapnel/hook/message"
)

// core is a loop: it decides which model calls a turn makes, in which order, and what becomes of
// their replies. The turn makes the steps, so every loop passes the same hooks, gates, limits and
// writes, and the same steers reach it. A core has no state of its own, as turns share it.
type core interface {
	// request returns the request of the step, made from the one that tool calling makes. It is
	// called again for each attempt.
	request(t *Turn, req message.ModelRequest) message.ModelRequest
	// handle handles a reply that the hooks have accepted. It reports whether another step
	// follows.
	handle(t *Turn, reply message.ModelReply, calls []call) (more bool)
	// answered reports whether a reply at the end of the history is the turn's answer.
	answered(t *Turn) bool
}

// core returns the loop of the agent that answers.
func (t *Turn) core() core {
	if t.cfg.Loop == message.LoopPlanAndExecute {
		return planAndExecute{}
	}
	return toolCalling{}
}

// toolCalling is the loop that asks the model until it calls no tool.
type toolCalling struct{}

func (toolCalling) request(_ *Turn, req message.ModelRequest) message.ModelRequest { return req }

func (toolCalling) handle(t *Turn, reply message.ModelReply, calls []call) bool {
	return t.handleReply(reply, calls)
}

func (toolCalling) answered(*Turn) bool { return true }
