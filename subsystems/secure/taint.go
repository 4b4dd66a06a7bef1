package secure

import (
	"hash/maphash"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sensitive"
)

// detector finds secrets, and the personal data that are worth stealing by themselves.
var detector = sync.OnceValue(func() *sensitive.Detector {
	return sensitive.New(&sensitive.Options{Personal: true, Without: []string{"email", "phone-number", "ip-address", "mac-address"}})
})

// The sizes of fingerprints, in letters and digits.
const (
	// window is what of a value in one piece gives it away.
	window = 8
	// shortest is the shortest value that is kept.
	shortest = 6
	// piece is what is counted of values that are sent bit by bit.
	piece = 4
	// most of a value that is kept.
	most = 8192
)

// The limits of what a conversation keeps, and of what is looked at.
const (
	maxValues = 2000
	maxLinks  = 40_000
	// maxPieces bounds the texts in which pieces are counted: a long one has most pieces of anything by chance.
	maxPieces = 20_000
)

// taint is what a conversation knows of secrets: fingerprints under a key of this process, and never the values. It is safe for
// concurrent use.
type taint struct {
	load sync.Once

	mu   sync.Mutex
	seed maphash.Seed
	// said is what people have said.
	said said
	// windows has the secrets by the fingerprints of their windows. whole has those that are shorter, and numbers, of which many have
	// a part in common, by their length.
	windows map[uint64]int
	whole   map[int]map[uint64]int
	values  []value
	// links are fingerprints of addresses that somebody has written.
	links map[uint64]bool
	// noted has, by conversation, the messages that the model was last given. It keeps no text in memory.
	noted map[string]message.Mark
}

// value is one secret.
type value struct {
	kind  string
	class sensitive.Class
	print uint64
	// pieces are the fingerprints of its pieces, and sent those that calls have had.
	pieces []uint64
	sent   []bool
}

// left is how many characters of the value have left with calls.
func (v *value) left() (n int) {
	end := 0
	for i, sent := range v.sent {
		if sent {
			n += i + piece - max(end, i)
			end = i + piece
		}
	}
	return n
}

func newTaint() *taint {
	return &taint{seed: maphash.MakeSeed(), windows: map[uint64]int{}, whole: map[int]map[uint64]int{}, links: map[uint64]bool{}, noted: map[string]message.Mark{}}
}

