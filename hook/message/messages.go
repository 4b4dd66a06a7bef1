package message

import (
	"encoding/json"
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Messages is a read-only sequence of messages, as a List[Message] is: nobody who
// holds one can change it for another holder. It is made for histories. They are
// kept in pieces that never move, so that a list and one that goes on behind it
// share what they have in common, and a message takes little more than its content.
//
// The zero Messages is empty. Copying one copies two words and shares the messages.
// It is safe for concurrent use.
type Messages struct {
	_        [0]func() // == would compare where the messages are, not what they say
	p        *pieces
	from, to int32
}

// pieces are what lists with the same beginning share. A slot that a list can see
// never changes again.
type pieces struct {
	// used is how many slots are taken. Who takes them fills them, and touches more,
	// before anybody sees a list that has them. So all takers come one after another.
	used  atomic.Int32
	first [2]slot
	// more is what does not fit there; nil if everything does.
	more atomic.Pointer[further]
}

// further is behind the first two messages.
type further struct {
	// pieces double in length from 4 to longest.
	pieces [][]slot
	// heads are room for those of messages to come. Only who takes slots looks at it.
	heads []head
}

const (
	// doublings is how often a piece is twice as long as the one in front of it.
	doublings = 5
	longest   = 2 << doublings
	// doubled is where the first of the longest pieces begins.
	doubled = longest - 2
	// manyHeads is how many heads are made at once, at most.
	manyHeads = 32
)

// slot is one message.
type slot struct {
	content List[Block]
	// head is all the rest; nil for a user's message without any, and plain for one
	// of an assistant.
	head *head
	// bytes are those of this message and of all in front of it.
	bytes int64
}

type head struct {
	role         Role
	callID, tool string
	result       ToolResult
	label, from  string
	partial      bool
	ephemeral    bool
}

// assistant is the head of a plain message of an assistant.
var assistant = &head{role: RoleAssistant}

// MessagesOf returns the sequence of the messages, which it copies.
func MessagesOf(ms ...Message) Messages { return Messages{}.Append(ms...) }

// Len returns the number of messages.
func (l Messages) Len() int { return int(l.to - l.from) }

// IsZero reports whether there are none; it makes omitzero work.
func (l Messages) IsZero() bool { return l.to == l.from }

// Bytes is the length of the texts, arguments and data in the messages, those of tool
// results too. It takes the same time however many messages there are.
func (l Messages) Bytes() int64 {
	if l.IsZero() {
		return 0
	}
	return l.p.bytes(int(l.to)) - l.p.bytes(int(l.from))
}

// At returns message i; it panics if i is out of range. It does not allocate.
func (l Messages) At(i int) Message {
	if i < 0 || i >= l.Len() {
		panic("hook: Messages.At: no such message")
	}
	return l.p.slot(int(l.from) + i).message()
}

// All yields index and message, in order. It does not allocate.
func (l Messages) All() iter.Seq2[int, Message] {
	return func(yield func(int, Message) bool) {
		for i := l.from; i < l.to; i++ {
			if !yield(int(i-l.from), l.p.slot(int(i)).message()) {
				return
			}
		}
	}
}

// Slice returns a copy of the messages that the caller owns.
func (l Messages) Slice() []Message {
	out := make([]Message, 0, l.Len())
	for _, m := range l.All() {
		out = append(out, m)
	}
	return out
}

// From returns the messages from index i on, without copying; it panics if i is out
// of range.
func (l Messages) From(i int) Messages {
	if i < 0 || i > l.Len() {
		panic("hook: Messages.From: no such message")
	}
	l.from += int32(i)
	return l
}

// First returns the first n messages, without copying; it panics if there are fewer.
func (l Messages) First(n int) Messages {
	if n < 0 || n > l.Len() {
		panic("hook: Messages.First: there are not so many messages")
	}
	l.to = l.from + int32(n)
	return l
}

// Append returns the sequence of l's messages and the others; l stays as it is. What
// was appended to last is gone on with in place; where something else stands behind
// l already the cost is that of copying up to 64 messages.
func (l Messages) Append(ms ...Message) Messages {
	if len(ms) == 0 {
		return l
	}
	l = l.taken(len(ms))
	for i := range ms {
		l.p.put(int(l.to)+i, &ms[i])
	}
	l.to += int32(len(ms))
	return l
}

// Fork returns the same messages, but with room of its own behind them: to append to
// it takes l no place. The cost is that of copying up to 64 messages.
func (l Messages) Fork() Messages {
	if l.p != nil {
		l.p = l.p.fork(int(l.to))
		l.p.used.Store(l.to)
	}
	return l
}

// Join returns the sequence of l's messages and those of tail. If tail is the rest of
// a list whose beginning is l, or l is empty, nothing is copied.
func (l Messages) Join(tail Messages) Messages {
	switch {
	case tail.Len() == 0:
		return l
	case l.Len() == 0:
		return tail
	case l.p == tail.p && l.to == tail.from:
		l.to = tail.to
		return l
	}
	return l.Append(tail.Slice()...)
}

// MarshalJSON writes a JSON array, [] for an empty sequence.
func (l Messages) MarshalJSON() ([]byte, error) { return json.Marshal(l.Slice()) }

// taken returns l with room for n messages behind it that is the caller's.
func (l Messages) taken(n int) Messages {
	if l.p == nil {
		l.p = &pieces{}
	}
	if !l.p.used.CompareAndSwap(l.to, l.to+int32(n)) {
		l = l.Fork()
		l.p.used.Store(l.to + int32(n))
	}
	return l
}

// fork returns other pieces with the first n messages. Full pieces are shared.
func (p *pieces) fork(n int) *pieces {
	out := &pieces{}
	if n <= len(p.first) {
		copy(out.first[:n], p.first[:n])
		return out
	}
	out.first = p.first
	last, at := place(n - 1)
	f := &further{pieces: slices.Clone(p.more.Load().pieces[:last+1])}
	if partial := f.pieces[last]; at+1 < len(partial) {
		f.pieces[last] = make([]slot, len(partial))
		copy(f.pieces[last], partial[:at+1])
	}
	out.more.Store(f)
	return out
}

// place returns the piece of the message behind the first ones, and its slot there.
func place(i int) (piece, at int) {
	if i >= doubled {
		return doublings - 1 + (i-doubled)/longest, (i - doubled) % longest
	}
	k := bits.Len(uint(i+2)) - 1 // pieces begin at 2, 6, 14 …: two less than a power of two
	return k - 2, i + 2 - 1<<k
}

func (p *pieces) slot(i int) *slot {
	if i < len(p.first) {
		return &p.first[i]
	}
	piece, at := place(i)
	return &p.more.Load().pieces[piece][at]
}

// put fills the slot i, which the caller has taken, and makes its piece if it is the
// first one there.
func (p *pieces) put(i int, m *Message) {
	f := p.more.Load()
	if i >= len(p.first) {
		if piece, _ := place(i); f == nil || piece == len(f.pieces) {
			f = f.with(make([]slot, 4<<min(piece, doublings-1)))
			p.more.Store(f)
		}
	}
	*p.slot(i) = slot{content: m.Content, head: f.headOf(m), bytes: p.bytes(i) + bytesOf(m.Content) + bytesOf(m.Result.Content)}
}

// bytes returns the bytes of the first n messages.
func (p *pieces) bytes(n int) int64 {
	if n == 0 {
		return 0
	}
	return p.slot(n - 1).bytes
}

func bytesOf(blocks List[Block]) (n int64) {
	for i := range blocks.s {
		b := &blocks.s[i]
		n += int64(len(b.Text) + len(b.JSON) + len(b.Data) + len(b.URI) + len(b.Tool))
	}
	return n
}

// with returns f with one more piece. Who reads f meanwhile is not disturbed.
func (f *further) with(piece []slot) *further {
	if f == nil {
		return &further{pieces: [][]slot{piece}}
	}
	return &further{pieces: append(f.pieces, piece), heads: f.heads}
}

// headOf returns the message without its content.
func (f *further) headOf(m *Message) *head {
	if m.CallID == "" && m.Tool == "" && m.Label == "" && m.From == "" && !m.Partial && !m.Ephemeral && m.Result.IsZero() {
		switch m.Role {
		case RoleUser:
			return nil
		case RoleAssistant:
			return assistant
		}
	}
	h := f.newHead()
	*h = head{
		role: m.Role, callID: m.CallID, tool: m.Tool, result: m.Result, label: m.Label, from: m.From,
		partial: m.Partial, ephemeral: m.Ephemeral,
	}
	return h
}

// newHead returns one of several that are made at once: a history whose agent calls
// tools has many.
func (f *further) newHead() *head {
	if f == nil {
		return &head{}
	}
	if len(f.heads) == cap(f.heads) {
		f.heads = make([]head, 0, min(max(1, 2*cap(f.heads)), manyHeads))
	}
	f.heads = f.heads[:len(f.heads)+1]
	return &f.heads[len(f.heads)-1]
}

func (s *slot) message() Message {
	h := s.head
	if h == nil {
		return Message{Role: RoleUser, Content: s.content}
	}
	return Message{
		Role: h.role, Content: s.content, CallID: h.callID, Tool: h.tool, Result: h.result,
		Label: h.label, From: h.from, Partial: h.partial, Ephemeral: h.ephemeral,
	}
}
