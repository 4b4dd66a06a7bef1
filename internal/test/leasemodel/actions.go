package leasemodel

// The actions of the database and the nodes.

// time lets a second pass. Running nodes beat in each second in which the database runs. A
// node whose beat is too old has stopped its turn before the TTL is over.
func (l Lease) time(w world, try attempt) {
	for _, n := range w.node[:l.Nodes] {
		if n.process == running && w.up && n.seen > 0 {
			return
		}
		if l.mustStop(n) && (n.process == running || n.process == cutOff) {
			return
		}
	}
	try(action{kind: tick}, func(w *world) {
		if l.ServerStart {
			w.since = min(w.since+1, TTL)
		}
		for i := range w.node[:l.Nodes] {
			n := &w.node[i]
			if n.seen = min(n.seen+1, TTL); n.seen >= TTL-1 {
				n.witness = 0
			}
			if w.up {
				n.silent = min(n.silent+1, TTL)
			}
		}
	})
}

// mustStop reports whether the node has to stop its turn: its row may be too old in a second.
func (l Lease) mustStop(n node) bool { return !l.NoStop && n.epoch > 0 && n.seen >= TTL-1 }

// database starts and stops the database, and delivers a write that had no answer.
func (l Lease) database(w world, try attempt) {
	if !w.up {
		try(action{kind: startDatabase}, func(w *world) { w.up, w.since = true, 0 })
		if l.ServerStart {
			try(action{kind: promote}, func(w *world) { w.up, w.since = true, TTL })
		}
		return
	}
	try(action{kind: stopDatabase}, func(w *world) {
		w.up, w.since, w.late = false, 0, write{}
		w.row = w.disk
		for i := range w.node {
			if !l.LastingWitness {
				w.node[i].witness = 0
			}
		}
	})
	if w.row != w.disk {
		try(action{kind: flush}, func(w *world) { w.disk = w.row })
	}
	if w.late.epoch > 0 {
		try(action{kind: arrive}, func(w *world) {
			l.store(w, w.late)
			w.late = write{}
		})
	}
}

// work yields what the node may do by the protocol.
func (l Lease) work(w world, i int, try attempt) {
	n := w.node[i]
	if (n.process == running || n.process == cutOff) && n.epoch > 0 {
		if l.mustStop(n) {
			try(action{stopTurn, i}, func(w *world) { w.node[i].drop() })
		}
		if l.mayCall(n) {
			try(action{runCall, i}, func(w *world) { w.run(i) })
		}
	}
	if n.process != running || !w.up {
		return
	}
	if n.seen > 0 {
		try(action{beat, i}, func(w *world) { l.beat(w, i) })
		return // a node that has just woken, or missed the database, beats first
	}
	switch {
	case n.epoch == 0 && l.mayClaim(w, i):
		try(action{claim, i}, func(w *world) { l.claim(w, i) })
	case n.epoch > 0 && n.unsure:
		try(action{reread, i}, func(w *world) { l.reread(w, i) })
	case n.epoch > 0 && l.mayWrite(n):
		try(action{writeNext, i}, func(w *world) { l.write(w, i) })
	}
}

// beat renews the node's row. A node whose row may have been too old asks what it has lost. A node that
// beats without a gap is a witness of those that do not.
func (l Lease) beat(w *world, i int) {
	n := &w.node[i]
	if l.mustStop(*n) {
		l.reread(w, i)
	}
	if n.witness == 0 {
		n.witness = 1
	} else {
		n.witness = min(n.witness+n.seen, TTL+1)
	}
	n.seen, n.silent, n.woken, n.dead = 0, 0, false, false
	for j := range w.node[:l.Nodes] {
		if other := &w.node[j]; other.seen >= TTL && n.witness > TTL {
			other.dead = true
		}
	}
}

// drop ends the turn in the process, without a write.
func (n *node) drop() {
	n.epoch, n.knows, n.unsure, n.mine, n.ran = 0, nothing, false, false, false
}

// mayClaim reports whether the database gives the node the conversation: nobody has it, or the
// node itself, which runs no turn of it, or a node that is dead.
func (l Lease) mayClaim(w world, i int) bool {
	switch int(w.row.owner) {
	case 0:
		return true
	case i + 1:
		return !l.NoOwn
	}
	owner := w.node[w.row.owner-1]
	switch {
	case l.OwnClock && i > 0:
		return owner.seen+TTL >= TTL
	case l.NoWitness:
		return owner.seen >= TTL
	case l.ServerStart:
		return owner.seen >= TTL && w.since >= TTL
	}
	return owner.dead
}

// claim gives the node the conversation under a new epoch, and the journal.
func (l Lease) claim(w *world, i int) {
	if o := int(w.row.owner); o > 0 && o != i+1 {
		if was := w.node[o-1]; was.process != killed && was.silent < TTL {
			w.broken = takenFromLiving
		}
	}
	w.row.owner, w.row.epoch = uint8(i+1), w.row.epoch+1
	l.saved(w)
	n := &w.node[i]
	n.drop()
	n.epoch, n.knows = w.row.epoch, w.row.stored
}

// mayWrite reports whether the turn has come to its next write. The result of a call that
// another process has started is written without running it: its effect is unknown.
func (l Lease) mayWrite(n node) bool {
	switch {
	case l.NoStart && n.knows == begun:
		return n.ran
	case n.knows == started:
		return n.ran || !n.mine && !l.RunsAgain
	}
	return true
}

// write stores the next step of the turn and tells the node.
func (l Lease) write(w *world, i int) {
	n := &w.node[i]
	if !l.store(w, write{n.epoch, n.knows}) {
		l.reread(w, i)
		return
	}
	n.knows = w.row.stored
	n.mine = n.knows == started
	w.acknowledged = max(w.acknowledged, n.knows)
}

// store is the statement of a write: it changes the row if the epoch and the journal are those
// that the writer knows, and reports whether it did.
func (l Lease) store(w *world, by write) bool {
	if by.epoch != w.row.epoch {
		if !l.NoEpoch {
			return false
		}
		w.broken = staleWrite
	}
	if by.after != w.row.stored {
		if !l.NoAfter {
			return false
		}
		w.broken = writtenTwice
	}
	w.row.stored = max(w.row.stored, l.next(by.after))
	if w.row.stored == ended {
		w.row.owner = 0
	}
	l.saved(w)
	return true
}

// next is what the journal has after the next write.
func (l Lease) next(s stored) stored {
	if l.NoStart && s == begun {
		return called
	}
	return s + 1
}

// saved puts the row on the disk, unless the database answers first.
func (l Lease) saved(w *world) {
	if !l.EarlyAnswer {
		w.disk = w.row
	}
}

// reread reads the record. A node whose epoch is not the conversation's drops the turn, and with
// Reclaims one whose write had no answer. What the journal has of such a write counts as another's:
// the call was not run.
func (l Lease) reread(w *world, i int) {
	n := &w.node[i]
	if n.epoch != w.row.epoch || n.unsure && l.Reclaims {
		n.drop()
		return
	}
	n.knows, n.unsure = w.row.stored, false
}

// mayCall reports whether the turn has come to the call.
func (l Lease) mayCall(n node) bool {
	switch {
	case n.ran || n.unsure:
		return false
	case l.NoStart:
		return n.knows == begun
	}
	return n.knows == started && (n.mine || l.RunsAgain)
}

// run runs the call, which changes something outside.
func (w *world) run(i int) {
	n := &w.node[i]
	n.ran = true
	w.effects++
	switch {
	case w.effects > 1:
		w.broken = ranTwice
	case n.epoch != w.row.epoch && !n.woken:
		w.broken = ranLate
	}
}
