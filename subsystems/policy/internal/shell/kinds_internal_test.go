package shell

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/programs"
)

// TestKinds: every kind of operands and values in the table has a judge.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, p := range programs.Table() {
		for _, kind := range p.Kinds {
			assert.NotNil(t, kinds(kind), "%s: %s", name, kind)
		}
		for flag, f := range p.Flags {
			if f.Kind != "" {
				assert.NotNil(t, kinds(f.Kind), "%s %s: %s", name, flag, f.Kind)
			}
		}
	}
}
