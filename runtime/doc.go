// Package runtime drives agents: it registers them, keeps their conversations,
// and runs the loop of model calls and tool calls. It knows one [hook.Hook] and
// nothing of what is behind it.
//
//	rt := runtime.New(hook.Nop{}, model, nil)
//	err := rt.Open(ctx)
//	_, err = rt.Register(ctx, hook.AgentConfig{Name: "helper", Instructions: "Be brief."})
//	conv, err := rt.Conversation(ctx, "helper", "ann")
//	out, err := conv.Send(ctx, message.TextInput("hi"), nil)
//	err = rt.Close(ctx)
//
// # Where things are
//
// runtime.go opens and closes it all. register.go builds agents and takes them
// away, agent.go is one of them, tools.go says which tools it has and refuses the
// others, prompt.go writes the system prompt. A turn is turn.go (from input to
// outcome), contribute.go (what hooks add to it), step.go (one reply and what
// follows from it), model.go (one request and its stream), attempt.go (what becomes
// of one that fails), repair.go (calls that cannot be bound), calls.go (the gates of
// a step's tool calls), execute.go (running them, with keyed.go for exclusive ones),
// result.go (what becomes of their results), ending.go (whether the turn goes on, and
// why it ends), spend.go (what it costs). session.go brackets the turns of a
// conversation, and state.go keeps what hooks keep in it. points.go and points_model.go call the hook's points under their fail
// policy. Events are emit.go (their numbers and places), deliver.go (who delivers
// them), keep.go (writing them down) and subscribe.go (readers). A conversation is
// conversation.go (one turn at a time), lease.go (also
// between processes), load.go (reading it), journal.go and resume.go (turns that
// broke off), steer.go, compact.go with summary.go, branch.go and search.go.
// contribute.go asks hooks what they add to a turn (package contribution merges it),
// jobs.go queues what is done apart from turns (package job does it).
// layers.go lays configuration over the hooks, for the process, an agent and a turn.
// child.go runs agents for agents, ask.go puts questions to people, guest.go lets
// others answer, and callmodel.go asks a model for a hook.
//
// # Delivery of events
//
// The events of one conversation are delivered one at a time, in the order of
// their sequence numbers, to the hook's OnEvent and then to the observer of the
// turn. The loop delivers its own; an event that a hook or a running tool emits
// is delivered by whoever emits it unless a delivery is under way, which then
// delivers it too. Nothing is dropped, and what waits for delivery is bounded, so
// a slow observer slows its own turn.
// After Send has returned its observer is not called again.
//
// # What goes into the history
//
// An assistant message and the results of all its calls are stored in one
// append, in call order. Arguments are stored canonical if the call could be
// bound. Otherwise they are stored as the model sent them if that is a JSON
// object, and else as {"unparsed_arguments": "…"}: every provider takes an
// object back, and the model sees what it wrote. Ids and names that a provider
// would refuse are replaced; package history has the rules. After a cancellation
// the results that exist are stored, every other call is answered as cancelled
// or interrupted, and the text that the model had written so far is kept if the
// hooks at RewriteReply and AfterModel let it pass.
//
// # Locks
//
// No hook is called with a lock held. A lock is taken while another is held in two
// places only: stream.Log.writing before its mu, renewal.mu and those of a store;
// renewal.mu before Conversation.mu and those of a store.
package runtime
