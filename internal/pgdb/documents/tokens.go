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
	// again is how soon an unknown token is looked for again: it may have been made meanwhile. Whoever
	// tries tokens makes no more queries than that.
	again = 50 * time.Millisecond
)

// TokenSet keeps the tokens of package access. It asks the database once a second, however many
// requests there are. Make one with NewTokens.
type TokenSet struct {
	Set[access.Token]

	mu    sync.Mutex
	known map[string]access.Token
	at    time.Time // when known was read
}

var _ access.Store = (*TokenSet)(nil)

// NewTokens returns the tokens of the database.
func NewTokens(db *pgdb.DB) *TokenSet {
	return &TokenSet{Set: Set[access.Token]{DB: db, Kind: Tokens}}
}

// Find implements [access.Store].
func (t *TokenSet) Find(id string) (access.Token, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, found := t.known[id]
	if age := time.Since(t.at); age < again || found && age < Stale {
		return token, found, nil
	}
	began := time.Now()
	known, err := t.Read()
	if err != nil {
		return access.Token{}, false, err
	}
	t.known, t.at = known, began
	token, found = known[id]
	return token, found, nil
}

// Change implements [access.Store].
func (t *TokenSet) Change(change func(all map[string]access.Token) error) error {
	err := t.Set.Change(change)
	t.mu.Lock()
	t.at = time.Time{}
	t.mu.Unlock()
	return err
}
