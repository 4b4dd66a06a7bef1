package openai

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// DefaultBaseURL is the default of Options.BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options of a Provider; nil is all zero values.
type Options struct {
	// BaseURL is the address up to "/chat/completions"; "" is DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none, which only local servers
	// accept.
	APIKey string
	// Model answers requests that name none; "" leaves the choice to the server.
	Model string
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
	// ContextWindow is that of the server's models, in tokens; 0 is unknown.
	ContextWindow int
	// Network has the client, further headers, times and limits.
	provider.Network

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
	o       Options
	s       *wire.Server
	chatURL string
	extra   string // ,"temperature":0
	err     error
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
	var wrong error
	p.s, wrong = wire.NewServer(wire.Config{Vendor: "openai", Env: "OPENAI", BaseURL: p.o.BaseURL, Key: p.o.APIKey, Network: p.o.Network})
	p.chatURL = p.s.URL("chat", "completions")
	if p.o.MaxTokensKey == "" {
		p.o.MaxTokensKey = "max_tokens"
		if p.vendor() {
			p.o.MaxTokensKey = "max_completion_tokens"
		}
	}
	if err := errors.Join(p.o.err, wrong, p.checkKey(), p.setExtra()); err != nil {
		p.err = &provider.Error{Class: message.FailureRequest, Err: err}
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

// Err returns the error of wrong options (provider.ErrOptions), or nil. A program checks it at its
// start; later, streams return the same error.
func (p *Provider) Err() error { return p.err }

// String names the server.
func (p *Provider) String() string { return p.s.String() }

// GoString is String: the %#v of a struct would show the key.
func (p *Provider) GoString() string { return p.String() }

// Format writes String for every verb.
func (p *Provider) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// checkKey refuses to ask OpenAI without a key.
func (p *Provider) checkKey() error {
	if p.o.APIKey == "" && p.s.Hostname() == "api.openai.com" && p.o.Header.Get("Authorization") == "" {
		return p.s.Wrong("no API key for %s; set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs none", p.s.Host())
	}
	return nil
}

func (p *Provider) vendor() bool {
	host := p.s.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".azure-api.net")
}

func (p *Provider) setExtra() (err error) {
	if p.extra, err = wire.Members(p.o.Extra, reserved); err != nil {
		return p.s.Wrong("Extra: %w", err)
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

// Stream asks the model. The errors of the stream are *provider.ServerError,
// provider.ErrNoFinish, provider.ErrProtocol, provider.ErrTimeout, that of ctx, or errors of
// the network; provider.Classify knows the class of each. It makes one request and never
// retries.
func (p *Provider) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		a := answer{p: p, yield: yield}
		if err := a.run(ctx, req); err != nil && !a.left {
			yield(message.Chunk{}, err)
		}
	}
}
