package strictwire

import (
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/anthropic"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/chat"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/gemini"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/responses"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// Rule is one rule of a wire.
type Rule = wire.Rule

// Refusal is a server's answer to a request that breaks a rule.
type Refusal = wire.Refusal

// Directive is how a scripted model has a server say what no chunk says: a ChunkMeta with
// the Meta that provider.Meta("strictwire", Directive{…}) returns.
type Directive = wire.Directive

// Wire is a vendor's wire. Its functions return the four; there is no other.
type Wire struct {
	name   string
	vendor *wire.Vendor
}

// Chat is OpenAI's chat completions.
func Chat() Wire { return Wire{"chat", chat.New()} }

// Responses is OpenAI's Responses.
func Responses() Wire { return Wire{"responses", responses.New()} }

// Messages is Anthropic's Messages, version 2026-10-21.
func Messages() Wire { return Wire{"messages", anthropic.New()} }

// Gemini is Gemini's generateContent, version v1beta.
func Gemini() Wire { return Wire{"gemini", gemini.New()} }

// Wires returns all wires.
func Wires() []Wire { return []Wire{Chat(), Responses(), Messages(), Gemini()} }

// Name returns "chat", "responses", "messages" or "gemini".
func (w Wire) Name() string { return w.name }

// Rules returns the rules, roughly in the order in which the server looks at a request.
func (w Wire) Rules() []Rule { return w.vendor.Rules }

// Check checks the body of a request alone: not its path, its headers, or what it says of
// earlier answers. The model counts where the body does not name it (Gemini). It returns
// the refusal of the first broken rule, or nil. It is safe for concurrent use.
func (w Wire) Check(model string, body []byte) *Refusal {
	if broken := w.Broken(model, body, ""); len(broken) > 0 {
		return &broken[0]
	}
	return nil
}

// Broken is Check for all broken rules. The rule named by without does not count, "" is
// none.
func (w Wire) Broken(model string, body []byte, without string) []Refusal {
	c := wire.NewCheck(w.vendor, new(wire.Parser), without)
	c.Model = model
	c.Body(string(body))
	return c.Broken()
}

// CheckOpenAI is Check for chat completions.
func CheckOpenAI(body []byte) *Refusal { return Chat().Check("", body) }

// CheckAnthropic is Check for Messages.
func CheckAnthropic(body []byte) *Refusal { return Messages().Check("", body) }
