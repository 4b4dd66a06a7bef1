package models

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// Settings are the user's settings of one vendor. The zero value of each field is the vendor's
// default, or what the environment says.
type Settings struct {
	// Preset is the vendor whose wire and defaults a vendor of the user's own has.
	Preset string
	// Key is where the key is; none is the vendor's variable.
	Key keys.Source
	// BaseURL is the address of the API.
	BaseURL string
	// CAFile has certificates that are trusted besides those of the system.
	CAFile string
	// Proxy is the URL of a proxy, or Direct for none; "" follows HTTPS_PROXY and NO_PROXY.
	Proxy string
	// FirstByteTimeout and IdleTimeout limit how long an answer may take to begin, and how
	// long it may pause; below 0 is no limit.
	FirstByteTimeout, IdleTimeout time.Duration
	// Header is added to every request.
	Header http.Header
	// ContextWindow is that of all models of the vendor, in tokens.
	ContextWindow int
}

// Direct is the proxy of a vendor that is reached without one.
const Direct = "none"

// authorizes reports whether a header of the settings takes the place of a key.
func (s *Settings) authorizes() bool {
	return s.Header.Get("Authorization") != "" || s.Header.Get("Api-Key") != "" || s.Header.Get("X-Api-Key") != ""
}

// vendor is one row of the table.
type vendor struct {
	// name is the prefix of the vendor's models, title what people call it.
	name, title string
	// env begins the names of its variables: OPENAI of OPENAI_API_KEY, OPENAI_API_KEY_FILE,
	// OPENAI_BASE_URL, OPENAI_FIRST_BYTE_TIMEOUT, OPENAI_IDLE_TIMEOUT, OPENAI_CONTEXT_WINDOW.
	env string
	// alias is a further variable with the key.
	alias string
	// url is the default address; "" has to be configured.
	url string
	// keyless: it needs no key.
	keyless bool
	// port is where a server on this machine usually listens; 0 for vendors elsewhere.
	port int
	// open makes the provider.
	open func(t target) (provider.Provider, error)
}

// target is what a provider is made of.
type target struct {
	vendor, key, url string
	network          provider.Network
	contextWindow    int
	catalog          *catalog.Catalog
}

// vendors are all vendors that the program knows, in the order in which people see them.
func vendors() []*vendor {
	return []*vendor{
		{name: "anthropic", title: "Anthropic", env: "ANTHROPIC", url: anthropic.DefaultBaseURL, open: messages},
		compatible("openai", "OpenAI"),
		{name: "gemini", title: "Google Gemini", env: "GEMINI", alias: "GOOGLE_API_KEY", url: gemini.DefaultBaseURL, open: generateContent},
		compatible("openrouter", "OpenRouter"),
		compatible("azure", "Azure OpenAI"),
		compatible("ollama", "Ollama"),
		compatible("llamacpp", "llama.cpp"),
		compatible("lmstudio", "LM Studio"),
		compatible("vllm", "vLLM"),
	}
}

// compatible returns the row of a vendor whose server speaks OpenAI's wires, by its preset.
func compatible(name, title string) *vendor {
	p, _ := openai.PresetOf(name)
	return &vendor{name: name, title: title, env: p.Env, url: p.BaseURL, keyless: !p.NeedsKey, port: p.Port, open: openaiWires}
}

func openaiWires(t target) (provider.Provider, error) {
	p := openai.New(&openai.Options{
		Vendor: t.vendor, BaseURL: t.url, APIKey: t.key, ContextWindow: t.contextWindow, Catalog: t.catalog, Network: t.network,
	})
	return p, p.Err()
}

func messages(t target) (provider.Provider, error) {
	p := anthropic.New(&anthropic.Options{
		BaseURL: t.url, APIKey: t.key, ContextWindow: t.contextWindow, Catalog: t.catalog, Network: t.network,
	})
	return p, p.Err()
}

func generateContent(t target) (provider.Provider, error) {
	p := gemini.New(&gemini.Options{
		BaseURL: t.url, APIKey: t.key, ContextWindow: t.contextWindow, Catalog: t.catalog, Network: t.network,
	})
	return p, p.Err()
}

// keyNames are the variables that can have the vendor's key.
func (v *vendor) keyNames() []string {
	names := []string{v.env + "_API_KEY"}
	if v.alias != "" {
		names = append(names, v.alias)
	}
	return names
}

