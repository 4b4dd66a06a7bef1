// Package runtime drives agents: it registers them, keeps their conversations,
// and runs the loop of model calls and tool calls. It calls one [hook.Hook] and
// does not depend on the hook's members.
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
// conversation.go runs one turn at a time, handle.go is the caller's handle on a turn, host.go
// implements [hook.Host], guests.go finds the agents that turns run, background_runs.go and
// background_jobs.go run hooks outside of turns, compact.go and summary.go shorten a history.
// Each other file is one operation, named as the file: branch.go, search.go, resume.go, ….
//
// Each package below can be read alone. Only the first knows turns:
//
//	internal/loop     a turn from its input to its outcome
//	internal/scope    what an agent may use: hooks, tools, prompt
//	internal/stream   events: numbers, delivery, storage, readers
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
// turn. The loop delivers its own events. A hook or a running tool delivers the
// event that it emits, unless another goroutine is delivering: that one then
// delivers it too. No event is dropped. The queue of undelivered events is
// bounded, so a slow observer slows its own turn. After Send has returned, its
// observer is not called again.
//
// # What goes into the history
//
// An assistant message and the results of all its calls are stored in one
// append, in call order. Arguments that match the tool's schema are stored in
// canonical form. Other arguments are stored as the model sent them if they are a
// JSON object, and otherwise as {"unparsed_arguments": "…"}, because every
// provider accepts an object. Ids and names that a provider would refuse are
// replaced; internal/history has the rules. After a cancellation the existing
// results are stored, and every other call is answered as cancelled or
// interrupted. The model's text so far is kept if the hooks at RewriteReply and
// AfterModel accept it.
//
// # Locks
//
// No hook is called with a lock held. Only two locks are held while another is taken: a
// log's writing before its mu and the locks of a store; a lease's renewal before
// Conversation.mu and the locks of a store.
package runtime
