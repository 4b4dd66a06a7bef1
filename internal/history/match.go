package history

import (
	"cmp"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
)

// call is a tool call of the history that is being repaired.
type call struct {
	message, block int
	// nth is its number in its message.
	nth      int
	id, tool string // as they stand there
	// result is the index of the message that answers it; open if there is none.
	result int
}

const open = -1

// span is the calls of one assistant's message: calls[from:to].
type span struct{ from, to int }

// matcher finds the call of each result. A message with calls forms a group with the
// messages behind it, up to the next message with calls.
type matcher struct {
	in    []message.Message
	roles []message.Role
	calls []call
	byID  map[string][]int
	// others[i] counts the messages before i that are no results.
	others []int
	// lost has the indices of results without a call.
	lost []int
	// doubles has the indices of results whose call has another one.
	doubles []int
}

// match assigns the results to the calls: first by id within the group, then by id
// anywhere, because some models reuse ids and some programs write results late; then by
// place within the group, where an id is missing. In doubt it drops a result: a wrong
// result is worse than none. The time is quadratic only in the calls with the same id, and
// in the calls of one message without an id.
func match(in []message.Message, roles []message.Role) *matcher {
	m := &matcher{in: in, roles: roles, byID: map[string][]int{}, others: make([]int, len(in)+1)}
	for i, role := range roles {
		m.others[i+1] = m.others[i]
		if role != message.RoleTool {
			m.others[i+1]++
		}
	}
	var groups []span
	m.addCalls(func(s span) { groups = append(groups, s) })
	rest := m.eachResult(groups, m.takeInGroup)
	rest = m.again(rest, m.takeAnywhere)
	rest = m.again(rest, m.takeByPlace)
	for _, r := range rest {
		m.lost = append(m.lost, r.message)
	}
	return m
}

// addCalls lists the calls, and calls group for those of each message.
func (m *matcher) addCalls(group func(span)) {
	for i, role := range m.roles {
		if role != message.RoleAssistant {
			continue
		}
		s := span{from: len(m.calls)}
		for j, b := range m.in[i].Content.All() {
			if b.Kind != message.BlockToolCall {
				continue
			}
			if b.CallID != "" {
				m.byID[b.CallID] = append(m.byID[b.CallID], len(m.calls))
			}
			m.calls = append(m.calls, call{
				message: i, block: j, nth: len(m.calls) - s.from, id: b.CallID, tool: b.Tool, result: open,
			})
		}
		if s.to = len(m.calls); s.to > s.from {
			group(s)
		}
	}
}

// loose is a result without a call yet, and the calls of its group.
type loose struct {
	message int
	group   span
}

// eachResult calls take for every result and returns those for which it was false.
func (m *matcher) eachResult(groups []span, take func(loose) bool) (rest []loose) {
	var here span
	for i, role := range m.roles {
		if len(groups) > 0 && m.calls[groups[0].from].message == i {
			here, groups = groups[0], groups[1:]
		}
		if role != message.RoleTool {
			continue
		}
		if r := (loose{i, here}); !take(r) {
			rest = append(rest, r)
		}
	}
	return rest
}

func (m *matcher) again(results []loose, take func(loose) bool) (rest []loose) {
	for _, r := range results {
		if !take(r) {
			rest = append(rest, r)
		}
	}
	return rest
}

// takeInGroup assigns a result to an open call with its id in its group: to the first one
// of its tool, or else to the first one.
func (m *matcher) takeInGroup(r loose) bool {
	id := m.in[r.message].CallID
	if id == "" {
		return false
	}
	best, double := open, open
	same := m.byID[id]
	from, _ := slices.BinarySearch(same, r.group.from)
	for _, c := range same[from:] {
		switch {
		case c >= r.group.to:
			return m.settle(r, best, double)
		case m.calls[c].result != open:
			double = c
		case best == open || m.calls[best].tool != m.in[r.message].Tool && m.calls[c].tool == m.in[r.message].Tool:
			best = c
		}
	}
	return m.settle(r, best, double)
}

// takeAnywhere assigns a result to a call with its id in any group: to the nearest open
// call before it, or to the first one behind it if the id does not occur before.
func (m *matcher) takeAnywhere(r loose) bool {
	calls := m.byID[m.in[r.message].CallID]
	if len(calls) == 0 {
		return false
	}
	before, _ := slices.BinarySearchFunc(calls, r.message, func(c, message int) int {
		return cmp.Compare(m.calls[c].message, message)
	})
	for _, c := range slices.Backward(calls[:before]) {
		if m.calls[c].result == open {
			return m.settle(r, c, open)
		}
	}
	if before > 0 {
		return m.settle(r, open, calls[before-1])
	}
	if first := calls[0]; m.calls[first].result != open {
		return m.settle(r, open, first)
	}
	return m.settle(r, calls[0], open)
}

// takeByPlace assigns a result to an open call of its group and tool. A result without an
// id prefers calls without an id. A result with an unknown id takes only such calls.
func (m *matcher) takeByPlace(r loose) bool {
	result := &m.in[r.message]
	best := open
	for c := r.group.from; c < r.group.to; c++ {
		k := &m.calls[c]
		switch {
		case k.result != open, k.id != "" && (result.CallID != "" || best != open):
		case k.tool != result.Tool && k.tool != "" && result.Tool != "":
		case k.id == "":
			return m.settle(r, c, open)
		default:
			best = c
		}
	}
	return m.settle(r, best, open)
}

// settle assigns the result to the call to. Without one, it adds the result to the doubles
// of the call double, and keeps the other result if that one was not cancelled.
func (m *matcher) settle(r loose, to, double int) bool {
	switch {
	case to != open:
		m.calls[to].result = r.message
		return true
	case double == open:
		return false
	}
	k := &m.calls[double]
	if m.unfinished(k.result) && !m.unfinished(r.message) {
		k.result, r.message = r.message, k.result
	}
	m.doubles = append(m.doubles, r.message)
	return true
}

// unfinished reports whether a result says that the call was cancelled.
func (m *matcher) unfinished(at int) bool {
	return m.in[at].Result.Failure == message.FailCancelled
}

// apart reports whether there are messages other than results between a message and a
// result behind it.
func (m *matcher) apart(message, result int) bool { return m.others[result] > m.others[message+1] }
