package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Config says where a server is and how it is reached.
type Config struct {
	// Vendor is the name with which every error begins: "openai".
	Vendor string
	// Env is the prefix of the variables that errors name, such as OPENAI for
	// OPENAI_IDLE_TIMEOUT; "" names only options.
	Env string
	// BaseURL is http(s)://host[:port]/path.
	BaseURL string
	// Key is the API key; "" is none. KeyHeader carries it: "" is Authorization, with the
	// word Bearer. Any other header has the key alone.
	Key, KeyHeader string
	// Network is what the operator sets.
	Network provider.Network
}

// Server is where the adapter of one vendor sends its requests. It is immutable and safe
// for concurrent use.
type Server struct {
	c      Config
	base   *url.URL
	host   string
	header http.Header
	veil   veil
}

// NewServer returns the server; its errors wrap [provider.ErrOptions]. Even with an error the
// server is not nil, so that it can be named.
func NewServer(c Config) (*Server, error) {
	n := &c.Network
	n.FirstByteTimeout = cmp.Or(n.FirstByteTimeout, provider.DefaultFirstByteTimeout)
	n.IdleTimeout = cmp.Or(n.IdleTimeout, provider.DefaultIdleTimeout)
	n.MaxEvent = cmp.Or(n.MaxEvent, provider.DefaultMaxEvent)
	n.MaxStream = cmp.Or(n.MaxStream, provider.DefaultMaxStream)
	client := http.Client{}
	if n.Client != nil {
		client = *n.Client
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = stay
	}
	n.Client = &client
	s := &Server{c: c, host: "no server", veil: newVeil(c.Key, n.Header)}
	return s, errors.Join(s.setURL(), s.setHeader())
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Wrong returns an error of the options: provider.ErrOptions with the vendor's name.
func (s *Server) Wrong(format string, args ...any) error {
	return fmt.Errorf("%s: %w: "+format, append([]any{s.c.Vendor, provider.ErrOptions}, args...)...)
}

func (s *Server) setURL() error {
	u, err := url.Parse(s.c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		s.base = &url.URL{}
		return s.Wrong("the base URL is not http(s)://host[:port]/path; set %s", s.setting("BASE_URL", "BaseURL"))
	}
	s.veil = s.veil.over(u)
	s.base, s.host = u, u.Host
	return nil
}

func (s *Server) setHeader() error {
	s.header = http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"grapnel"},
	}
	switch {
	case s.c.Key == "":
	case s.c.KeyHeader == "":
		s.header.Set("Authorization", "Bearer "+s.c.Key)
	default:
		s.header.Set(s.c.KeyHeader, s.c.Key)
	}
	for name, values := range s.c.Network.Header {
		s.header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	for _, b := range []byte(s.c.Key) {
		if b <= ' ' || b > '~' {
			return s.Wrong("the API key holds a blank or another character that no key has")
		}
	}
	return nil
}

// With returns a server whose requests have another value of the header, which is no secret.
func (s *Server) With(header, value string) *Server {
	with := *s
	with.header = s.header.Clone()
	with.header.Set(header, value)
	return &with
}

// URL returns the address of a path below the base URL, with the query of the base URL.
func (s *Server) URL(path ...string) string { return s.base.JoinPath(path...).String() }

// Host returns the server's host and port; "no server" if the base URL is wrong.
func (s *Server) Host() string { return s.host }

// Hostname returns the host without the port.
func (s *Server) Hostname() string { return s.base.Hostname() }

// String names the vendor and the host and shows no key.
func (s *Server) String() string { return s.c.Vendor + "(" + s.host + ")" }

// GoString is String: the %#v of a struct would show the key.
func (s *Server) GoString() string { return s.String() }

// Format writes String for every verb.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// Refuse returns an error of a request that is wrong before it is sent: class
// FailureRequest, with the vendor's name.
func (s *Server) Refuse(format string, args ...any) error {
	return faulty(message.FailureRequest, fmt.Errorf(s.c.Vendor+": "+format, args...))
}

// faulty gives an error of our own its class.
func faulty(class message.FailureClass, err error) error {
	return &provider.Error{Class: class, Err: err}
}

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value string // JSON
}

// MembersOf returns the members of a JSON object of further parameters, sorted by name; it
// refuses text that is no object.
func MembersOf(extra message.JSON) ([]Member, error) {
	if extra == "" {
		return nil, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(extra), &members); err != nil || members == nil {
		if err == nil {
			err = errors.New("null")
		}
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	var all []Member
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all = append(all, Member{name, string(members[name])})
	}
	return all, nil
}

// Members returns the members of a JSON object of further parameters, as they are written
// behind others: `,"top_k":40`. It refuses text that is no object and members for which
// reserved is true.
func Members(extra message.JSON, reserved func(string) bool) (string, error) {
	all, err := MembersOf(extra)
	var b []byte
	for _, m := range all {
		if reserved(m.Name) {
			return "", fmt.Errorf("it may not set %q", m.Name)
		}
		b = append(append(quote.Append(append(b, ','), m.Name), ':'), m.Value...)
	}
	return string(b), err
}
