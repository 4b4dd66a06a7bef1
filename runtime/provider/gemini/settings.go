package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// maxStops is how many stop texts the API takes.
const maxStops = 5

// settings are what a request has besides tools, system prompt and messages.
type settings struct {
	model message.Model
	// url is where the request goes.
	url string
	// modern: it is Gemini 3 or later. The model wants signatures and ids of calls back, and
	// takes media within results.
	modern bool
	// thinking is the value of thinkingConfig; "" is none.
	thinking string
	// extra and config are further members of the body and of generationConfig, each behind
	// a comma.
	extra, config string
}

// settingsOf returns the settings of a request. All rules that models differ in come from the
// catalog.
func (p *Provider) settingsOf(req message.ModelRequest) (s settings, err error) {
	m := req.Model
	m.Name = cmp.Or(m.Name, p.o.Model)
	s.model = m
	if m.Name == "" {
		return s, errors.New("no model is named; set one, such as gemini-3.8-flash")
	}
	if s.url, err = p.url(m.Name); err != nil {
		return s, err
	}
	f := p.o.Catalog.Family(vendor, m.Name)
	s.modern = f.Signatures
	if err := errors.Join(p.o.Catalog.Check(vendor, m), check(m)); err != nil {
		return s, err
	}
	if s.asksJSON() && !s.modern && req.Tools.Tools().Len() > 0 {
		return s, fmt.Errorf("model %s: it takes a format only in requests without tools; leave one of them out, "+
			"give the format as the input of a tool, or use a model of Gemini 3 or later", m.Name)
	}
	s.thinking = thinkingOf(f, m)
	if s.model.MaxTokens == 0 {
		s.model.MaxTokens = f.MaxOutput
	}
	return s, s.setExtra(m.Extra)
}

func (s *settings) asksJSON() bool { return s.model.Format.JSON || s.model.Format.Schema != "" }

// check refuses what no model of the vendor takes.
func check(m message.Model) error {
	if m.Seed.Set && (m.Seed.Value < math.MinInt32 || m.Seed.Value > math.MaxInt32) {
		return fmt.Errorf("the seed %d does not fit into 32 bits; set seed to a number up to %d", m.Seed.Value, math.MaxInt32)
	}
	for _, v := range []float64{m.Temperature.Value, m.TopP.Value} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v is no temperature and no top_p; set them to numbers", v)
		}
	}
	if n := m.Stop.Len(); n > maxStops {
		return fmt.Errorf("there are %d stop texts, and the API takes %d; leave the others out", n, maxStops)
	}
	for _, s := range m.Stop.All() {
		if s == "" {
			return errors.New("a stop text is empty; leave it out")
		}
	}
	switch m.Tier {
	case "", "standard", "flex", "priority":
	default:
		return fmt.Errorf("there is no service tier %q; set service_tier to standard, flex or priority, or leave it out", m.Tier)
	}
	if m.Format.Schema != "" && !jsontext.Value(m.Format.Schema).IsValid() {
		return fmt.Errorf("the schema of the response format %q is no JSON", m.Format.Name)
	}
	return nil
}

// thinkingOf returns how the model thinks. Its thoughts are asked for wherever it thinks.
func thinkingOf(f catalog.Family, m message.Model) string {
	const thoughts = `{"includeThoughts":true`
	r := m.Reasoning
	budget := cmp.Or(r.Budget, f.Budgets[string(r.Effort)])
	switch {
	case f.Reasoning == catalog.None:
		return ""
	case r.Budget == 0 && r.Effort == message.EffortOff:
		if f.Reasoning != catalog.Budget { // no such model can be told to think of nothing
			return ""
		}
		return `{"thinkingBudget":` + f.Off + `}`
	case budget > 0:
		return thoughts + `,"thinkingBudget":` + strconv.Itoa(budget) + `}`
	case r.Effort != "":
		return thoughts + `,"thinkingLevel":"` + strings.ToUpper(string(r.Effort)) + `"}`
	case f.DefaultOn && strings.Contains(m.Name, vendor): // other models behind the API need not know it
		return thoughts + `}`
	}
	return ""
}

// setExtra takes further members. Those of generationConfig go into the one that is written
// here.
func (s *settings) setExtra(extra message.JSON) (err error) {
	if s.extra, err = wire.Members(extra, reserved); err != nil || s.extra == "" {
		return err
	}
	var own struct {
		Config jsontext.Value `json:"generationConfig"`
		Rest   jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal([]byte(extra), &own); err != nil {
		return err
	}
	if own.Config == nil {
		return nil
	}
	s.extra, _ = wire.Members(message.JSON(own.Rest), reserved) // they have been read once
	if s.config, err = wire.Members(message.JSON(own.Config), reservedConfig); err != nil {
		return fmt.Errorf("generationConfig: %w", err)
	}
	return nil
}

func reserved(key string) bool {
	switch key {
	case "contents", "systemInstruction", "tools", "toolConfig", "serviceTier", "continuationToken", "model":
		return true
	}
	return false
}

func reservedConfig(key string) bool {
	switch key {
	case "temperature", "topP", "seed", "stopSequences", "maxOutputTokens", "candidateCount", "thinkingConfig",
		"responseMimeType", "responseSchema", "responseJsonSchema":
		return true
	}
	return false
}
