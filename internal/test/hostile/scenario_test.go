package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// scenario is one entry of testdata: see README.md there.
type scenario struct {
	Name    string              `yaml:"name"`
	Source  string              `yaml:"source"`
	Way     string              `yaml:"way"`
	Files   map[string]string   `yaml:"files"`
	Home    map[string]string   `yaml:"home"`
	Commits []string            `yaml:"commits"`
	Agents  map[string][]string `yaml:"agents"`
	Tools   []fakeTool          `yaml:"tools"`
	Turns   []turn              `yaml:"turns"`
	Reached []condition         `yaml:"reached"`
	Twin    struct {
		Turns []turn      `yaml:"turns"`
		Needs []condition `yaml:"needs"`
	} `yaml:"twin"`
}

// fakeTool is a tool of the MCP server.
type fakeTool struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	ReadOnly    bool              `yaml:"read_only"`
	Parameters  map[string]string `yaml:"parameters"`
	Answer      string            `yaml:"answer"`
}

// turn is what a person says, and the steps of the model.
type turn struct {
	User   string   `yaml:"user"`
	Attach []string `yaml:"attach"`
	New    bool     `yaml:"new"`
	Model  []step   `yaml:"model"`
}

type step struct {
	Calls []struct {
		Tool string         `yaml:"tool"`
		Args map[string]any `yaml:"args"`
	} `yaml:"calls"`
	Text string `yaml:"text"`
}

// condition is something that has happened.
type condition struct {
	Call       string         `yaml:"call"`
	Args       map[string]any `yaml:"args"`
	Request    *string        `yaml:"request"`
	Reply      string         `yaml:"reply"`
	File       string         `yaml:"file"`
	Has        string         `yaml:"has"`
	Remembered string         `yaml:"remembered"`
	Told       string         `yaml:"told"`
}

// scenarios reads a file of testdata.
func scenarios(t *testing.T, name string) []scenario {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	var out []scenario
	require.NoError(t, dec.Decode(&out), name)
	return out
}

// translated gives the arguments of this program's tools their names here.
func translated(tool string, args map[string]any) map[string]any {
	rename := map[string]string{}
	switch tool {
	case "read", "write", "edit":
		rename = map[string]string{"path": "file_path", "old": "old_string", "new": "new_string"}
	case "remember":
		rename = map[string]string{"entity": "name"}
	case "skill":
		rename = map[string]string{}
	}
	out := map[string]any{}
	for k, v := range args {
		if to, ok := rename[k]; ok {
			k = to
		}
		out[k] = v
	}
	return out
}

// script returns the model of the turns of one conversation, as a file of rules.
func script(t *testing.T, turns []turn, sink string) string {
	t.Helper()
	type call struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args,omitempty"`
	}
	type rule struct {
		Say   string `json:"say,omitempty"`
		Calls []call `json:"calls,omitempty"`
	}
	var rules []rule
	for _, turn := range turns {
		for _, s := range turn.Model {
			r := rule{Say: s.Text}
			for _, c := range s.Calls {
				r.Calls = append(r.Calls, call{c.Tool, translated(c.Tool, c.Args)})
			}
			rules = append(rules, r)
		}
		if n := len(turn.Model); n == 0 || len(turn.Model[n-1].Calls) > 0 {
			rules = append(rules, rule{Say: "Done."})
		}
	}
	var sb strings.Builder
	enc := json.NewEncoder(&sb)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(map[string]any{"rules": rules}))
	return strings.ReplaceAll(strings.ReplaceAll(sb.String(), "${", "$${"), "{{sink}}", sink)
}

// answers returns the model of another agent: one text for each task that it gets, known by the task.
func answers(t *testing.T, texts []string, tasks []string, sink string) string {
	t.Helper()
	var rules []map[string]any
	for i, task := range tasks {
		rules = append(rules, map[string]any{
			"when": map[string]any{"user": map[string]any{"contains": task}}, "say": texts[min(i, len(texts)-1)],
		})
	}
	rules = append(rules, map[string]any{"when": map[string]any{"step": 1}, "say": texts[0]})
	data, err := json.Marshal(map[string]any{"rules": rules})
	require.NoError(t, err)
	return strings.ReplaceAll(strings.ReplaceAll(string(data), "${", "$${"), "{{sink}}", sink)
}

// contains reports whether a value of arguments has the text: a list in one of its elements.
func contains(value any, want string) bool {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			if contains(e, want) {
				return true
			}
		}
		return false
	case float64:
		return strings.Contains(strings.TrimSuffix(fmt.Sprintf("%f", v), "000000"), want) || strings.Contains(fmt.Sprint(v), want)
	}
	return strings.Contains(fmt.Sprint(value), want)
}

// matches is regexp.MatchString for a pattern of testdata.
func matches(t *testing.T, pattern, text string) bool {
	t.Helper()
	re, err := regexp.Compile(pattern)
	require.NoError(t, err)
	return re.MatchString(text)
}
