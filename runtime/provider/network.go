package provider

import (
	"errors"
	"net/http"
	"time"
)

// Sentinels of adapters that callers test with errors.Is.
var (
	// ErrTimeout: the server sent nothing for longer than Network allows.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrOptions: the options of an adapter are wrong; no request was made.
	ErrOptions = errors.New("wrong options")
)

// Defaults of Network.
const (
	DefaultFirstByteTimeout = 5 * time.Minute
	DefaultIdleTimeout      = 5 * time.Minute
	DefaultMaxEvent         = 16 << 20
	DefaultMaxStream        = 256 << 20
)

// Network says how an adapter reaches its server. Every adapter has these settings; the
// zero value is the defaults.
type Network struct {
	// Client makes the requests; nil is a client over http.DefaultTransport, which
	// follows HTTPS_PROXY and NO_PROXY. Unless the client has a CheckRedirect of its
	// own, no redirect is followed, so that the key goes to no other server.
	Client *http.Client
	// Header is added to every request. Its values are hidden in errors, as keys are.
	Header http.Header
	// FirstByteTimeout limits the time from the request to the head of the response,
	// IdleTimeout the time between two pieces of the stream, without the consumer's own
	// time. 0 is the default, below 0 is no limit. The errors wrap ErrTimeout.
	FirstByteTimeout, IdleTimeout time.Duration
	// MaxEvent limits one event and one line of the stream, MaxStream the whole stream,
	// both in bytes; 0 is the default. The reader of the stream limits the reply:
	// [Limits].
	MaxEvent, MaxStream int
}
