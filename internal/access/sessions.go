package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// How long a link can be used, and a session lasts.
const (
	LinkTime    = 2 * time.Minute
	SessionTime = 12 * time.Hour
)

// How many links there may be at a time, and how many sessions: in all, of all tokens together, and of one token. The rest is for the user
// of the socket.
const (
	maxSessions         = 256
	maxSessionsOfTokens = 192
	maxSessionsOfOne    = 16
)

// sessions are the links that nobody has used yet, and the pages that were entered by one. They end with the daemon. Their secrets are
// kept as hashes.
type sessions struct {
	now func() time.Time

	mu     sync.Mutex
	links  map[string]entered
	active map[string]entered
}

// entered is who may enter, or has, and until when. The caller's session is that of the page that made the link.
type entered struct {
	caller Caller
	until  time.Time
}

func newSessions() *sessions {
	return &sessions{now: time.Now, links: map[string]entered{}, active: map[string]entered{}}
}

var errManySessions = errors.New("there are too many pages and links; wait until some have ended")

// link makes a code for one entrance.
func (s *sessions) link(c Caller) (code string, until time.Time, err error) {
	return s.add(s.links, c, LinkTime)
}

// enter uses a code and returns the secret of a session.
func (s *sessions) enter(code string) (secret string, until time.Time, err error) {
	s.mu.Lock()
	at := hashOf(code)
	e, ok := s.links[at]
	stands := s.stands(e)
	delete(s.links, at)
	s.mu.Unlock()
	if !ok || !stands {
		return "", time.Time{}, errors.New("this link was used already, or is too old; make another one with `grapnel token link`")
	}
	return s.add(s.active, e.caller, SessionTime)
}

func (s *sessions) add(to map[string]entered, c Caller, lasts time.Duration) (secret string, until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(to, func(_ string, e entered) bool { return !s.stands(e) })
	if err := room(to, c.Token); err != nil {
		return "", until, err
	}
	secret, until = rand.Text(), s.now().Add(lasts)
	to[hashOf(secret)] = entered{c, until}
	return secret, until, nil
}

// room returns an error if a token may have no more of them; "" is the user of the socket.
func room(of map[string]entered, token string) error {
	tokens, own := 0, 0
	for _, e := range of {
		if e.caller.Token != "" {
			tokens++
		}
		if e.caller.Token == token {
			own++
		}
	}
	switch {
	case token != "" && own >= maxSessionsOfOne:
		return fmt.Errorf("the token has %d pages or links, which is the limit; leave one, or wait until one has ended", own)
	case len(of) >= maxSessions, token != "" && tokens >= maxSessionsOfTokens:
		return errManySessions
	}
	return nil
}

// caller returns who has entered with a secret.
func (s *sessions) caller(secret string) (Caller, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := hashOf(secret)
	e, ok := s.active[at]
	ok = ok && s.stands(e)
	e.caller.session = at
	return e.caller, ok
}

// stands reports whether a link or session has not ended, nor the session of the page that made it, and so on.
func (s *sessions) stands(e entered) bool {
	for range maxSessions {
		if !s.now().Before(e.until) {
			return false
		}
		if e.caller.session == "" {
			return true
		}
		maker, ok := s.active[e.caller.session]
		if !ok {
			return false
		}
		e = maker
	}
	return false
}

// lasts reports whether a session has not ended.
func (s *sessions) lasts(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.active[session]
	return ok && s.stands(e)
}

// leave ends a session.
func (s *sessions) leave(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, hashOf(secret))
}
