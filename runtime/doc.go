// Package runtime drives agents: it registers them, keeps their conversations,
// and runs the loop of model calls and tool calls. It knows one [hook.Hook] and
// nothing of what is behind it.
//
//	rt := runtime.New(hook.Nop{}, model, nil)
//	err := rt.Open(ctx)
//	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper", Instructions: "Be brief."})
//	conv, err := agent.Conversation(ctx, "ann")
//	out, err := conv.Send(ctx, message.TextInput("hi"), nil) // out.Err says how the turn ended
//	err = rt.Close(ctx)
//
// # Where things are
//
// runtime.go opens and closes everything, register.go builds agents (agent.go),
// conversation.go runs one turn at a time, handle.go is what callers have of a turn, host.go
// is what hooks ask of the runtime, guests.go gives turns other agents, compact.go and
// summary.go shorten a history.
//
// The rooms below can be read alone. All but the first know no turn:
//
//	internal/loop     a turn from its input to its outcome
//	internal/scope    what an agent may use: hooks, tools, prompt
//	internal/stream   events: numbers, delivery, keeping, readers
//	internal/durable  leases, reading a conversation, the journal
//	internal/human    questions and approvals that wait for people
//	internal/toolrun  running tool calls: slots, exclusive keys, time limits
//	internal/drive    a goroutine that its owner can abandon
//	internal/failure, internal/abandoned, internal/keyed, internal/bound
//	                  failures of hooks, counts of abandoned work, locks by key, cutting results
//	internal/contribution
//	                  what hooks contribute, merged and cut
//	internal/job, internal/queue
//	                  stored jobs, and background runs
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
// places only: a log's writing before its mu and the locks of a store; a lease's renewal
// before Conversation.mu and the locks of a store.
package runtime
