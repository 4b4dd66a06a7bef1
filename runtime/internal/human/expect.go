package human

import "context"

// expectation is a tool call that may ask for approval at any moment.
type expectation struct {
	conversation, turn, call string
	// settled is closed when the call has asked, or will not ask.
	settled chan struct{}
}

// Expect records that a call of a turn may ask for approval. Call it before the event of
// the call is emitted. The caller calls over when the call will not ask any more.
func (t *Table) Expect(conversation, turn, call string) (over func()) {
	x := &expectation{conversation, turn, call, make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expected == nil {
		t.expected = map[*expectation]struct{}{}
	}
	t.expected[x] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.arriveLocked(func(other *expectation) bool { return other == x })
	}
}

// arriveLocked removes the expectations that match, and wakes AwaitExpected.
func (t *Table) arriveLocked(matches func(x *expectation) bool) {
	for x := range t.expected {
		if matches(x) {
			delete(t.expected, x)
			close(x.settled)
		}
	}
}

// AwaitExpected waits until every call that is expected now has asked, or will not ask.
// When ctx ends first, it returns the cause of ctx. Conversation "" stands for all
// conversations.
func (t *Table) AwaitExpected(ctx context.Context, conversation string) error {
	var all []*expectation
	t.mu.Lock()
	for x := range t.expected {
		if conversation == "" || x.conversation == conversation {
			all = append(all, x)
		}
	}
	t.mu.Unlock()
	for _, x := range all {
		select {
		case <-x.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
