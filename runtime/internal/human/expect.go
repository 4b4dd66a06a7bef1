package human

import "context"

// expectation is a tool call that may ask for approval any moment.
type expectation struct {
	conversation, turn, call string
	// come is closed when the call has asked, or will not.
	come chan struct{}
}

// Expect announces that a call of a turn may ask for approval. The caller emits the
// event of it then, and calls over when the call will not ask any more.
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

// arriveLocked lets those go on who wait for what matches.
func (t *Table) arriveLocked(matches func(x *expectation) bool) {
	for x := range t.expected {
		if matches(x) {
			delete(t.expected, x)
			close(x.come)
		}
	}
}

// AwaitExpected waits until every call that is expected now has asked, or will not,
// or ctx ends, whose cause it then returns. Conversation "" is every one.
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
		case <-x.come:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
