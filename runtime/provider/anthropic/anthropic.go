package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// DefaultBaseURL is the default of Options.BaseURL.
const DefaultBaseURL = "https://api.anthropic.com"

// version is that of the API, in the header of every request.
const version = "2026-10-21"

// vendor is the name of the wire in metadata and errors, and of the vendor in the catalog.
const vendor = "anthropic"

// Options of a Provider; nil is all zero values.
type Options struct {
	// BaseURL is the address up to "/v1/messages"; "" is DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token; "" sends none, which only other servers accept.
	APIKey string
	// Model answers requests that name none.
	Model string
	// ContextWindow is that of the models, in tokens; 0 is what the catalog says.
	ContextWindow int
	// Catalog has the rules of the models; nil is catalog.Default().
	Catalog *catalog.Catalog
	// Network has the client, further headers, times and limits.
	provider.Network

	// err is what FromEnv could not read.
	err error
}

// FromEnv returns options with APIKey from ANTHROPIC_API_KEY, BaseURL from ANTHROPIC_BASE_URL,
// FirstByteTimeout and IdleTimeout, such as 90s, from ANTHROPIC_FIRST_BYTE_TIMEOUT and
// ANTHROPIC_IDLE_TIMEOUT, and ContextWindow from ANTHROPIC_CONTEXT_WINDOW. Pass os.Getenv as
// getenv. The provider's Err tells what cannot be read.
func FromEnv(getenv func(string) string) *Options {
	env := wire.Env{Vendor: vendor, Prefix: "ANTHROPIC", Getenv: getenv}
	o := &Options{APIKey: env.Text("API_KEY"), BaseURL: env.Text("BASE_URL")}
	var first, idle, window error
	o.FirstByteTimeout, first = env.Duration("FIRST_BYTE_TIMEOUT")
	o.IdleTimeout, idle = env.Duration("IDLE_TIMEOUT")
	o.ContextWindow, window = env.Tokens("CONTEXT_WINDOW")
	o.err = errors.Join(first, idle, window)
	return o
}

// Provider asks one server. It implements provider.Provider, is immutable and safe for
// concurrent use. Its text form never shows the key.
type Provider struct {
	o Options
	// s is the server. drops is the same server, for requests that need dropBeta.
	s, drops *wire.Server
	err      error
}

var (
	_ provider.Provider  = (*Provider)(nil)
	_ provider.Formatter = (*Provider)(nil)
	_ provider.Windowed  = (*Provider)(nil)
)

// New returns a provider; o is copied. If the options are wrong, every stream ends with the
// error that Err returns.
func New(o *Options) *Provider {
	p := &Provider{}
	if o != nil {
		p.o = *o
	}
	// Bases of OpenAI's wire end in /v1; one is meant the same way here.
	p.o.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(p.o.BaseURL, DefaultBaseURL), "/"), "/v1")
	if p.o.Catalog == nil {
		p.o.Catalog = catalog.Default()
	}
	betas := p.setHeader()
	var wrong error
	p.s, wrong = wire.NewServer(wire.Config{
		Vendor: vendor, Env: "ANTHROPIC", BaseURL: p.o.BaseURL, Key: p.o.APIKey, Network: p.o.Network,
	})
	p.drops = p.s.With(betaHeader, strings.Join(append(betas, dropBeta), ","))
	if err := errors.Join(p.o.err, wrong, p.checkKey()); err != nil {
		p.err = &provider.Error{Class: message.FailureRequest, Err: err}
	}
	return p
}

// setHeader adds the version of the API to the header of the options and makes one value of
// the betas in it. It returns the betas: a request may need another one.
func (p *Provider) setHeader() (betas []string) {
	header := http.Header{"Anthropic-Version": {version}}
	for name, values := range p.o.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if betas = header[betaHeader]; len(betas) > 0 {
		header.Set(betaHeader, strings.Join(betas, ","))
	}
	p.o.Header = header
	return slices.Clip(betas)
}

// checkKey refuses to ask Anthropic without a key.
func (p *Provider) checkKey() error {
	if p.o.APIKey == "" && p.s.Hostname() == "api.anthropic.com" && p.o.Header.Get("Authorization") == "" && p.o.Header.Get("X-Api-Key") == "" {
		return p.s.Wrong("no API key for %s; set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a server that needs none", p.s.Host())
	}
	return nil
}

// Err returns the error of wrong options (provider.ErrOptions), or nil. A program checks it
// at its start; later, streams return the same error.
func (p *Provider) Err() error { return p.err }

// String names the server.
func (p *Provider) String() string { return p.s.String() }

// GoString is String: the %#v of a struct would show the key.
func (p *Provider) GoString() string { return p.String() }

// Format writes String for every verb.
func (p *Provider) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// HasFormat implements [provider.Formatter].
func (p *Provider) HasFormat(model string) bool {
	return p.o.Catalog.Family(vendor, cmp.Or(model, p.o.Model)).Has(catalog.Structured)
}

// ContextWindow implements [provider.Windowed].
func (p *Provider) ContextWindow(model string) int {
	if p.o.ContextWindow > 0 {
		return p.o.ContextWindow
	}
	known, _ := p.o.Catalog.Model(vendor, cmp.Or(model, p.o.Model))
	return known.Window
}

// Stream asks the model. Settings that the model refuses are an error of class
// FailureRequest before the request. The other errors of the stream are
// *provider.ServerError, provider.ErrNoFinish, provider.ErrProtocol, provider.ErrTimeout,
// that of ctx, or errors of the network; provider.Classify knows the class of each. It makes
// one request and never retries.
func (p *Provider) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		a := answer{p: p, yield: yield}
		if err := a.run(ctx, req); err != nil && !a.left {
			yield(message.Chunk{}, err)
		}
	}
}
