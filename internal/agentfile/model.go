package agentfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// Model reads the value of the key `model`, in an agent's file and in the user's settings: a
// model's id, or a mapping with the id and the settings of its requests.
func Model(r *yamldoc.Reader, v *yaml.Node) message.Model {
	if v.Kind == yaml.ScalarNode {
		return message.Model{Name: r.Text(v, "model")}
	}
	m := message.Model{}
	f := modelFields{r}
	r.Mapping(v, "model", "write `model: VENDOR:NAME`, or `model: {name: VENDOR:NAME, temperature: 0.2}`", map[string]func(*yaml.Node){
		"name":           func(n *yaml.Node) { m.Name = r.Text(n, "model.name") },
		"max_tokens":     func(n *yaml.Node) { m.MaxTokens = int(r.Number(n, "model.max_tokens")) },
		"context_window": func(n *yaml.Node) { m.ContextWindow = int(r.Number(n, "model.context_window")) },
		"temperature":    func(n *yaml.Node) { m.Temperature = f.number(n, "model.temperature", math.MaxFloat32) },
		"top_p":          func(n *yaml.Node) { m.TopP = f.number(n, "model.top_p", 1) },
		"seed":           func(n *yaml.Node) { m.Seed = f.seed(n) },
		"reasoning":      func(n *yaml.Node) { m.Reasoning = f.reasoning(n) },
		"stop":           func(n *yaml.Node) { m.Stop = f.stop(n) },
		"tool_choice":    func(n *yaml.Node) { m.Choice = f.choice(n) },
		"service_tier":   func(n *yaml.Node) { m.Tier = r.Text(n, "model.service_tier") },
		"extra":          func(n *yaml.Node) { m.Extra = f.extra(n) },
	})
	return m
}

// modelFields reads the values of settings of a model.
type modelFields struct{ *yamldoc.Reader }

func (f modelFields) number(v *yaml.Node, key string, most float64) message.Optional[float64] {
	n, err := strconv.ParseFloat(v.Value, 64)
	if v.Kind != yaml.ScalarNode || err != nil || !(n >= 0 && n <= most) { // NaN is neither
		fix := "write a number from 0 on, such as 0.2, or leave it out for the vendor's default"
		if most == 1 {
			fix = "write a number from 0 to 1, or leave it out for the vendor's default"
		}
		f.Wrong(v, fmt.Sprintf("%s is %q", key, v.Value), fix)
		return message.Optional[float64]{}
	}
	return message.Some(n)
}

func (f modelFields) seed(v *yaml.Node) message.Optional[int64] {
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if v.Kind != yaml.ScalarNode || err != nil {
		f.Wrong(v, fmt.Sprintf("model.seed is %q", v.Value), "write a whole number, or leave it out")
		return message.Optional[int64]{}
	}
	return message.Some(n)
}

func (f modelFields) reasoning(v *yaml.Node) message.Reasoning {
	r, err := ParseReasoning(v.Value)
	if v.Kind != yaml.ScalarNode || err != nil {
		f.Wrong(v, fmt.Sprintf("model.reasoning is %q", v.Value), reasoningFix)
	}
	return r
}

const reasoningFix = "write off, low, medium, high, or a number of tokens"

// ParseReasoning reads how much a model may think: off, low, medium, high, or a number of tokens.
func ParseReasoning(text string) (message.Reasoning, error) {
	switch e := message.Effort(text); e {
	case message.EffortOff, message.EffortLow, message.EffortMedium, message.EffortHigh:
		return message.Reasoning{Effort: e}, nil
	case "false": // YAML before 1.2 calls off a boolean, and people write it so
		return message.Reasoning{Effort: message.EffortOff}, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return message.Reasoning{}, fmt.Errorf("reasoning is %.40q; %s", text, reasoningFix)
	}
	return message.Reasoning{Budget: int(n)}, nil
}

// stop reads one text, or a list of texts, each as it is.
func (f modelFields) stop(v *yaml.Node) message.List[string] {
	const fix = "write `stop: [\"END\"]`"
	texts := []string{v.Value}
	if v.Kind != yaml.ScalarNode {
		texts = f.Texts(v, "model.stop", fix)
	}
	for _, s := range texts {
		if s == "" {
			f.Wrong(v, "model.stop has an empty text", fix)
			return message.List[string]{}
		}
	}
	return message.Freeze(texts)
}

func (f modelFields) extra(v *yaml.Node) message.JSON {
	if v.Kind != yaml.MappingNode {
		f.Wrong(v, "model.extra is no mapping", "write the members to add to each request: `extra: {verbosity: low}`")
		return ""
	}
	return message.JSON(f.JSON(v))
}

// choice reads a mode, or a mapping that names the one tool.
func (f modelFields) choice(v *yaml.Node) (out message.ToolChoice) {
	const fix = "write `tool_choice: auto`, `none` or `required`, or `tool_choice: {tool: NAME}`"
	if v.Kind == yaml.ScalarNode {
		switch mode := message.ToolChoiceMode(v.Value); mode {
		case message.ToolChoiceAuto, message.ToolChoiceNone, message.ToolChoiceRequired:
			return message.ToolChoice{Mode: mode}
		}
		f.Wrong(v, fmt.Sprintf("tool_choice is %q", v.Value), fix)
		return out
	}
	f.Mapping(v, "tool_choice", fix, map[string]func(*yaml.Node){
		"tool": func(n *yaml.Node) {
			out = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: f.name(n, "tool_choice.tool")}
		},
	})
	return out
}

// name reads a text that providers require to be an identifier.
func (f modelFields) name(v *yaml.Node, key string) string {
	name := f.Text(v, key)
	if name != "" && !message.ValidToolName(name) {
		f.Wrong(v, fmt.Sprintf("%s is %q", key, name), "use 1 to 64 letters, digits, _ or -")
	}
	return name
}

// model reads the agent's model. Two of its settings have a second place in an agent's file.
func (r *reader) model(v *yaml.Node) {
	m := Model(&r.fields, v)
	if m.MaxTokens > 0 && r.cfg.Model.MaxTokens > 0 || m.ContextWindow > 0 && r.cfg.Model.ContextWindow > 0 {
		r.twiceIn(v, "max_tokens or context_window", "limits")
	}
	if m.Choice != (message.ToolChoice{}) {
		if r.at["tool_choice"] != nil {
			r.twiceIn(v, "tool_choice", "the agent")
		}
		r.at["tool_choice"] = v
	}
	r.cfg.Model = r.cfg.Model.Merge(m)
}

func (r *reader) twiceIn(v *yaml.Node, what, place string) {
	r.errorAt(v, fmt.Sprintf("%s is given twice, under model and under %s", what, place), "delete one of them")
}

// limit reads one of the limits that a model has, too.
func (r *reader) limit(v *yaml.Node, key string, to *int) {
	if *to > 0 {
		r.twiceIn(v, strings.TrimPrefix(key, "limits."), "limits")
	}
	*to = int(r.fields.Number(v, key))
}
