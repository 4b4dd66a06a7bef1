package leasemodel

import "fmt"

// misfortune yields what may happen to the node, and its end.
func (l Lease) misfortune(w world, i int, try attempt) {
	n := w.node[i]
	become := func(p process) func(*world) { return func(w *world) { w.node[i].process = p } }
	switch n.process {
	case paused:
		try(action{resumeProcess, i}, become(running))
		return
	case cutOff:
		try(action{mend, i}, become(running))
		return
	case killed:
		return
	}
	try(action{kill, i}, func(w *world) {
		w.node[i].process, w.node[i].woken, w.node[i].witness = killed, false, 0
		w.node[i].drop()
	})
	try(action{pauseProcess, i}, func(w *world) { w.node[i].process, w.node[i].woken = paused, true })
	try(action{cut, i}, become(cutOff))
	if !w.up || n.seen > 0 {
		return
	}
	switch {
	case n.epoch == 0 && l.mayClaim(w, i):
		try(action{loseClaim, i}, func(w *world) {
			l.claim(w, i)
			w.node[i].drop()
		})
	case n.epoch > 0 && !n.unsure && l.mayWrite(n) && w.late.epoch == 0:
		try(action{loseAnswer, i}, func(w *world) { w.late, w.node[i].unsure = write{n.epoch, n.knows}, true })
	}
	if n.epoch > 0 && !n.unsure && n.knows > nothing {
		try(action{release, i}, func(w *world) {
			if n.epoch == w.row.epoch {
				w.row.owner = 0
				l.saved(w)
			}
			w.node[i].drop()
		})
	}
}

// name is A, B or C.
func name(i int) string { return string(rune('A' + i)) }

// Say describes the action in the world before it.
func (l Lease) Say(w world, a action) string {
	n := w.node[a.node]
	switch a.kind {
	case claim, loseClaim:
		return l.sayClaim(w, a)
	case writeNext:
		return fmt.Sprintf("%s writes under epoch %d that %s.", name(a.node), n.epoch, l.entry(n.knows))
	case loseAnswer:
		return fmt.Sprintf("%s sends a write under epoch %d, that %s; its connection breaks before the answer.", name(a.node), n.epoch, l.entry(n.knows))
	case arrive:
		return fmt.Sprintf("The write without an answer reaches the database, under epoch %d, that %s.", w.late.epoch, l.entry(w.late.after))
	case runCall:
		return fmt.Sprintf("%s runs the call.", name(a.node))
	case tick:
		return "A second passes" + sayAges(w, l.Nodes) + "."
	}
	return fmt.Sprintf(sentences[a.kind], name(a.node))
}

// sentences has the actions that read the same in every world. %[1]s is the node.
var sentences = map[kind]string{
	beat:          "%[1]s beats.",
	reread:        "%[1]s reads the record and the journal again.",
	stopTurn:      "%[1]s stops its turn: its last beat is too old.",
	release:       "%[1]s shuts down in order and frees the lease.",
	flush:         "%.0[1]sThe database writes to its disk.",
	startDatabase: "%.0[1]sThe database starts again.",
	promote:       "%.0[1]sA server that has run for long goes on with the database.",
	stopDatabase:  "%.0[1]sThe database crashes.",
	kill:          "%[1]s is killed.",
	pauseProcess:  "%[1]s is stopped (SIGSTOP).",
	cut:           "%[1]s no longer reaches the database.",
	resumeProcess: "%[1]s goes on (SIGCONT).",
	mend:          "%[1]s reaches the database again.",
}

// sayClaim says from whom the node takes the conversation.
func (l Lease) sayClaim(w world, a action) string {
	from := "which nobody has"
	switch o := int(w.row.owner); {
	case o == a.node+1:
		from = "which the database says it has"
	case o > 0:
		from = fmt.Sprintf("which %s has, last seen %d s ago", name(o-1), w.node[o-1].seen)
		if w.node[o-1].seen == TTL {
			from += " or more"
		}
	}
	s := fmt.Sprintf("%s claims the conversation, %s: epoch %d", name(a.node), from, w.row.epoch+1)
	if a.kind == loseClaim {
		return s + "; the answer is lost."
	}
	return s + "."
}

// entry says what the write behind s stores.
func (l Lease) entry(s stored) string {
	switch l.next(s) {
	case begun:
		return "the turn has begun"
	case started:
		return "the call is about to run"
	case called:
		return "the call has ended"
	default:
		return "the turn has ended"
	}
}

// sayAges says how old the rows of the nodes are that have not beaten in this second.
func sayAges(w world, count int) (s string) {
	for i, n := range w.node[:count] {
		if n.seen > 0 {
			s += fmt.Sprintf("; %s was last seen %d s ago", name(i), min(n.seen+1, TTL))
		}
	}
	return s
}
