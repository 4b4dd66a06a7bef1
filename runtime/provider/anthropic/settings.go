package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

const (
	// betaHeader names features that are not in the version of the API.
	betaHeader = "Anthropic-Beta"
	// dropBeta lets a request say what happens to thinking that does not fit its history.
	dropBeta = "thinking-binding-controls-2026-08-01"
	// someTokens limits answers of models without a known limit.
	someTokens = 8192
)

// settings are what a request has besides tools, system prompt and messages.
type settings struct {
	model     message.Model
	maxTokens int
	// thinking and effort are members of the body; "" is none.
	thinking, effort string
	// budget: thinking has a fixed budget.
	budget bool
	// drops: the server leaves out thinking that does not fit the history.
	drops bool
	// forget: no thinking goes back.
	forget bool
	// prefill: the model continues an answer that is the last message.
	prefill bool
	extra   string
}

// settingsOf returns the settings of a request to the model. All rules that models differ in
// come from the catalog.
func (p *Provider) settingsOf(m message.Model) (s settings, err error) {
	m.Name = cmp.Or(m.Name, p.o.Model)
	s.model = m
	if m.Name == "" {
		return s, errors.New("no model is named; set one, such as claude-opus-5-5")
	}
	if err := errors.Join(p.o.Catalog.Check(vendor, m), checkTier(m.Tier), checkStop(m.Stop)); err != nil {
		return s, err
	}
	if s.extra, err = wire.Members(m.Extra, reserved); err != nil {
		return s, err
	}
	f := p.o.Catalog.Family(vendor, m.Name)
	s.prefill = f.Prefill
	budget := s.think(f)
	s.maxTokens = m.MaxTokens
	if s.maxTokens == 0 { // thinking counts as part of the answer
		s.maxTokens = cmp.Or(f.MaxOutput, someTokens) + budget
		if known, ok := p.o.Catalog.Model(vendor, m.Name); ok && known.Output > 0 {
			s.maxTokens = min(s.maxTokens, known.Output)
		}
	}
	return s, nil
}

// think sets how the model thinks, and returns the budget.
func (s *settings) think(f catalog.Family) (budget int) {
	r := s.model.Reasoning
	switch {
	case r.Budget > 0:
		budget = r.Budget
	case r.Effort == message.EffortOff:
		if f.Off != "" && f.Off != "omit" {
			s.thinking = `{"type":"` + f.Off + `"}`
		}
		s.forget = f.Bound == "conversation" // nothing could tell the server to drop what does not fit
		return 0
	case r.Effort != "" && f.Budgets[string(r.Effort)] > 0:
		budget = f.Budgets[string(r.Effort)]
	case f.Reasoning == catalog.Adaptive && (r.Effort != "" || f.DefaultOn && strings.Contains(s.model.Name, "claude")):
		s.adapt(f) // models of others behind this wire get only what was asked for
	}
	if budget > 0 {
		s.thinking, s.budget = fmt.Sprintf(`{"type":"enabled","budget_tokens":%d}`, budget), true
	} else {
		s.effort = string(r.Effort)
	}
	return budget
}

func (s *settings) adapt(f catalog.Family) {
	s.thinking = `{"type":"adaptive"`
	if f.Display { // without it people see nothing of the thinking
		s.thinking += `,"display":"summarized"`
	}
	if f.Bound == "conversation" { // contexts that are not stored, and compaction, change what stands before
		s.thinking += `,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
		s.drops = true
	}
	s.thinking += `}`
}

func checkTier(tier string) error {
	switch tier {
	case "", "auto", "standard_only":
		return nil
	}
	return fmt.Errorf("there is no service tier %q; set service_tier to auto or standard_only, or leave it out", tier)
}

func checkStop(stop message.List[string]) error {
	for _, s := range stop.All() {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("the stop text %q is blank, and the API refuses it; set stop to texts with a visible character", s)
		}
	}
	return nil
}

func reserved(key string) bool {
	switch key {
	case "model", "messages", "system", "tools", "tool_choice", "max_tokens", "stream", "thinking", "output_config",
		"stop_sequences", "service_tier":
		return true
	case "mcp_servers": // no rule or approval sees calls of tools that the server makes there
		return true
	}
	return false
}
