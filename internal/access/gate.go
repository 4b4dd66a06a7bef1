package access

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Refused is why a request is not let in.
type Refused struct {
	// Status is the HTTP status: 401, 403, 429 or 503.
	Status int
	Text   string
	// After is when it is worth another try, with 429; 0 is a second.
	After time.Duration
}

// Error returns the text.
func (r *Refused) Error() string { return r.Text }

func refuse(status int, text string) error { return &Refused{Status: status, Text: text} }

// The bounds of one caller, who may have many clients.
const (
	// MaxRequests is how many requests of a token may be open at a time; a stream is one.
	MaxRequests = 2000
	// perSecond and burst bound how many requests begin.
	perSecond, burst = 200, 1000
	// failuresPerSecond and failures bound how many requests without a valid token are looked at, of all callers together. Those with
	// one do not wait for them.
	failuresPerSecond, failures = 20, 100
)

// Gate lets requests in that come over TCP. It is safe for concurrent use.
type Gate struct {
	tokens   *Tokens
	project  string
	note     func(text string)
	sessions *sessions
	failed   *rate.Limiter

	mu      sync.Mutex
	told    string             // why the tokens could not be read, when it was told last
	callers map[string]*bounds // by token; "" is the links of the unix socket
}

type bounds struct {
	begun *rate.Limiter
	open  int
}

// NewGate returns a gate to the daemon of a project. note gets a sentence when the tokens cannot be read.
func NewGate(tokens *Tokens, project string, note func(text string)) *Gate {
	return &Gate{
		tokens: tokens, project: project, note: note, sessions: newSessions(),
		failed: rate.NewLimiter(failuresPerSecond, failures), callers: map[string]*bounds{},
	}
}

// Door is a way in over TCP.
type Door struct {
	Gate *Gate
	// Names reports whether a value of Host, with its port, is one of the server's.
	Names func(host string) bool
	// Secure: the connection has TLS.
	Secure bool
	// URL is where the door is, under one of its names, without a path.
	URL string
}

// Check checks that a request is meant for this server, and by no other page. It looks at no token.
func (d Door) Check(r *http.Request) error {
	if !d.Names(strings.ToLower(r.Host)) {
		return refuse(http.StatusForbidden, "this server has no name "+quoted(r.Host)+"; use one of its own, or give the name with grapnel serve --host")
	}
	own := d.Origin(r)
	if values, sent := r.Header["Origin"]; sent && (len(values) != 1 || !strings.EqualFold(values[0], own)) {
		return refuse(http.StatusForbidden, "the request comes from a page of another origin; this server's is "+own)
	}
	if values, sent := r.Header["Referer"]; sent {
		from, err := url.Parse(values[0])
		if err != nil || len(values) != 1 || !strings.EqualFold(from.Scheme+"://"+from.Host, own) {
			return refuse(http.StatusForbidden, "the request comes from a page of another origin; this server's is "+own)
		}
	}
	if values, sent := r.Header["Sec-Fetch-Site"]; sent && (len(values) != 1 || values[0] != "same-origin" && values[0] != "none") {
		return refuse(http.StatusForbidden, "the request comes from a page of another site; to open this address, paste it into a new tab")
	}
	return nil
}

// Origin returns the origin of the server's own pages, for a request that Check has passed.
func (d Door) Origin(r *http.Request) string {
	if d.Secure {
		return "https://" + strings.ToLower(r.Host)
	}
	return "http://" + strings.ToLower(r.Host)
}

// unreadable tells why nobody is let in, once for each reason.
func (g *Gate) unreadable(err error) {
	g.mu.Lock()
	told := g.told == err.Error()
	g.told = err.Error()
	g.mu.Unlock()
	if !told {
		g.note("nobody is let in over TCP: " + err.Error())
	}
}

func (g *Gate) readable() {
	g.mu.Lock()
	g.told = ""
	g.mu.Unlock()
}

