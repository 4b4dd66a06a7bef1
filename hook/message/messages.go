package message

import (
	"encoding/json"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"
	"weak"
)

// Messages is a read-only sequence of messages, like a List[Message], for histories. It
// keeps them in pieces that never move, so that a sequence and its continuations share
// their common messages, and a message takes little more memory than its content.
//
// The zero Messages is empty. Copying one copies two words and shares the messages.
// It is safe for concurrent use.
type Messages struct {
	_        [0]func() // forbids ==, which would compare addresses
	p        *pieces
	from, to int32
}

// pieces is the storage that sequences with the same beginning share. A slot that a
// sequence contains never changes.
type pieces struct {
	// used is the number of taken slots. An Append takes its slots by compare-and-swap
	// and fills them before it returns the sequence that contains them. So only one
	// Append at a time writes slots and more.
	used  atomic.Int32
	first [2]slot
	// more has the messages after the first two; nil if there are none.
	more atomic.Pointer[further]
}

// further holds the messages after the first two.
type further struct {
	// pieces double in length from 4 to longest.
	pieces [][]slot
	// heads is spare capacity for heads of later messages. Only an Append uses it.
	heads []head
}

const (
	// doublings is the number of pieces up to the first of the longest ones.
	doublings = 5
	longest   = 2 << doublings
	// doubled is the index of the first message in the first longest piece.
	doubled = longest - 2
	// manyHeads bounds the number of heads that one allocation makes.
	manyHeads = 32
)

// slot is one message.
type slot struct {
	content List[Block]
	// head has all other fields. It is nil for a plain user message and shared by plain
	// assistant messages.
	head *head
	// bytes is the sum over this message and all before it.
	bytes int64
	// external and workspace are the newest messages of that origin up to this one, counted
	// from 1; 0 is none.
	external, workspace int32
}

type head struct {
	role         Role
	callID, tool string
	result       ToolResult
	label, from  string
	trust        Trust
	partial      bool
	ephemeral    bool
}

// assistant is the head of a plain message of an assistant.
var assistant = &head{role: RoleAssistant}

// MessagesOf returns the sequence of the messages, which it copies.
func MessagesOf(ms ...Message) Messages { return Messages{}.Append(ms...) }

// Len returns the number of messages.
func (l Messages) Len() int { return int(l.to - l.from) }

// IsZero reports whether the sequence is empty; it makes omitzero work.
func (l Messages) IsZero() bool { return l.to == l.from }

// Bytes is the length of the texts and arguments in the messages, those of tool results
// included. Media count as much text as has about as many tokens for a model. It takes
// constant time.
func (l Messages) Bytes() int64 {
	if l.IsZero() {
		return 0
	}
	return l.p.bytes(int(l.to)) - l.p.bytes(int(l.from))
}

