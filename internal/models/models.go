// Package models is the provider of the program: it passes each request to the provider of the
// model that the request names, and makes that provider at the first request. The vendors are a
// table; a key is read when it is needed.
package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// ErrNone is the error of a request that names no model.
var ErrNone = errors.New("no model is configured")

// Options of New. The zero value of each field is usable.
type Options struct {
	// Root is the project: the path of a script is relative to it.
	Root string
	// Vendors are the user's settings by the name of the vendor. A further name is a vendor
	// of the user's own with a Preset.
	Vendors map[string]Settings
	// File is the file of these settings, for messages.
	File string
	// Getenv looks up the variables of vendors; nil is os.Getenv.
	Getenv func(string) string
	// Keys reads keys; nil reads them from variables and files only.
	Keys *keys.Keys
	// Catalog has what is known about models: it finds the vendor of a name, the window of a
	// model, and settings that a model does not take. Nil is the built-in one.
	Catalog *catalog.Catalog
}

// Models is a provider that passes each request to the provider of its model. It is safe for
// concurrent use.
type Models struct {
	o Options

	mu sync.Mutex // guards what follows
	// vendors has what is known of each vendor that was used, scripts the providers of
	// scripted models by their paths.
	vendors map[string]*endpoint
	scripts map[string]provider.Provider
}

var (
	_ provider.Provider  = (*Models)(nil)
	_ provider.Formatter = (*Models)(nil)
	_ provider.Windowed  = (*Models)(nil)
)

// New returns the models that can be asked. Close releases them.
func New(o Options) *Models {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keys == nil {
		o.Keys = keys.New(&keys.Options{Getenv: o.Getenv})
	}
	if o.Catalog == nil {
		o.Catalog = catalog.Default()
	}
	return &Models{o: o, vendors: map[string]*endpoint{}, scripts: map[string]provider.Provider{}}
}

// Close closes the idle connections to vendors.
func (m *Models) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.vendors {
		if e.client != nil {
			e.client.CloseIdleConnections()
		}
	}
}

// Stream passes the request to the provider of its model. It reads the vendor's key at the
// first request. Settings that the model does not take are an error before the request.
func (m *Models) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		p, e, name, err := m.open(ctx, req.Model.Name)
		if err != nil {
			yield(message.Chunk{}, err)
			return
		}
		req.Model.Name = name
		if e != nil {
			if err := m.o.Catalog.Check(e.vendor.name, req.Model); err != nil {
				yield(message.Chunk{}, &provider.Error{Class: message.FailureRequest, Err: err})
				return
			}
		}
		begun := false
		for chunk, err := range p.Stream(ctx, req) {
			if err != nil && e != nil {
				err = m.explained(e, err, begun)
			}
			begun = true
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// open returns the provider of a model and its name there; e is nil for a scripted model.
func (m *Models) open(ctx context.Context, id string) (p provider.Provider, e *endpoint, name string, err error) {
	p, e, name, err = m.find(id)
	if err != nil || e == nil {
		return p, e, name, err
	}
	if p, err = m.ready(ctx, e); err != nil {
		return nil, e, name, &provider.Error{Class: message.FailureAuth, Err: err}
	}
	return p, e, name, nil
}

// HasFormat reports whether the model has a response format of its own.
func (m *Models) HasFormat(id string) bool {
	p, e, name, err := m.find(id)
	if err != nil || !provider.HasFormat(p, name) {
		return false
	}
	if e == nil {
		return true
	}
	family := m.o.Catalog.Family(e.vendor.name, name)
	return family.Has(catalog.Structured)
}

// ContextWindow returns the window of the model; 0 if it is unknown or the model cannot be found.
func (m *Models) ContextWindow(id string) int {
	p, e, name, err := m.find(id)
	if err != nil {
		return 0
	}
	if e != nil && e.settings.ContextWindow > 0 {
		return e.settings.ContextWindow
	}
	if n := provider.ContextWindow(p, name); n > 0 || e == nil {
		return n
	}
	known, _ := m.o.Catalog.Model(e.vendor.name, name)
	return known.Window
}

// Check returns an error if the model cannot be asked, as far as that can be told without a
// request: its vendor, the settings of the vendor, and whether it has a key. Its text says what
// to do. It reads no key from the keyring or a command.
func (m *Models) Check(id string) error {
	_, _, _, err := m.find(id)
	return err
}

// CheckSettings is Check for a model with its settings: the error also says which of them the
// model does not take, and what would work.
func (m *Models) CheckSettings(model message.Model) error {
	_, e, name, err := m.find(model.Name)
	if err != nil || e == nil {
		return err
	}
	model.Name = name
	return m.o.Catalog.Check(e.vendor.name, model)
}

// find returns the provider of a model and its name there. The provider answers questions about
// models; requests go to that of ready. e is nil for a scripted model.
func (m *Models) find(id string) (p provider.Provider, e *endpoint, name string, err error) {
	id, err = m.Resolve(id)
	if err != nil {
		return nil, nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if file, ok := Script(id); ok {
		p, err = m.script(file)
		if err != nil {
			return nil, nil, "", fmt.Errorf("model %s: %w", id, err)
		}
		return p, nil, "", nil
	}
	vendor, name := split(id)
	if e = m.vendors[vendor]; e == nil {
		if e, err = m.endpoint(vendor); err != nil {
			return nil, nil, "", fmt.Errorf("model %s: %w", id, err)
		}
		m.vendors[vendor] = e
	}
	return e.asked, e, name, nil
}

// script returns the provider of a scripted model. m.mu is held.
func (m *Models) script(file string) (provider.Provider, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.o.Root, file)
	}
	if p := m.scripts[file]; p != nil {
		return p, nil
	}
	data, err := conffile.Read(file, &conffile.Options{Within: m.o.Root, Max: script.MaxSize})
	if err != nil {
		return nil, err
	}
	p, err := script.Parse(file, data)
	if err != nil {
		return nil, err
	}
	m.scripts[file] = p
	return p, nil
}

