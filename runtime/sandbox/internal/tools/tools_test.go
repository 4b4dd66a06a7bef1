package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

func TestGoFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, variable, file, want string }{
		{"none", "", "", "-modcacherw"},
		{"the variable", "-tags=a '-ldflags=-s -w'", "", "-modcacherw -tags=a '-ldflags=-s -w'"},
		{"the file", "", "# GOFLAGS=-x\nGOPROXY=off\nGOFLAGS=-tags=a\nGOFLAGS=-trimpath", "-modcacherw -trimpath"},
		{"the variable replaces the file", "-tags=a", "GOFLAGS=-trimpath\n", "-modcacherw -tags=a"},
		{"the user's own choice comes last", "-modcacherw=false", "", "-modcacherw -modcacherw=false"},
		{"a file that is not shown", "", "GOFLAGS=-trimpath\nGOPROXY=https://ann:abc123@example.com\n", "-modcacherw"},
	} {
		home := t.TempDir()
		if tt.file != "" {
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".config", "go"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(home, ".config", "go", "env"), []byte(tt.file), 0o600))
		}
		name, value, _ := strings.Cut(tools.GoFlags(map[string]string{"GOFLAGS": tt.variable}, home), "=")
		assert.Equal(t, []string{"GOFLAGS", tt.want}, []string{name, value}, tt.name)
	}
}