// Origin returns the weakest [Message.Origin] of the messages; without any it is TrustTrusted.
// It takes constant time.
func (l Messages) Origin() Trust {
	if l.IsZero() {
		return TrustTrusted
	}
	switch last := l.p.slot(int(l.to) - 1); {
	case last.external > l.from:
		return TrustExternal
	case last.workspace > l.from:
		return TrustWorkspace
	}
	return TrustTrusted
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

// Append returns the sequence of l's messages and ms; l stays as it is. The first Append
// to a sequence works in place. Each further one copies up to 64 messages.
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

// Fork returns the same messages with storage of their own after them: an Append to the
// fork does not make a later Append to l copy. It copies up to 64 messages.
func (l Messages) Fork() Messages {
	if l.p != nil {
		l.p = l.p.fork(int(l.to))
		l.p.used.Store(l.to)
	}
	return l
}

// Shared returns how many of the first messages l and other have in one storage. It compares no
// texts, so it may return fewer than are equal. It takes logarithmic time.
func (l Messages) Shared(other Messages) int {
	to := min(l.to, other.to)
	if l.from != other.from || to <= l.from {
		return 0
	}
	if l.p == other.p {
		return int(to - l.from)
	}
	a, b := l.p.more.Load(), other.p.more.Load()
	if a == nil || b == nil {
		return 0
	}
	// Forks share the full pieces before their own, so pieces differ from the first one on that differs.
	n := sort.Search(min(len(a.pieces), len(b.pieces)), func(i int) bool { return &a.pieces[i][0] != &b.pieces[i][0] })
	if n == 0 {
		return 0
	}
	return max(0, int(min(to, begin(n))-l.from))
}

// Mark remembers a sequence without keeping its messages in memory.
type Mark struct {
	p        weak.Pointer[pieces]
	from, to int32
}

// Mark returns a mark of the sequence.
func (l Messages) Mark() Mark { return Mark{weak.Make(l.p), l.from, l.to} }

// Messages returns the marked sequence, or an empty one if nobody else has kept it.
func (m Mark) Messages() Messages {
	p := m.p.Value()
	if p == nil {
		return Messages{}
	}
	return Messages{p: p, from: m.from, to: m.to}
}

// Join returns the sequence of l's messages and those of tail. It copies nothing if l is
// empty, or if l and tail are adjacent parts of one sequence.
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

// taken takes the n slots after l for the caller, in a fork if they are taken already.
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

// fork returns a copy with the first n messages. It shares full pieces.
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

// place returns the piece of message i, not one of the first two, and its index there.
func place(i int) (piece, at int) {
	if i >= doubled {
		return doublings - 1 + (i-doubled)/longest, (i - doubled) % longest
	}
	k := bits.Len(uint(i+2)) - 1 // pieces begin at 2, 6, 14 …: two less than a power of two
	return k - 2, i + 2 - 1<<k
}

// begin returns the index of the first message in a piece.
func begin(piece int) int32 {
	n := min(piece, doublings-1)
	return int32(4<<n - 2 + (piece-n)*longest)
}

func (p *pieces) slot(i int) *slot {
	if i < len(p.first) {
		return &p.first[i]
	}
	piece, at := place(i)
	return &p.more.Load().pieces[piece][at]
}

// put fills slot i, which the caller has taken. It allocates the piece if i is its first.
func (p *pieces) put(i int, m *Message) {
	f := p.more.Load()
	if i >= len(p.first) {
		if piece, _ := place(i); f == nil || piece == len(f.pieces) {
			f = f.with(make([]slot, 4<<min(piece, doublings-1)))
			p.more.Store(f)
		}
	}
	s := slot{content: m.Content, head: f.headOf(m), bytes: bytesOf(m.Content) + bytesOf(m.Result.Content)}
	if i > 0 {
		before := p.slot(i - 1)
		s.bytes, s.external, s.workspace = s.bytes+before.bytes, before.external, before.workspace
	}
	switch m.Origin() {
	case TrustExternal:
		s.external = int32(i) + 1
	case TrustWorkspace:
		s.workspace = int32(i) + 1
	}
	*p.slot(i) = s
}

func (p *pieces) bytes(n int) int64 {
	if n == 0 {
		return 0
	}
	return p.slot(n - 1).bytes
}

func bytesOf(blocks List[Block]) (n int64) {
	for i := range blocks.s {
		b := &blocks.s[i]
		n += int64(len(b.Text)+len(b.JSON)+len(b.URI)+len(b.Tool)) + b.dataBytes()
	}
	return n
}

// A model reads an image as at most some 1,600 tokens, as which a file counts of which only the address is here, and a document or audio as far
// fewer tokens than its bytes: these are the bytes of text with as many.
const (
	imageBytes = 6400
	mediaShare = 16 // a page of a PDF has some 30 kB, and is read as some 2 kB of text
)

// dataBytes returns for how many bytes of text the data of the block counts.
func (b *Block) dataBytes() int64 {
	size := int64(len(b.Data))
	if size == 0 && b.URI != "" {
		return imageBytes
	}
	switch b.Kind {
	case BlockImage:
		return min(size, imageBytes)
	case BlockAudio, BlockDocument:
		return min(size, max(size/mediaShare, imageBytes))
	}
	return size
}

// with returns f with one more piece. Concurrent readers of f are safe.
func (f *further) with(piece []slot) *further {
	if f == nil {
		return &further{pieces: [][]slot{piece}}
	}
	return &further{pieces: append(f.pieces, piece), heads: f.heads}
}

func (f *further) headOf(m *Message) *head {
	if m.CallID == "" && m.Tool == "" && m.Label == "" && m.Trust == "" && m.From == "" && !m.Partial && !m.Ephemeral && m.Result.IsZero() {
		switch m.Role {
		case RoleUser:
			return nil
		case RoleAssistant:
			return assistant
		}
	}
	h := f.newHead()
	*h = head{
		role: m.Role, callID: m.CallID, tool: m.Tool, result: m.Result, label: m.Label, trust: m.Trust, from: m.From,
		partial: m.Partial, ephemeral: m.Ephemeral,
	}
	return h
}

// newHead allocates heads in batches: the history of an agent that calls tools has many.
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
		Label: h.label, Trust: h.trust, From: h.from, Partial: h.partial, Ephemeral: h.ephemeral,
	}
}
