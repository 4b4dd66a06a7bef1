package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// DefaultBaseURL is the default of Options.BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// Defaults of Options.
const (
	DefaultFirstByteTimeout = 5 * time.Minute
	DefaultIdleTimeout      = 5 * time.Minute
	DefaultMaxEvent         = 16 << 20
	DefaultMaxStream        = 256 << 20
)

// Sentinels that callers test with errors.Is.
var (
	// ErrTimeout: the server sent nothing for longer than Options allow.
	ErrTimeout = errors.New("openai: the server did not answer in time")
	// ErrOptions: the options are wrong; no request was made.
	ErrOptions = errors.New("openai: wrong options")
)

// Options of a Provider; nil is all zero values.
type Options struct {
	// BaseURL is the address up to "/chat/completions"; "" is DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none, which only local servers
	// accept.
	APIKey string
	// Model answers requests that name none; "" leaves the choice to the server.
	Model string
	// Client makes the requests. Nil is a client over http.DefaultTransport that follows
	// no redirect, so that the key goes to no other server.
	Client *http.Client
	// Header is added to every request.
	Header http.Header
	// Extra is a JSON object whose members are added to every request, for further
	// parameters: {"temperature":0,"reasoning_effort":"low"}. Members that the package
	// writes itself are refused.
	Extra message.JSON
	// MaxTokensKey is the member for ModelRequest.MaxTokens. "" is
	// "max_completion_tokens" for OpenAI and Azure, whose newer models refuse the older
	// name, and "max_tokens" elsewhere, because not every server knows the newer name.
	MaxTokensKey string
	// ReasoningKey is the member for the reasoning of earlier answers:
	// "reasoning_content" for models that need it between tool calls. "" sends none,
	// because other servers refuse it.
	ReasoningKey string
	// NoUsage leaves out stream_options, for servers that refuse unknown members. Usage
	// is then estimated, unless the server sends it anyway.
	NoUsage bool
	// FirstByteTimeout limits the time from the request to the head of the response,
	// IdleTimeout the time between two pieces of the stream, without the consumer's own
	// time. 0 is the default, below 0 is no limit. The errors wrap ErrTimeout.
	FirstByteTimeout, IdleTimeout time.Duration
	// ContextWindow is that of the server's models, in tokens; 0 is unknown.
	ContextWindow int
	// MaxEvent limits one event and one line of the stream, MaxStream the whole stream,
	// both in bytes; 0 is the default. The reader of the stream limits the reply:
	// [provider.Limits].
	MaxEvent, MaxStream int

	// err is what FromEnv could not read.
	err error
}

// The variables of FromEnv.
const (
	keyName       = "OPENAI_API_KEY"
	urlName       = "OPENAI_BASE_URL"
	firstByteName = "OPENAI_FIRST_BYTE_TIMEOUT"
	idleName      = "OPENAI_IDLE_TIMEOUT"
	windowName    = "OPENAI_CONTEXT_WINDOW"
)

// FromEnv returns options with APIKey from OPENAI_API_KEY, BaseURL from OPENAI_BASE_URL,
// FirstByteTimeout and IdleTimeout, such as 90s, from OPENAI_FIRST_BYTE_TIMEOUT and
// OPENAI_IDLE_TIMEOUT, and ContextWindow from OPENAI_CONTEXT_WINDOW. Pass os.Getenv as getenv.
// The provider's Err tells what cannot be read.
func FromEnv(getenv func(string) string) *Options {
	o := &Options{APIKey: strings.TrimSpace(getenv(keyName)), BaseURL: strings.TrimSpace(getenv(urlName))}
	var first, idle, window error
	o.FirstByteTimeout, first = durationIn(getenv, firstByteName)
	o.IdleTimeout, idle = durationIn(getenv, idleName)
	if text := strings.TrimSpace(getenv(windowName)); text != "" {
		var err error
		if o.ContextWindow, err = strconv.Atoi(text); err != nil || o.ContextWindow <= 0 {
			window = fmt.Errorf("openai: %s is %q; write a number of tokens such as 32768", windowName, text)
		}
	}
	o.err = errors.Join(first, idle, window)
	return o
}

// durationIn returns the duration in a variable; 0 if it is not set.
func durationIn(getenv func(string) string, name string) (time.Duration, error) {
	text := strings.TrimSpace(getenv(name))
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		return 0, fmt.Errorf("openai: %s is %q; write a duration such as 90s, or -1s for no limit", name, text)
	}
	return d, nil
}

