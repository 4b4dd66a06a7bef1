package access

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/tenant"
)

// Token is what is kept of a token. The token itself is shown once, when it is made.
type Token struct {
	ID   string `json:"-"`
	Name string `json:"name"`
	// Hash is the SHA-256 of the secret, in hexadecimal digits. The secret is random, so nobody finds it by trying.
	Hash   string  `json:"hash"`
	Scopes []Scope `json:"scopes"`
	// Owner is whose tenant of each project the token is for; "" is that of the daemon's own user.
	Owner string `json:"owner,omitempty"`
	// Projects are directories; none is all projects.
	Projects []string  `json:"projects,omitempty"`
	Created  time.Time `json:"created"`
	// Expires and Revoked are zero if the token never ends, and if it was not revoked.
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// String returns the name of the token with its owner, for people.
func (t Token) String() string {
	if t.Owner == "" {
		return t.Name
	}
	return t.Name + " of " + t.Owner
}

// Store keeps tokens by their ids. Several processes may use it at the same time. It is safe for
// concurrent use.
type Store interface {
	// Find returns one token; false if there is none of that id. What another process has changed
	// counts within a second.
	Find(id string) (Token, bool, error)
	Read() (map[string]Token, error)
	// Change calls change with all tokens and keeps what that has left, or nothing after an error.
	Change(change func(all map[string]Token) error) error
}

// Tokens are the tokens of a user. It is safe for concurrent use.
type Tokens struct {
	store Store
	now   func() time.Time
}

// OpenTokens returns the tokens in a file, which need not be there yet.
func OpenTokens(path string) *Tokens {
	return NewTokens(&file{File: lockedfile.File[Token]{Path: path}})
}

// NewTokens returns the tokens in a store.
func NewTokens(store Store) *Tokens { return &Tokens{store: store, now: time.Now} }

// prefix begins every token, so that people and programs that look for secrets know one.
const prefix = "grapnel_"

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// Create makes a token and returns its text, which cannot be had again. An empty Scopes is an error.
func (t *Tokens) Create(token Token) (text string, err error) {
	if !nameForm.MatchString(token.Name) {
		return "", fmt.Errorf("the name %.70q: use 1 to 64 letters, digits, dots, dashes or _", token.Name)
	}
	if token.Owner != "" {
		if err := tenant.CheckOwner(token.Owner); err != nil {
			return "", err
		}
	}
	if len(token.Scopes) == 0 {
		return "", errors.New("a token without scopes can do nothing; name some of read, converse, approve, administer")
	}
	id, secret := strings.ToLower(rand.Text()[:10]), strings.ToLower(rand.Text())
	token.Created, token.Hash = t.now().UTC().Truncate(time.Second), hashOf(secret)
	err = t.store.Change(func(all map[string]Token) error {
		for _, other := range all {
			if other.Name == token.Name && other.why(t.now()) == "" {
				return fmt.Errorf("there is a token %s; choose another name, or revoke that one", token.Name)
			}
		}
		all[id] = token
		return nil
	})
	if err != nil {
		return "", err
	}
	return prefix + id + "_" + secret, nil
}

// List returns the tokens, the oldest first.
func (t *Tokens) List() ([]Token, error) {
	all, err := t.store.Read()
	if err != nil {
		return nil, err
	}
	out := make([]Token, 0, len(all))
	for id, token := range all {
		token.ID = id
		out = append(out, token)
	}
	slices.SortFunc(out, func(a, b Token) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Owners returns the owners of the tokens that have not ended and are for the project, sorted, without the daemon's own user.
func (t *Tokens) Owners(project string) (out []string, err error) {
	all, err := t.List()
	if err != nil {
		return nil, err
	}
	for _, token := range all {
		if token.Owner != "" && token.why(t.now()) == "" && (Caller{Projects: token.Projects}).Sees(project) {
			out = append(out, token.Owner)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Revoke ends a token by its id, or by its name if one that has not ended has it.
func (t *Tokens) Revoke(which string) (revoked Token, err error) {
	return revoked, t.store.Change(func(all map[string]Token) error {
		for id, token := range all {
			if id == which || token.Name == which && token.why(t.now()) == "" {
				token.Revoked = t.now().UTC().Truncate(time.Second)
				all[id] = token
				revoked, revoked.ID = token, id
				return nil
			}
		}
		return fmt.Errorf("there is no token %.80q; `grapnel token list` has the names and ids", which)
	})
}

// Caller returns whose token a text is. The error says in one line why it is none.
func (t *Tokens) Caller(text string) (Caller, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	id, secret, both := strings.Cut(rest, "_")
	if !ok || !both {
		return Caller{}, errUnknown
	}
	token, known, err := t.find(id)
	if err != nil {
		return Caller{}, err
	}
	if subtle.ConstantTimeCompare([]byte(token.Hash), []byte(hashOf(secret))) != 1 || !known {
		return Caller{}, errUnknown
	}
	return t.admit(id, token)
}

// Valid reports whether the token of a caller still counts. That of the unix socket's user, who has none, does.
func (t *Tokens) Valid(c Caller) bool {
	if c.Token == "" {
		return true
	}
	_, err := t.caller(c.Token)
	return err == nil
}

// caller returns the caller of a token that has not ended.
func (t *Tokens) caller(id string) (Caller, error) {
	token, known, err := t.find(id)
	if err != nil {
		return Caller{}, err
	}
	if !known {
		return Caller{}, errUnknown
	}
	return t.admit(id, token)
}

func (t *Tokens) admit(id string, token Token) (Caller, error) {
	if why := token.why(t.now()); why != "" {
		return Caller{}, errors.New("the token " + token.Name + " " + why)
	}
	return Caller{Token: id, Name: token.Name, Owner: token.Owner, Scopes: token.Scopes, Projects: token.Projects}, nil
}

var errUnknown = errors.New("the token is not one of this daemon's")

// why returns why the token has ended; "" if it has not.
func (t Token) why(now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "was revoked on " + t.Revoked.Format(time.DateTime) + " UTC"
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return "has expired on " + t.Expires.Format(time.DateTime) + " UTC"
	}
	return ""
}

// find returns a token as the store has it now.
func (t *Tokens) find(id string) (Token, bool, error) {
	token, known, err := t.store.Find(id)
	if err != nil {
		return Token{}, false, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return token, known, nil
}

// errUnreadable: the tokens cannot be read, so nobody is let in.
var errUnreadable = errors.New("the tokens cannot be read")

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