// endpoint is one vendor as it is used.
type endpoint struct {
	vendor   *vendor
	name     string // the vendor's, or the user's own
	settings Settings
	key      keys.Source
	client   *http.Client // nil is the default of adapters
	proxy    string       // the proxy of the settings or of the environment, without a password; "" is none
	// asked answers questions about models. Its key may be unread.
	asked provider.Provider

	mu    sync.Mutex
	ready provider.Provider // with the key; nil before the first request
}

// endpoint returns the vendor with its settings, and checks them.
func (m *Models) endpoint(name string) (*endpoint, error) {
	v, s, err := m.settings(name)
	if err != nil {
		return nil, err
	}
	e := &endpoint{vendor: v, name: name, settings: s}
	if e.key, err = m.source(e); err != nil {
		return nil, err
	}
	if e.client, e.proxy, err = m.client(e); err != nil {
		return nil, err
	}
	key := ""
	switch {
	case e.lacksKey():
		return nil, errors.New("no key: " + m.advice(e))
	case e.key.None():
	case e.key.Slow():
		key = unread
	default:
		secret, err := m.o.Keys.Read(context.Background(), e.key) // a variable or a file: at once
		if err != nil {
			return nil, err
		}
		key = secret.Reveal()
	}
	if e.asked, err = v.open(m.at(e, key)); err != nil {
		return nil, err
	}
	if !e.key.Slow() {
		e.ready = e.asked
	}
	return e, nil
}

// unread stands for a key that is not read yet in a provider that makes no request.
const unread = "unread"

// ready returns the provider of the vendor for requests. It may have to wait for the key.
func (m *Models) ready(ctx context.Context, e *endpoint) (provider.Provider, error) {
	e.mu.Lock()
	p := e.ready
	e.mu.Unlock()
	if p != nil {
		return p, nil
	}
	key, err := m.o.Keys.Read(ctx, e.key) // one call at a time
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	if p, err = e.vendor.open(m.at(e, key.Reveal())); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready = p
	return p, nil
}

// refused drops a key that the vendor has refused, if it can have changed at its source.
func (m *Models) refused(e *endpoint) {
	if !e.key.Slow() {
		return
	}
	m.o.Keys.Forget(e.key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready = nil
}
