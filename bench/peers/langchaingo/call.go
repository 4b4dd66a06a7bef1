package langchaingo

import (
	"context"
	"encoding/json"

	"github.com/tmc/langchaingo/tools"

	"github.com/grapnel-go/grapnel/bench/work"
)

// finder is a tool. LangChainGo has no typed ones: a tool takes a text and returns
// one, so what it does with JSON is written by hand, with encoding/json.
type finder struct{ find work.Finder }

var _ tools.Tool = finder{}

// Name implements tools.Tool.
func (finder) Name() string { return work.Tool }

// Description implements tools.Tool.
func (finder) Description() string { return work.About }

// Call implements tools.Tool.
func (f finder) Call(_ context.Context, input string) (string, error) {
	var in work.Input
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		return "", err
	}
	out, err := f.find(in)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// Caller calls the tool through its interface.
func Caller(find work.Finder) work.Caller {
	var tool tools.Tool = finder{find}
	return work.Caller{Call: tool.Call}
}
