// Package eino does the work with github.com/cloudwego/eino: the agent of flow/agent/react,
// and the ChatModelAgent of adk with its Runner. Agents are built once; tools are
// those of utils.InferTool, which decode and encode with sonic; calls of one step
// run at the same time, which is eino's default. Nothing is logged.
//
// What it does more than Grapnel: an agent is a graph that is compiled (each time an
// adk agent runs, it is compiled anew), and a turn is a run of it with state, branches and
// merging of inputs; every component takes and gives streams, which are converted,
// copied and concatenated where they meet; a run can be interrupted in any node or
// tool, and resumed from a checkpoint, for which it keeps addresses of all nodes and
// copies of results; callbacks are looked up in the context at every node. adk tells every
// message as an event, in a goroutine of its own and through two queues without a
// bound, keeps them in a session, and can hand over to other agents.
//
// What it does less: it keeps no conversation. The history is the caller's, who gives all
// of it to each turn: here the one of old, so that it does not grow from turn to turn
// as Grapnel's does. It has no scopes, checks arguments against no schema, knows nobody
// who may deny a call, sums no usage, gives no sequence to what it tells, and a tool's
// error ends the turn.
package eino

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/grapnel-go/grapnel/bench/work"
)

// React is the agent of flow/agent/react, and ADK the ChatModelAgent of adk.
var (
	React = work.Subject{Name: "eino-react", Start: startReact, Agents: reactAgents}
	ADK   = work.Subject{Name: "eino-adk", Start: startADK, Agents: adkAgents}
)

// NoStore is why there is no conversation in a database.
const NoStore = "eino keeps no conversations: its CheckPointStore keeps runs that were interrupted"

// tools are the typed tool and others of the same type.
func tools(t work.Turn, all work.Ledgers) ([]tool.BaseTool, error) {
	find := func(ctx context.Context, in work.Input) (work.Answer, error) { return all.In(ctx).Find(in) }
	list := make([]tool.BaseTool, t.Tools)
	for i := range list {
		name := work.Tool
		if i > 0 {
			name = work.OtherTool(i)
		}
		var err error
		if list[i], err = utils.InferTool(name, work.About, find); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// messages are the history of old and what the person says.
func messages(t work.Turn) []*schema.Message {
	list := make([]*schema.Message, t.Messages, t.Messages+1)
	for i := range list {
		person, text := work.Old(i)
		if person {
			list[i] = schema.UserMessage(text)
		} else {
			list[i] = schema.AssistantMessage(text, nil)
		}
	}
	return append(list, schema.UserMessage(work.Say))
}

// running says how a turn of a conversation is sent; send returns the answer.
func running(all work.Ledgers, send func(ctx context.Context, conversation int) (string, error)) *work.Running {
	return &work.Running{Send: func(ctx context.Context, i int) error {
		all[i].Begin()
		answer, err := send(all.With(ctx, i), i)
		if err != nil {
			return err
		}
		return all[i].End(answer)
	}}
}
