// Package loop runs turns. A turn takes its input through the gates, then makes steps of
// model calls and tool calls until it ends. The package knows no agent registry and no queue
// of a conversation: package runtime gives it an agent, a thread and a handle for each turn.
//
// Read the files in this order:
//
//	env.go, agent.go, thread.go, session.go      what a turn works with
//	turn_state.go, handle.go, spend.go           its state, what others have of it, what it uses up
//	turn.go, input.go, contribute.go             a turn: its input through the gates, what hooks add
//	core.go, plan.go                             the loops: which model calls a turn makes
//	step.go, model.go, attempt.go                one step, one model request, a request that fails
//	repair.go, calls.go, execute.go              tool calls: repair, gates, runs and results
//	steer.go, ending.go, finish.go, errors.go    steers, whether the turn continues, its end
//	emit.go, journal.go, transcript.go           events, journal and history
//	resume.go, child.go, orphan.go, guest.go     interrupted turns, children, guest agents
//	foreign.go, abandoned_turn.go                calls of foreign code, and turns that hang in one
//	callmodel.go, requester.go                   model requests of hooks, and those outside of turns
//
// Words: a place is what hooks see of a turn, step or call, and a teller updates it. A steer is
// a message to the running turn. To settle an interrupted turn is to end it without resuming it.
//
// The loop of a turn runs on its own goroutine, and only that goroutine writes the state of
// the turn. Its owner is the goroutine that started it. If foreign code hangs after the turn
// was cancelled, the owner abandons the loop and ends the turn with a copy of its state.
// Other goroutines share only the ledger and the handle of a turn.
package loop
