package openai

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// Wire is one of OpenAI's protocols.
type Wire string

// The wires. "" is the one of the model's family at OpenAI and Azure, and WireChat at other
// servers.
const (
	WireChat      Wire = "chat"      // chat completions, which most servers speak
	WireResponses Wire = "responses" // Responses, which newer models of OpenAI need for tools
)

// plan is how one request is made: the model with its settings, the rules of its family, and
// the wire.
type plan struct {
	model  message.Model
	family catalog.Family
	wire   Wire
}

// plan checks the settings of a request; an error says what would work.
func (p *Provider) plan(req *message.ModelRequest) (plan, error) {
	known := p.o.Catalog
	if known == nil {
		known = catalog.Default()
	}
	pl := plan{model: req.Model}
	m := &pl.model
	m.Name = cmp.Or(m.Name, p.o.Model)
	vendor := p.catalogVendor()
	pl.family = known.Family(vendor, m.Name)
	pl.wire = cmp.Or(p.o.Wire, Wire(pl.family.Wire), WireChat)
	if err := known.Check(vendor, *m); err != nil {
		return pl, p.s.Refuse("%w", err)
	}
	if bad(m.Temperature) || bad(m.TopP) {
		return pl, p.s.Refuse("model %s: temperature and top_p are numbers from 0 on", m.Name)
	}
	return pl, p.checkWire(&pl, req)
}

func bad(v message.Optional[float64]) bool {
	return math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0
}

// checkWire refuses what the model has, but not on this wire.
func (p *Provider) checkWire(pl *plan, req *message.ModelRequest) error {
	m := &pl.model
	switch {
	case pl.wire == WireChat && pl.family.Wire == string(WireResponses) && req.Tools.Tools().Len() > 0:
		return p.s.Refuse("model %s: it takes tools on the Responses wire only; leave Options.Wire empty, or set it to responses", m.Name)
	case pl.wire == WireChat:
	case m.Seed.Set:
		return p.s.Refuse("model %s: the Responses wire has no seed; leave seed out, or ask a model on the chat wire", m.Name)
	case m.Stop.Len() > 0:
		return p.s.Refuse("model %s: the Responses wire has no stop texts; leave stop out and ask for the end in the prompt, or ask a model on the chat wire", m.Name)
	}
	return nil
}

// catalogVendor is the vendor by whose rules the server's models go.
func (p *Provider) catalogVendor() string {
	switch host := p.s.Hostname(); {
	case isAzure(host):
		return "azure"
	case isOpenAI(host):
		return "openai"
	case p.o.Vendor == "openai":
		return "" // another server under OpenAI's name
	}
	return p.o.Vendor
}

func isOpenAI(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}

func isAzure(host string) bool {
	return strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".azure-api.net") ||
		strings.HasSuffix(host, ".services.ai.azure.com")
}

// effort returns the vendor's word for the effort of reasoning; "" sends none.
func (pl *plan) effort() string {
	switch e := pl.model.Reasoning.Effort; {
	case e != message.EffortOff:
		return string(e)
	case pl.family.Off == "omit" || pl.family.Reasoning == catalog.None:
		return ""
	default:
		return cmp.Or(pl.family.Off, "none")
	}
}

// key begins a member of the request. Further parameters must not have it again.
func (e *encoder) key(name string) {
	e.names = append(e.names, name)
	if e.buf[len(e.buf)-1] != '{' {
		e.raw(`,`)
	}
	e.string(name)
	e.raw(`:`)
}

func (e *encoder) number(name string, v message.Optional[float64]) {
	if v.Set {
		e.key(name)
		e.buf = strconv.AppendFloat(e.buf, v.Value, 'f', -1, 64)
	}
}

func (e *encoder) word(name, value string) {
	if value != "" {
		e.key(name)
		e.string(value)
	}
}

// sampling writes what both wires call the same.
func (e *encoder) sampling(m *message.Model) {
	e.number("temperature", m.Temperature)
	e.number("top_p", m.TopP)
	e.word("service_tier", m.Tier)
}

// extra writes further parameters: first the request's, which must not be written already,
// then the server's, which the request's own settings override.
func (e *encoder) extra(p *Provider, m *message.Model) error {
	own, err := wire.MembersOf(m.Extra)
	if err != nil {
		return p.s.Refuse("the field extra of the model: %w", err)
	}
	for _, of := range own {
		if slices.Contains(e.names, of.Name) || reserved(of.Name) {
			return p.s.Refuse("the field extra of the model may not set %q; use the setting of its own", of.Name)
		}
		if ungoverned(of.Name) {
			return p.s.Refuse("the field extra of the model may not set %q: the server would run tools or models that no rule, approval or limit sees; "+
				"a program can set it for all requests in Options.Extra", of.Name)
		}
		e.key(of.Name)
		e.raw(of.Value)
	}
	for _, of := range p.extra {
		if !slices.Contains(e.names, of.Name) {
			e.key(of.Name)
			e.raw(of.Value)
		}
	}
	return nil
}

// ungoverned reports whether a parameter gives the model tools of the server's, or the request
// another model. The file of an agent, which comes with a project, must not do that.
func ungoverned(key string) bool {
	switch key {
	case "functions", "function_call", "web_search_options", "plugins", "models", "prompt":
		return true
	}
	return false
}

func reserved(key string) bool {
	switch key {
	case "model", "messages", "input", "instructions", "stream", "stream_options", "tools", "tool_choice", "response_format", "text",
		"max_tokens", "max_completion_tokens", "max_output_tokens", "n", "store", "include", "prompt_cache_key", "previous_response_id", "conversation", "background":
		return true
	}
	return false
}