// normal returns the letters and digits of a text in small letters: what is left however it is written.
func normal(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII && ('a' <= r && r <= 'z' || '0' <= r && r <= '9'):
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 0xFF01 && r <= 0xFF5E: // the wide forms of ASCII
			return unicode.ToLower(r - 0xFEE0)
		case r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// say keeps what a person has said.
func (t *taint) say(text string) {
	if text == "" {
		return
	}
	t.mu.Lock()
	t.said = t.said.with(text)
	t.mu.Unlock()
}

// words returns what people have said; hosts are as good as said.
func (t *taint) words(hosts []string) said {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.said
	s.hosts = hosts
	return s
}

// noteMessage keeps what a message of the history says.
func (t *taint) noteMessage(m *message.Message) {
	if m.Role == message.RoleUser {
		for _, b := range m.Content.All() {
			t.note(b.Text)
		}
	}
	if m.Role == message.RoleTool {
		t.noteResult(m.Result)
	}
}

// maxNoted bounds the conversations of which taint remembers the last request: agents that work for others have their own.
const maxNoted = 16

// noteRequest keeps what hooks have added to a request, and skills. Of the messages that the last request of the conversation had too it
// knows already.
func (t *taint) noteRequest(conversation string, all message.Messages) {
	t.mu.Lock()
	known := all.Shared(t.noted[conversation].Messages())
	t.mu.Unlock()
	for _, m := range all.From(known).All() {
		if m.Ephemeral || m.Label != "" {
			t.noteMessage(&m)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.noted[conversation]; !ok && len(t.noted) >= maxNoted {
		clear(t.noted)
	}
	t.noted[conversation] = all.Mark()
}

func (t *taint) noteResult(r message.ToolResult) {
	for _, b := range r.Content.All() {
		t.note(b.Text)
		if b.JSON != "" {
			t.note(string(b.JSON)) // with the names of its members
			for _, text := range stringsOf(b.JSON) {
				t.note(text)
			}
		}
	}
}

// note keeps the fingerprints of the secrets in a text, also of those that it has encoded, and of its links.
func (t *taint) note(text string) {
	if text == "" {
		return
	}
	type found struct {
		sensitive.Finding
		text string
	}
	var all []found
	for _, v := range append(decoded(text), text) {
		for _, f := range detector().Find(v) {
			all = append(all, found{f, v[f.Start:f.End]})
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range all {
		t.add(f.Kind, f.Class, f.text)
	}
	for _, form := range []*regexp.Regexp{linkForm, placeForm} {
		for _, at := range form.FindAllStringIndex(text, -1) {
			if len(t.links) < maxLinks {
				t.links[maphash.String(t.seed, text[at[0]:at[1]])] = true
			}
		}
	}
}

// add keeps a value. It needs mu.
func (t *taint) add(kind string, class sensitive.Class, text string) {
	var sb strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "-----") { // the first and the last line of a key say nothing
			sb.WriteString(line)
		}
	}
	secret := sb.String()
	if _, rest, ok := strings.Cut(secret, "."); ok && kind == "jwt" {
		secret = rest // the header of all of them is the same
	}
	n := normal(secret)
	n = n[:min(len(n), most)]
	digits := strings.ContainsAny(n, "0123456789")
	print := maphash.String(t.seed, n)
	if len(n) < shortest || len(t.values) >= maxValues || slices.ContainsFunc(t.values, func(v value) bool { return v.print == print }) {
		return
	}
	at := len(t.values)
	v := value{kind: kind, class: class, print: print}
	if class == sensitive.Personal || len(n) < window {
		t.values = append(t.values, v)
		if t.whole[len(n)] == nil {
			t.whole[len(n)] = map[uint64]int{}
		}
		t.whole[len(n)][print] = at
		return
	}
	for i := 0; i+piece <= len(n); i++ {
		v.pieces = append(v.pieces, maphash.String(t.seed, n[i:i+piece]))
	}
	v.sent = make([]bool, len(v.pieces))
	t.values = append(t.values, v)
	for i := 0; i+window <= len(n); i++ {
		if w := n[i : i+window]; !digits || strings.ContainsAny(w, "0123456789") { // without a digit it may be a word, such as the beginning of a form
			t.windows[maphash.String(t.seed, w)] = at
		}
	}
}

// carried are the kinds of values that texts carry.
type carried struct{ secrets, personal []string }

func (c *carried) add(v *value) {
	to := &c.secrets
	if v.class == sensitive.Personal {
		to = &c.personal
	}
	if !slices.Contains(*to, v.kind) {
		*to = append(*to, v.kind)
	}
}

// carries returns what the texts of one call carry, in one piece or together with earlier calls. Personal data that the user has
// written, which words has, do not count.
//
// counts says that the texts leave, so that later ones are looked at together with them.
func (t *taint) carries(texts []string, words said, counts bool) (out carried) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.values) == 0 {
		return out
	}
	if len(t.values) >= maxValues { // what came after them is not known
		out.secrets = []string{"one of too many to tell"}
		return out
	}
	hits := map[int]bool{}
	for i, v := range append([]string{strings.Join(texts, ""), strings.Join(texts, " ")}, variants(texts)...) {
		n := normal(v)
		for _, form := range []string{n, reversed(n), rotated(n)} {
			t.whereIn(form, hits)
		}
		if counts && i < maxCounted {
			t.count(n, hits)
		}
	}
	var user map[int]bool // few calls carry a number, and what people have said may be long
	for i := range hits {
		v := &t.values[i]
		if v.class == sensitive.Personal && user == nil {
			user = map[int]bool{}
			t.whereIn(normal(words.text()), user)
		}
		if v.class != sensitive.Personal || !user[i] {
			out.add(v)
		}
	}
	slices.Sort(out.secrets)
	slices.Sort(out.personal)
	return out
}

// whereIn adds the values of which a normal text has a window. It needs mu.
func (t *taint) whereIn(n string, hits map[int]bool) {
	for i := 0; i+shortest <= len(n); i++ {
		if i+window <= len(n) {
			if at, ok := t.windows[maphash.String(t.seed, n[i:i+window])]; ok {
				hits[at] = true
			}
		}
		for size, values := range t.whole {
			if i+size <= len(n) {
				if at, ok := values[maphash.String(t.seed, n[i:i+size])]; ok {
					hits[at] = true
				}
			}
		}
	}
}

// maxCounted is how many variants of a call are looked through for pieces: the texts as they are come first.
const maxCounted = 12

// count notes which pieces of values a normal text has, and adds the values of which it brings the rest. It needs mu.
func (t *taint) count(n string, hits map[int]bool) {
	if len(n) > maxPieces {
		return
	}
	have := make(map[uint64]bool, len(n))
	for i := 0; i+piece <= len(n); i++ {
		have[maphash.String(t.seed, n[i:i+piece])] = true
	}
	for i := range t.values {
		v, more := &t.values[i], false
		for j, p := range v.pieces {
			if have[p] && !v.sent[j] {
				v.sent[j], more = true, true
			}
		}
		if size := len(v.sent) + piece - 1; more && size >= 2*window && 10*v.left() >= 7*size {
			hits[i] = true
		}
	}
}

// mask puts a marker in the place of each word of the text that has a part of a value.
func (t *taint) mask(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.values) == 0 {
		return text
	}
	return wordForm.ReplaceAllStringFunc(text, func(word string) string {
		hits := map[int]bool{}
		t.whereIn(normal(word), hits)
		for i := range hits {
			v := &t.values[i]
			return sensitive.Finding{Class: v.class, Kind: v.kind}.Marker()
		}
		return word
	})
}

// seen reports whether somebody has written the address before.
func (t *taint) seen(link string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.links[maphash.String(t.seed, link)]
}

// tainted reports whether anything is known.
func (t *taint) tainted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.values) > 0
}
