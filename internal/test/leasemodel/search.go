package leasemodel

import (
	"fmt"
	"slices"
	"strings"
)

// Machine is a system with finitely many states S. An action A leads from one to another.
type Machine[S comparable, A any] interface {
	// Start is the first state.
	Start() S
	// Next calls yield with each action that is possible in s and the state behind it, in
	// an order that depends on s only.
	Next(s S, yield func(A, S))
	// Broken says which rule is broken in s; "" is none.
	Broken(s S) string
	// Progress describes what has to stay possible.
	Progress() Progress[S, A]
	// Say describes the action in s for people.
	Say(s S, a A) string
}

// Progress says what has to stay possible: from each state in which it is Due, a state that
// is Done can be reached by Counted actions, within a number of seconds.
type Progress[S comparable, A any] struct {
	Due, Done func(S) bool
	// Counts reports whether the action may be relied on: no fault, and no repair.
	Counts func(A) bool
	// Second reports whether the action takes a second; the others take no time.
	Second func(A) bool
	// Within is the limit in seconds.
	Within int
	// Stuck says what is not possible.
	Stuck string
}

// Result is what a search has found.
type Result struct {
	// States is how many states were visited.
	States int
	// Seconds is the longest time that progress takes at best; 0 if a rule is broken.
	Seconds int
	// Broken is the broken rule; "" if all hold.
	Broken string
	// Trace is a shortest history that breaks it, one sentence per action.
	Trace []string
}

// String is the history, numbered, and the rule that it breaks.
func (r Result) String() string {
	if r.Broken == "" {
		return fmt.Sprintf("%d states, no rule is broken; progress takes at most %d s", r.States, r.Seconds)
	}
	var b strings.Builder
	for i, line := range r.Trace {
		fmt.Fprintf(&b, "%2d. %s\n", i+1, line)
	}
	fmt.Fprintf(&b, "Broken: %s.\n", r.Broken)
	return b.String()
}

// visit is a state and how the search came to it.
type visit[S comparable, A any] struct {
	state S
	from  int32 // -1 for the first
	by    A
}

// search is the state of Search.
type search[S comparable, A any] struct {
	m      Machine[S, A]
	visits []visit[S, A]
	index  map[S]int32
}

// Search visits the states of the machine breadth first, so that a trace is as short as it
// can be. It ends at the first state that breaks a rule. If there is none, it checks that
// progress stays possible. It panics if there are more than limit states.
func Search[S comparable, A any](m Machine[S, A], limit int) Result {
	s := &search[S, A]{m: m, index: map[S]int32{}}
	s.add(m.Start(), visit[S, A]{from: -1})
	for i := int32(0); int(i) < len(s.visits); i++ {
		if broken := m.Broken(s.visits[i].state); broken != "" {
			return Result{States: len(s.visits), Broken: broken, Trace: s.trace(i)}
		}
		m.Next(s.visits[i].state, func(by A, to S) { s.add(to, visit[S, A]{from: i, by: by}) })
		if len(s.visits) > limit {
			panic(fmt.Sprintf("leasemodel: more than %d states: allow fewer faults", limit))
		}
	}
	return s.progress()
}

func (s *search[S, A]) add(state S, v visit[S, A]) {
	if _, known := s.index[state]; known {
		return
	}
	v.state = state
	s.index[state] = int32(len(s.visits))
	s.visits = append(s.visits, v)
}

// trace returns the sentences of the history that led to the state i.
func (s *search[S, A]) trace(i int32) []string {
	var lines []string
	for v := s.visits[i]; v.from >= 0; v = s.visits[v.from] {
		lines = append(lines, s.m.Say(s.visits[v.from].state, v.by))
	}
	slices.Reverse(lines)
	return lines
}

// step is an action that counts, from the state before it.
type step struct {
	from   int32
	second bool
}

// progress goes back from the states that are done.
func (s *search[S, A]) progress() Result {
	p := s.m.Progress()
	before := make([][]step, len(s.visits))
	for i, v := range s.visits {
		s.m.Next(v.state, func(a A, to S) {
			if p.Counts(a) {
				at := s.index[to]
				before[at] = append(before[at], step{int32(i), p.Second(a)})
			}
		})
	}
	seconds := s.distances(before, p.Done)
	worst := 0
	for i, v := range s.visits {
		switch {
		case !p.Due(v.state):
		case seconds[i] < 0 || seconds[i] > p.Within:
			return Result{States: len(s.visits), Broken: p.Stuck, Trace: s.trace(int32(i))}
		default:
			worst = max(worst, seconds[i])
		}
	}
	return Result{States: len(s.visits), Seconds: worst}
}

// distances returns for each state the seconds to the nearest state that is done; -1 if
// none can be reached.
func (s *search[S, A]) distances(before [][]step, done func(S) bool) []int {
	seconds := make([]int, len(s.visits))
	var now, later []int32 // states at this distance, and one second further
	for i, v := range s.visits {
		seconds[i] = -1
		if done(v.state) {
			now = append(now, int32(i))
		}
	}
	for at := 0; len(now) > 0; at++ {
		for len(now) > 0 {
			i := now[len(now)-1]
			now = now[:len(now)-1]
			if seconds[i] >= 0 {
				continue
			}
			seconds[i] = at
			for _, b := range before[i] {
				if b.second {
					later = append(later, b.from)
				} else {
					now = append(now, b.from)
				}
			}
		}
		now, later = later, nil
	}
	return seconds
}
