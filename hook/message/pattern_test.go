package message_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
)

func TestMatchName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true}, {"read", "reads", false}, {"read", "Read", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "anything/at all", true}, {"**", "a", true},
		{"mcp__github__*", "mcp__github__search", true}, {"mcp__github__*", "mcp__github__", true}, {"mcp__github__*", "mcp__gitlab__search", false},
		{"mcp__search*", "mcp__search_web", true}, {"*_read", "notes_read", true}, {"*_read", "notes_reader", false},
		{"a*b*c", "abc", true}, {"a*b*c", "aXbYbZc", true}, {"a*b*c", "acb", false}, {"*ab", "aab", true},
		{"a*", "*", false}, {"*", "*", true}, {"a.c", "abc", false}, {"[a]*", "ab", false},
	} {
		assert.Equal(t, tt.want, message.MatchName(tt.pattern, tt.name), "%q %q", tt.pattern, tt.name)
	}
	assert.False(t, message.MatchName(strings.Repeat("*a", 32)+"b", strings.Repeat("a", 1<<12)), "hostile patterns end")
}

func TestValidToolPattern(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"read": true, "mcp__*": true, "*": true, "": false, "mcp:*": false, "a b": false, "a?": false, "{a,b}": false, strings.Repeat("*", 65): false,
	} {
		assert.Equal(t, want, message.ValidToolPattern(name), name)
	}
}
