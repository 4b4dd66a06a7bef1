package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// DefaultBaseURL is the default of Options.BaseURL.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

const (
	// vendor is the name of the wire in metadata and errors, and of the vendor in the catalog.
	vendor = "gemini"
	// version is that of the API.
	version = "v1beta"
)

// Options of a Provider; nil is all zero values.
type Options struct {
	// BaseURL is the address up to "/v1beta"; "" is DefaultBaseURL.
	BaseURL string
	// APIKey is sent in x-goog-api-key; "" sends none, which only other servers accept.
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

// FromEnv returns options with APIKey from GEMINI_API_KEY, BaseURL from GEMINI_BASE_URL,
// FirstByteTimeout and IdleTimeout, such as 90s, from GEMINI_FIRST_BYTE_TIMEOUT and
// GEMINI_IDLE_TIMEOUT, and ContextWindow from GEMINI_CONTEXT_WINDOW. Pass os.Getenv as
// getenv. The provider's Err tells what cannot be read.
func FromEnv(getenv func(string) string) *Options {
	env := wire.Env{Vendor: vendor, Prefix: "GEMINI", Getenv: getenv}
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
	o   Options
	s   *wire.Server
	lax jsontext.Options
	err error
}

var (
	_ provider.Provider  = (*Provider)(nil)
	_ provider.Formatter = (*Provider)(nil)
	_ provider.Windowed  = (*Provider)(nil)
)

// New returns a provider; o is copied. If the options are wrong, every stream ends with the
// error that Err returns.
func New(o *Options) *Provider {
	p := &Provider{lax: wire.Lax()}
	if o != nil {
		p.o = *o
	}
	p.o.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(p.o.BaseURL, DefaultBaseURL), "/"), "/"+version)
	if p.o.Catalog == nil {
		p.o.Catalog = catalog.Default()
	}
	var wrong error
	p.s, wrong = wire.NewServer(wire.Config{
		Vendor: vendor, Env: "GEMINI", BaseURL: p.o.BaseURL, Key: p.o.APIKey, KeyHeader: keyHeader, Network: p.o.Network,
	})
	if err := errors.Join(p.o.err, wrong, p.checkKey()); err != nil {
		p.err = &provider.Error{Class: message.FailureRequest, Err: err}
	}
	return p
}

// keyHeader is the header with the key.
const keyHeader = "X-Goog-Api-Key"

// checkKey refuses to ask Google without a key.
func (p *Provider) checkKey() error {
	google := p.s.Hostname() == "generativelanguage.googleapis.com"
	if google && p.o.APIKey == "" && p.o.Header.Get(keyHeader) == "" && p.o.Header.Get("Authorization") == "" {
		return p.s.Wrong("no API key for %s; set GEMINI_API_KEY, or GEMINI_BASE_URL to a server that needs none", p.s.Host())
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

// HasFormat implements [provider.Formatter]. Models before Gemini 3 take a format only in
// requests without tools, which an agent seldom makes, so they count as models without.
func (p *Provider) HasFormat(model string) bool {
	f := p.o.Catalog.Family(vendor, cmp.Or(model, p.o.Model))
	return f.Has(catalog.Structured) && f.Signatures
}

// ContextWindow implements [provider.Windowed].
func (p *Provider) ContextWindow(model string) int {
	if p.o.ContextWindow > 0 {
		return p.o.ContextWindow
	}
	known, _ := p.o.Catalog.Model(vendor, cmp.Or(model, p.o.Model))
	return known.Window
}

// url returns the address that streams answers of the model.
func (p *Provider) url(model string) (string, error) {
	kind, name := "models", strings.TrimPrefix(model, "models/")
	if tuned, ok := strings.CutPrefix(model, "tunedModels/"); ok {
		kind, name = "tunedModels", tuned
	}
	if !validName(name) {
		return "", fmt.Errorf("%q is no name of a model; write one such as gemini-3.8-flash", model)
	}
	url := p.s.URL(version, kind, name+":streamGenerateContent")
	if strings.Contains(url, "?") {
		return url + "&alt=sse", nil
	}
	return url + "?alt=sse", nil
}

// validName reports whether the name can be a part of an address without changing it.
func validName(name string) bool {
	for i := range len(name) {
		b := name[i]
		if b != '-' && b != '_' && b != '.' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
			return false
		}
	}
	return strings.Trim(name, ".") != "" && len(name) <= 256
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
