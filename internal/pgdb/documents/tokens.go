package documents

import (
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/pgdb"
)

const (
	// Stale is how long a token that another daemon has revoked may still be let in.
	Stale = time.Second
	// again is how soon after a read an unknown token causes another one: it may have been made meanwhile.
	again = 50 * time.Millisecond
)

// TokenSet keeps the tokens of package access. It asks the database once a second, and up to 20 times if somebody tries unknown tokens,
// however many requests there are: those that need a read share it, and the others do not wait for it. Make one with NewTokens.
type TokenSet struct {
	Set[access.Token]

	mu      sync.Mutex // not held while the database is asked
	last    *reading   // the last one without an error
	current *reading   // nil if nobody asks
}

// reading is one read of all tokens. What stands below done is set when that is closed.
type reading struct {
	began time.Time
	done  chan struct{}
	ended time.Time
	known map[string]access.Token
	err   error
}

var _ access.Store = (*TokenSet)(nil)

// NewTokens returns the tokens of the database.
func NewTokens(db *pgdb.DB) *TokenSet {
	return &TokenSet{Set: Set[access.Token]{DB: db, Kind: Tokens}, last: &reading{}}
}

// Find implements [access.Store].
func (t *TokenSet) Find(id string) (access.Token, bool, error) {
	for now := time.Now(); ; {
		r, begin := t.reading(id, now)
		if begin {
			t.read(r)
		}
		<-r.done
		if now.Sub(r.began) < Stale { // else it began too long before this call
			token, found := r.known[id]
			return token, found, r.err
		}
	}
}

// reading returns the read that says whether there is a token, at that time. The caller begins it if begin is true.
func (t *TokenSet) reading(id string, now time.Time) (_ *reading, begin bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, found := t.last.known[id]
	switch {
	case now.Sub(t.last.began) < Stale && (found || now.Sub(t.last.ended) < again):
		return t.last, false
	case t.current != nil:
		return t.current, false
	}
	t.current = &reading{began: time.Now(), done: make(chan struct{})}
	return t.current, true
}

func (t *TokenSet) read(r *reading) {
	r.known, r.err = t.Read()
	r.ended = time.Now()
	close(r.done)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == r {
		t.current = nil
	}
	if r.err == nil && r.began.After(t.last.began) {
		t.last = r
	}
}

// Change implements [access.Store].
func (t *TokenSet) Change(change func(all map[string]access.Token) error) error {
	err := t.Set.Change(change)
	t.mu.Lock()
	t.last, t.current = &reading{began: time.Now()}, nil // what was read before counts no more
	t.mu.Unlock()
	return err
}