// Provider asks one server. It implements provider.Provider, is immutable and
// safe for concurrent use. Its text form never shows the key.
type Provider struct {
	o      Options
	url    *url.URL
	host   string // the server's name in errors
	header http.Header
	extra  string // ,"temperature":0
	veil   veil
	err    error
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider; o is copied. If the options are wrong, every stream
// ends with the error that Err returns.
func New(o *Options) *Provider {
	p := &Provider{}
	if o != nil {
		p.o = *o
	}
	p.o.BaseURL = orElse(p.o.BaseURL, DefaultBaseURL)
	p.o.FirstByteTimeout = orElse(p.o.FirstByteTimeout, DefaultFirstByteTimeout)
	p.o.IdleTimeout = orElse(p.o.IdleTimeout, DefaultIdleTimeout)
	p.o.MaxEvent = orElse(p.o.MaxEvent, DefaultMaxEvent)
	p.o.MaxStream = orElse(p.o.MaxStream, DefaultMaxStream)
	if p.o.Client == nil {
		p.o.Client = &http.Client{CheckRedirect: stay}
	}
	p.veil = newVeil(p.o.APIKey, p.o.Header)
	if err := errors.Join(p.o.err, p.setURL(), p.setHeader(), p.setExtra()); err != nil {
		p.err = faulty(message.FailureRequest, err)
	}
	return p
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Err returns the error of wrong options (ErrOptions), or nil. A program checks it at its
// start; later, streams return the same error.
func (p *Provider) Err() error { return p.err }

// String names the server.
func (p *Provider) String() string { return "openai(" + p.host + ")" }

// GoString is String: the %#v of a struct would show the key.
func (p *Provider) GoString() string { return p.String() }

// Format writes String for every verb.
func (p *Provider) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

func (p *Provider) setURL() error {
	u, err := url.Parse(p.o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.host = "no server"
		return fmt.Errorf("%w: the base URL is not http(s)://host[:port]/path", ErrOptions)
	}
	p.veil = p.veil.over(u)
	p.host = u.Host
	p.url = u.JoinPath("chat", "completions")
	if p.o.MaxTokensKey == "" {
		p.o.MaxTokensKey = "max_tokens"
		if p.vendor() {
			p.o.MaxTokensKey = "max_completion_tokens"
		}
	}
	if p.o.APIKey == "" && u.Hostname() == "api.openai.com" && p.o.Header.Get("Authorization") == "" {
		return fmt.Errorf("%w: no API key for %s; set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs none", ErrOptions, u.Host)
	}
	return nil
}

func (p *Provider) vendor() bool {
	host := p.url.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".azure-api.net")
}

func (p *Provider) setHeader() error {
	p.header = http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
		"User-Agent":   {"grapnel"},
	}
	if p.o.APIKey != "" {
		p.header.Set("Authorization", "Bearer "+p.o.APIKey)
	}
	for name, values := range p.o.Header {
		p.header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	for _, b := range []byte(p.o.APIKey) {
		if b <= ' ' || b > '~' {
			return fmt.Errorf("%w: the API key holds a blank or another character that no key has", ErrOptions)
		}
	}
	return nil
}

func (p *Provider) setExtra() error {
	if p.o.Extra == "" {
		return nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(p.o.Extra), &members); err != nil || members == nil {
		return fmt.Errorf("%w: Extra is not a JSON object: %w", ErrOptions, err)
	}
	text := strings.TrimSpace(string(p.o.Extra))
	if inside := strings.TrimSpace(text[1 : len(text)-1]); inside != "" {
		p.extra = "," + inside
	}
	for key := range members {
		if reserved(key) {
			return fmt.Errorf("%w: Extra may not set %q", ErrOptions, key)
		}
	}
	return nil
}

func reserved(key string) bool {
	switch key {
	case "model", "messages", "stream", "stream_options", "tools", "tool_choice", "response_format",
		"max_tokens", "max_completion_tokens", "n":
		return true
	}
	return false
}

// HasFormat implements [provider.Formatter]: OpenAI and the servers that speak its wire take
// response_format. For a model that does not, the agent's section structured says mode: tool.
func (p *Provider) HasFormat(string) bool { return true }

// ContextWindow implements [provider.Windowed]: it is that of the options.
func (p *Provider) ContextWindow(string) int { return p.o.ContextWindow }

// Stream asks the model. The errors of the stream are *Error for errors of the server,
// provider.ErrNoFinish, provider.ErrProtocol, ErrTimeout, that of ctx, or errors of the
// network; provider.Classify knows the class of each. It makes one request and never
// retries.
func (p *Provider) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		a := answer{p: p, yield: yield}
		if err := a.run(ctx, req); err != nil && !a.left {
			yield(message.Chunk{}, err)
		}
	}
}
