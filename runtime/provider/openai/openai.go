package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider/openai/internal/answer"
)

// DefaultBaseURL is the default of Options.BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options of a Provider; nil is all zero values.
type Options struct {
	// Vendor is the name of the server's vendor, with which errors begin: that of a Preset,
	// or an own one; "" is "openai".
	Vendor string
	// Wire is the protocol; "" chooses it by the model.
	Wire Wire
	// BaseURL is the address up to "/chat/completions" or "/responses"; "" is that of the
	// Vendor's preset.
	BaseURL string
	// APIKey is sent as a bearer token, or in KeyHeader; "" sends none, which only local
	// servers accept.
	APIKey string
	// KeyHeader is the header of the key, without the word Bearer; "" is that of the
	// Vendor's preset, or Authorization with it.
	KeyHeader string
	// Model answers requests that name none; "" leaves the choice to the server.
	Model string
	// Extra is a JSON object whose members are added to every request, for further
	// parameters: {"temperature":0,"top_k":40}. A setting of the request overrides a
	// member. Members that the package always writes itself are refused.
	Extra message.JSON
	// MaxTokensKey is the member for Model.MaxTokens on the chat wire. "" is that of the
	// Vendor's preset, or "max_completion_tokens" for OpenAI and Azure, whose newer models refuse the older
	// name, and "max_tokens" elsewhere, because not every server knows the newer name.
	MaxTokensKey string
	// ReasoningKey is the member of the chat wire for the reasoning of earlier answers:
	// "reasoning_content" for models that need it between tool calls. "" sends none,
	// because other servers refuse it.
	ReasoningKey string
	// NoUsage leaves out stream_options, for servers that refuse unknown members. Usage
	// is then estimated, unless the server sends it anyway.
	NoUsage bool
	// ContextWindow is that of the server's models, in tokens; 0 is unknown.
	ContextWindow int
	// Catalog has the rules of model families; nil is catalog.Default.
	Catalog *catalog.Catalog
	// Network has the client, further headers, times and limits.
	provider.Network

	// err is what FromEnv could not read.
	err error
}

// FromEnv returns the options of OpenAI's preset: [Preset.FromEnv].
func FromEnv(getenv func(string) string) *Options {
	of, _ := PresetOf("openai")
	o := of.FromEnv(getenv)
	o.Vendor = ""
	return o
}

// Provider asks one server. It implements provider.Provider, is immutable and
// safe for concurrent use. Its text form never shows the key.
type Provider struct {
	o                     Options
	preset                Preset // of the vendor; zero for an own one
	s                     *wire.Server
	chatURL, responsesURL string
	extra                 []wire.Member
	err                   error
}

var _ provider.Provider = (*Provider)(nil)

// New returns a provider; o is copied. If the options are wrong, every stream
// ends with the error that Err returns.
func New(o *Options) *Provider {
	p := &Provider{}
	if o != nil {
		p.o = *o
	}
	p.o.Vendor = cmp.Or(p.o.Vendor, "openai")
	p.preset, _ = PresetOf(p.o.Vendor)
	p.o.BaseURL = cmp.Or(p.o.BaseURL, p.preset.BaseURL)
	p.o.KeyHeader = cmp.Or(p.o.KeyHeader, p.preset.KeyHeader)
	p.o.ReasoningKey = cmp.Or(p.o.ReasoningKey, p.preset.ReasoningKey)
	p.o.NoUsage = p.o.NoUsage || p.preset.NoUsage
	p.o.Wire = cmp.Or(p.o.Wire, p.preset.Wire)
	var wrong error
	p.s, wrong = wire.NewServer(wire.Config{
		Vendor: p.o.Vendor, Env: p.preset.Env, BaseURL: p.o.BaseURL, Key: p.o.APIKey, KeyHeader: p.o.KeyHeader, Network: p.o.Network,
	})
	p.chatURL, p.responsesURL = p.s.URL("chat", "completions"), p.s.URL("responses")
	if p.o.MaxTokensKey = cmp.Or(p.o.MaxTokensKey, p.preset.MaxTokensKey); p.o.MaxTokensKey == "" {
		p.o.MaxTokensKey = "max_tokens"
		if p.vendor() {
			p.o.MaxTokensKey = "max_completion_tokens"
		}
	}
	if err := errors.Join(p.o.err, wrong, p.checkKey(), p.checkOptions(), p.setExtra()); err != nil {
		p.err = &provider.Error{Class: message.FailureRequest, Err: err}
	}
	return p
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

// checkKey refuses to ask without a key a server that has to have one.
func (p *Provider) checkKey() error {
	of := &p.preset
	if !of.NeedsKey || p.o.APIKey != "" || p.o.Header.Get("Authorization") != "" || p.o.Header.Get(p.o.KeyHeader) != "" {
		return nil
	}
	if of.BaseURL != "" && p.o.BaseURL != of.BaseURL {
		return nil // another server under the vendor's name
	}
	return p.s.Wrong("no API key for %s; set %s, or %s to a server that needs none", p.s.Host(), of.KeyName, of.URLName())
}

func (p *Provider) checkOptions() error {
	switch p.o.Wire {
	case "", WireChat, WireResponses:
		return nil
	}
	return p.s.Wrong("Wire is %q; it is %q, %q or empty", p.o.Wire, WireChat, WireResponses)
}

// vendor reports whether the server is OpenAI's own or Azure's.
func (p *Provider) vendor() bool {
	v := p.catalogVendor()
	return v == "openai" || v == "azure"
}

func (p *Provider) setExtra() (err error) {
	if p.extra, err = wire.MembersOf(p.o.Extra); err != nil {
		return p.s.Wrong("Extra: %w", err)
	}
	for _, of := range p.extra {
		if reserved(of.Name) {
			return p.s.Wrong("Extra: it may not set %q", of.Name)
		}
	}
	return nil
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
		r := answer.Reader{Server: p.s, Yield: yield, Vendor: p.o.Vendor, Marks: p.o.ReasoningKey != "", Messages: req.Messages.Len()}
		if err := p.ask(ctx, &req, &r); err != nil && !r.Left() {
			yield(message.Chunk{}, err)
		}
	}
}

// ask makes the request and reads its stream.
func (p *Provider) ask(ctx context.Context, req *message.ModelRequest, r *answer.Reader) error {
	if p.err != nil {
		return p.err
	}
	pl, err := p.plan(req)
	if err != nil {
		return err
	}
	url, encode, read := p.chatURL, p.encode, r.Chat
	if pl.wire == WireResponses {
		url, encode, read = p.responsesURL, p.encodeResponses, r.Responses
	}
	var body []byte
	if body, r.Text, err = encode(req, &pl); err != nil {
		return err
	}
	r.Model = pl.model.Name
	if r.Stream, err = p.s.Open(ctx, url, body); err != nil {
		return err
	}
	defer r.Stream.Close()
	return read()
}
