package inspector_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMarkup: no text from outside does anything, and each of the two defences alone sees to it.
func TestMarkup(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"as it is", nil},
		{"without the policy", []string{"POLICY=off"}},
		{"with a careless renderer", []string{"TEXT=html"}},
		{"known bad: without either", []string{"POLICY=off", "TEXT=html", "REACHES=yes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			s.play("markup", nil, tt.env...)
		})
	}
}

// TestHostile: a hostile conversation, and a message of 50 MB, do nothing in the page.
func TestHostile(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	text, err := os.ReadFile(filepath.Join("testdata", "hostile.json"))
	require.NoError(t, err)
	var texts []struct {
		Name, Text string
		Times      int
	}
	require.NoError(t, json.Unmarshal(text, &texts))
	messages := []line{says("user", "the beginning of it"), says("assistant", "So be it.")}
	for _, x := range texts {
		hostile := strings.Repeat(x.Text, max(1, x.Times))
		call := line{"kind": "tool_call", "call_id": "call-" + x.Name, "tool": "bash", "json": line{"command": hostile, hostile[:min(len(hostile), 60)]: hostile}}
		messages = append(messages, says("user", hostile),
			line{"role": "assistant", "content": []line{{"kind": "reasoning", "text": hostile}, {"kind": "text", "text": hostile}, call}},
			line{"role": "tool", "call_id": "call-" + x.Name, "tool": "bash", "result": line{"content": []line{{"kind": "text", "text": hostile}}}},
			says("assistant", hostile))
	}
	// A model that calls a tool in vain may nest its arguments as it likes.
	deep := json.RawMessage(`{"command": "ls", "x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`)
	messages = append(messages, says("user", "How deep?"),
		line{"role": "assistant", "content": []line{{"kind": "tool_call", "call_id": "deep", "tool": "bash", "json": deep}}},
		line{"role": "tool", "call_id": "deep", "tool": "bash", "result": line{"content": []line{{"kind": "json", "json": deep}}}},
		says("user", "the end of it"), says("assistant", "At last."))
	s.play("hostile", does{
		"hostile": func() (string, error) { return s.imported(messages), nil },
		"large": func() (string, error) {
			large := strings.Repeat("<img src=x: onerror=\"window.ran='large'\"> \u202e **large** ", 50<<20/56)
			return s.imported([]line{says("user", "How large can it be?"), says("assistant", large), says("user", "And now?"), says("assistant", "Now a small one.")}), nil
		},
	})
}