func known(name string) *vendor {
	all := vendors()
	if i := slices.IndexFunc(all, func(v *vendor) bool { return v.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Names returns the names of the program's vendors.
func Names() []string {
	var out []string
	for _, v := range vendors() {
		out = append(out, v.name)
	}
	return out
}

// names are those of the program and of the user.
func (m *Models) names() []string {
	out := Names()
	for name := range m.o.Vendors {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// settings returns the vendor with that name, and its settings: those of the user, and what the
// environment says where these say nothing.
func (m *Models) settings(name string) (*vendor, Settings, error) {
	s, configured := m.o.Vendors[name]
	v := known(cmp.Or(s.Preset, name))
	if v == nil {
		what := cmp.Or(s.Preset, name)
		fix := "vendors are " + strings.Join(m.names(), ", ")
		if near := spell.Closest(what, m.names()); near != "" {
			fix = "did you mean " + near + "?"
		}
		return nil, s, fmt.Errorf("there is no vendor %q; %s", what, fix)
	}
	if configured && name != v.name { // the variables are those of the vendor itself
		if s.BaseURL == "" && v.url == "" {
			return nil, s, fmt.Errorf("no address; set vendors.%s.base_url in %s", name, m.o.File)
		}
		s.BaseURL = cmp.Or(s.BaseURL, v.url)
		return v, s, nil
	}
	s.BaseURL = cmp.Or(s.BaseURL, strings.TrimSpace(m.o.Getenv(v.env+"_BASE_URL")), v.url)
	if s.BaseURL == "" {
		return nil, s, fmt.Errorf("no address; set %s_BASE_URL, or vendors.%s.base_url in %s", v.env, name, m.file())
	}
	var err1, err2, err3 error
	s.FirstByteTimeout, err1 = m.duration(s.FirstByteTimeout, v.env+"_FIRST_BYTE_TIMEOUT")
	s.IdleTimeout, err2 = m.duration(s.IdleTimeout, v.env+"_IDLE_TIMEOUT")
	s.ContextWindow, err3 = m.window(s.ContextWindow, v.env+"_CONTEXT_WINDOW")
	return v, s, errors.Join(err1, err2, err3)
}

// file names the file of the user's settings.
func (m *Models) file() string { return cmp.Or(m.o.File, "config.yaml") }

func (m *Models) duration(have time.Duration, name string) (time.Duration, error) {
	text := strings.TrimSpace(m.o.Getenv(name))
	if have != 0 || text == "" {
		return have, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		return 0, fmt.Errorf("%s is %q; write a duration such as 90s, or -1s for no limit", name, text)
	}
	return d, nil
}

func (m *Models) window(have int, name string) (int, error) {
	text := strings.TrimSpace(m.o.Getenv(name))
	if have != 0 || text == "" {
		return have, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s is %q; write a number of tokens such as 32768", name, text)
	}
	return n, nil
}

// at returns what the provider is made of.
func (m *Models) at(e *endpoint, key string) target {
	s := &e.settings
	return target{
		vendor: e.vendor.name, key: key, url: s.BaseURL, contextWindow: s.ContextWindow, catalog: m.o.Catalog,
		network: provider.Network{Client: e.client, Header: s.Header, FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout},
	}
}

// source returns where the vendor's key is.
func (m *Models) source(e *endpoint) (keys.Source, error) {
	if !e.settings.Key.None() || e.name != e.vendor.name {
		return e.settings.Key, nil
	}
	return keys.FromEnv(m.o.Getenv, e.vendor.keyNames()...)
}

// advice says how to give the vendor a key.
func (m *Models) advice(e *endpoint) string {
	key := fmt.Sprintf("vendors.%s.key in %s (env, file, keyring or command)", e.name, m.file())
	if e.name != e.vendor.name {
		return "set " + key
	}
	return fmt.Sprintf("set %s, or %s", e.vendor.keyNames()[0], key)
}

// Configured reports whether the vendor with that name can be asked: whether it has a key, or
// needs none. hint says where the key comes from, or what to set.
func (m *Models) Configured(name string) (configured bool, hint string) {
	v, s, err := m.settings(name)
	if err != nil {
		return false, err.Error()
	}
	e := &endpoint{vendor: v, name: name, settings: s}
	if e.key, err = m.source(e); err != nil {
		return false, err.Error()
	}
	switch {
	case !e.key.None():
		return m.o.Keys.Present(e.key)
	case e.lacksKey():
		return false, m.advice(e)
	}
	return true, "no key is needed at " + hostOf(s.BaseURL)
}

// lacksKey reports whether a key is needed and none is named. A server at another address than
// the vendor's may need none.
func (e *endpoint) lacksKey() bool {
	own := e.vendor.url == "" || hostOf(e.settings.BaseURL) == hostOf(e.vendor.url)
	return e.key.None() && !e.vendor.keyless && !e.settings.authorizes() && own
}

// hostOf returns the host of an address, with its port; the address may hold a password.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}
