package scaffold_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/model"
	"github.com/grapnel-go/grapnel/gen/internal/scaffold"
)

// The names of a tool are those that the generator makes of its method, or its directive says so.
func TestToolNames(t *testing.T) {
	tests := []struct{ asked, name, method, option string }{
		{"add", "notes_add", "Add", ""},
		{"list_all", "notes_list_all", "ListAll", ""},
		{"listAll", "notes_list_all", "ListAll", ""},
		{"ListAll", "notes_list_all", "ListAll", ""},
		{"list-all", "notes_list-all", "ListAll", " name=notes_list-all"},
		{"http-get", "notes_http-get", "HTTPGet", " name=notes_http-get"},
		{"http_get", "notes_http_get", "HTTPGet", ""},
		{"get_http_url", "notes_get_http_url", "GetHTTPURL", " name=notes_get_http_url"},
		{"HTTPGet", "notes_http_get", "HTTPGet", ""},
		{"notes_add", "notes_add", "Add", ""},
		{"notes", "notes", "Notes", " name=notes"},
		{"a1", "notes_a1", "A1", ""},
		{"step_2", "notes_step_2", "Step2", " name=notes_step_2"},
	}
	for _, tt := range tests {
		t.Run(tt.asked, func(t *testing.T) {
			t.Parallel()
			s, err := scaffold.NewSubsystem(scaffold.Options{Name: "notes", Tools: []string{tt.asked}})
			require.NoError(t, err)
			got := s.Tools[0]
			assert.Equal(t, []string{tt.name, tt.method, tt.option}, []string{got.Name, got.Method, got.Option})
			assert.Equal(t, model.ConstName(got.Name), got.Const)
			if got.Option == "" {
				assert.Equal(t, got.Name, s.Prefix+model.Snake(got.Method))
			}
		})
	}
}

func TestHint(t *testing.T) {
	for name, hint := range map[string]string{"errors": "the standard library has a package errors too", "notes": ""} {
		s, err := scaffold.NewSubsystem(scaffold.Options{Name: name})
		require.NoError(t, err)
		assert.Contains(t, s.Hint(), hint)
		assert.Equal(t, hint == "", s.Hint() == "")
	}
}