// Caller returns who sends a request that Check has passed.
func (d Door) Caller(r *http.Request) (Caller, error) {
	c, err := d.caller(r)
	var refused *Refused
	switch {
	case err == nil:
		d.Gate.readable()
	case errors.As(err, &refused):
		return Caller{}, err
	case errors.Is(err, errUnreadable):
		d.Gate.unreadable(err)
		return Caller{}, refuse(http.StatusServiceUnavailable, errUnreadable.Error()+"; the log of the daemon says why")
	case !d.Gate.failed.Allow():
		return Caller{}, refuse(http.StatusTooManyRequests, "too many requests without a valid token; wait a while")
	default:
		return Caller{}, refuse(http.StatusUnauthorized, err.Error()+"; make one with `grapnel token create` and send it as Authorization: Bearer TOKEN")
	}
	if !c.Sees(d.Gate.project) {
		return Caller{}, refuse(http.StatusForbidden, "the token "+c.Name+" is not for the project of this daemon")
	}
	return c, nil
}

func (d Door) caller(r *http.Request) (Caller, error) {
	values, sent := r.Header["Authorization"]
	if sent {
		kind, text, _ := strings.Cut(values[0], " ")
		if len(values) != 1 || !strings.EqualFold(kind, "Bearer") {
			return Caller{}, errors.New("the header Authorization has no token")
		}
		return d.Gate.tokens.Caller(strings.TrimSpace(text))
	}
	cookie, err := r.Cookie(d.cookie())
	if err != nil {
		return Caller{}, errors.New("the request has no token")
	}
	// The browser adds the cookie by itself, so the page has to show that it is the server's own.
	if r.Method != http.MethodGet && r.Header.Get("Origin") == "" {
		return Caller{}, refuse(http.StatusForbidden, "a page that changes something has to say its origin")
	}
	c, ok := d.Gate.sessions.caller(cookie.Value)
	if !ok {
		return Caller{}, errors.New("the session of this page has ended")
	}
	if c.Token == "" {
		return c, nil
	}
	now, err := d.Gate.tokens.caller(c.Token) // it may have been revoked
	if err != nil {
		return Caller{}, err
	}
	now.Scopes, now.session = c.Scopes, c.session
	return now, nil
}

// cookie returns the name of the cookie. It has the port, because a browser sends the cookies of a host to all its ports: the page of another
// daemon there keeps its own. With TLS no other host and no page without TLS can set one of that name (RFC 6265bis, 4.1.3).
func (d Door) cookie() string {
	name := "grapnel"
	if u, err := url.Parse(d.URL); err == nil && u.Port() != "" {
		name += "-" + u.Port()
	}
	if d.Secure {
		return "__Host-" + name
	}
	return name
}

// Begin counts a request of a caller until done is called. An error says that there are too many.
func (g *Gate) Begin(c Caller) (done func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.callers[c.Token]
	if b == nil {
		b = &bounds{begun: rate.NewLimiter(perSecond, burst)}
		g.callers[c.Token] = b
	}
	if b.open >= MaxRequests || !b.begun.Allow() {
		return nil, refuse(http.StatusTooManyRequests, "too many requests at a time; wait a while")
	}
	b.open++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		b.open--
	}, nil
}

// Valid reports whether a caller who was let in may stay: a stream lasts longer than a token or a page may.
func (g *Gate) Valid(c Caller) bool {
	if c.session != "" && !g.sessions.lasts(c.session) {
		return false
	}
	return g.tokens.Valid(c)
}

// Link makes a code by which a page can be entered once, as a caller.
func (g *Gate) Link(c Caller) (code string, until time.Time, err error) { return g.sessions.link(c) }

// Enter uses a code and returns the cookie of the page.
func (d Door) Enter(code string) (*http.Cookie, error) {
	secret, until, err := d.Gate.sessions.enter(code)
	if err != nil {
		return nil, refuse(http.StatusForbidden, err.Error())
	}
	return d.sealed(secret, until), nil
}

// Leave ends the session of a page and returns the cookie that removes its own.
func (d Door) Leave(r *http.Request) *http.Cookie {
	if cookie, err := r.Cookie(d.cookie()); err == nil {
		d.Gate.sessions.leave(cookie.Value)
	}
	gone := d.sealed("", time.Unix(1, 0))
	gone.MaxAge = -1
	return gone
}

// sealed returns a cookie that no script reads and no other site sends.
func (d Door) sealed(value string, until time.Time) *http.Cookie {
	return &http.Cookie{Name: d.cookie(), Value: value, Path: "/", Expires: until, Secure: d.Secure, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// quoted cuts a text of a client and writes it so that it is one word.
func quoted(text string) string {
	if len(text) > 80 {
		text = text[:80]
	}
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r > '~' {
			return '?'
		}
		return r
	}, text) + `"`
}
