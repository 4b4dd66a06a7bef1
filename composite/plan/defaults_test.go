package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
)

func TestDefaultsRoundTrip(t *testing.T) {
	for _, text := range []string{
		"", "order=50", "requires=a.B before=c.D,e.F after=g.H",
		"order=1 timeout=BeforeTool:2s,RewriteArgs:500ms failopen=BeforeTool failclosed=WrapTool",
	} {
		d, problems := plan.ParseDefaults(text, points)
		require.Empty(t, problems, text)
		assert.Equal(t, text, d.String())
	}
	d, problems := plan.ParseDefaults("rev=12ab tools=a,b novel=1 order=5", points)
	require.Empty(t, problems, "words of others are theirs")
	assert.Equal(t, plan.Defaults{Order: 5}, d)
}

// The field beats the subsystem, option by option.
func TestOptionsOverDefaults(t *testing.T) {
	d, problems := plan.ParseDefaults("order=50 timeout=BeforeTool:2s,WrapTool:3s failopen=BeforeTool,RewriteArgs", points)
	require.Empty(t, problems)
	o, problems := plan.ParseTag("without=RewriteArgs; BeforeTool: failclosed", points)
	require.Empty(t, problems)
	got := o.Over(d)
	assert.Equal(t, 50, *got.Order)
	assert.Equal(t, []plan.PointUse{
		{Name: "BeforeTool", Policy: "failclosed", Timeout: plan.Duration(2 * time.Second)}, {Name: "WrapTool", Timeout: plan.Duration(3 * time.Second)},
	}, got.Points, "nothing is said of a point that is left out")
	assert.Equal(t, got, got.Over(d), "twice is once")

	o, _ = plan.ParseTag("order=7", points)
	assert.Equal(t, 7, *o.Over(d).Order)
}

func TestSubsystemsThatRelate(t *testing.T) {
	says := func(s plan.Spec, text string) plan.Spec {
		d, problems := plan.ParseDefaults(text, points)
		require.Empty(t, problems)
		s.Defaults = d
		return s
	}
	tests := []struct {
		name, want string // the order, else the codes of problems
		specs      []plan.Spec
	}{
		{"before", "C A B", []plan.Spec{spec(t, "A", ""), spec(t, "B", ""), says(spec(t, "C", ""), "before=p.A")}},
		{"after", "B C A", []plan.Spec{says(spec(t, "A", ""), "after=p.C"), spec(t, "B", ""), spec(t, "C", "")}},
		{"nobody of that type", "A B", []plan.Spec{says(spec(t, "A", ""), "after=p.X"), spec(t, "B", "")}},
		{"a tag says the contrary", "A B", []plan.Spec{says(spec(t, "A", "before=B"), "after=p.B"), spec(t, "B", "")}},
		{"the other's tag does", "A B", []plan.Spec{says(spec(t, "A", ""), "after=p.B"), spec(t, "B", "after=A")}},
		{"two subsystems contradict each other", "HG026", []plan.Spec{says(spec(t, "A", ""), "before=p.B"), says(spec(t, "B", ""), "before=p.A")}},
		{"required and there", "A B", []plan.Spec{says(spec(t, "A", ""), "requires=p.B"), spec(t, "B", "")}},
		{"required and not there", "HG028", []plan.Spec{says(spec(t, "A", ""), "requires=p.B")}},
		{"required and optional", "HG028", []plan.Spec{says(spec(t, "A", ""), "requires=p.B"), spec(t, "B", "optional")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := plan.Build("p.T", tt.specs)
			var codes []string
			for _, p := range problems {
				codes = append(codes, p.Code)
			}
			if codes == nil {
				codes = []string{order(p)}
			}
			assert.Equal(t, tt.want, strings.Join(codes, " "))
		})
	}
}
