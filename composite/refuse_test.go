package composite_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// bare has a point and is no hook.Hook.
type bare struct{}

func (bare) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.DenyTool("no"), nil
}

// wrongBare has neither the signature nor the other methods.
type wrongBare struct{}

func (*wrongBare) BeforeTool(*hook.ToolCall) error { return nil }

// misfit is a hook with a point that has another signature.
type misfit struct{ hook.Nop }

func (*misfit) BeforeTool(context.Context, *hook.ToolCall) hook.ToolDecision {
	return hook.DenyTool("no")
}

// misfitFacade hides a method of hook.Nop.
type misfitFacade struct{ hook.Nop }

func (misfitFacade) OnEvent(hook.Event) {}

// near has a name that is almost a point's.
type near struct{ hook.Nop }

func (near) BeforeTools(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.DenyTool("no"), nil
}

// nilNop panics at every method that it does not have itself.
type nilNop struct{ *hook.Nop }

// innocent has names of points by chance.
type innocent struct{ Next *innocent }

func (innocent) OnClose(context.Context) error { return nil }
func (innocent) Schema() string                { return "" }
func (innocent) Approve(string) error          { return nil }

type guardFunc func(context.Context, *hook.ToolCall) (hook.ToolDecision, error)

// A guard that a composite would drop without a word is refused, with a way out.
func TestNewRefusesWhatItWouldNotCall(t *testing.T) {
	guard := point.BeforeToolFunc(bare{}.BeforeTool)
	const out = "tag the field `hook:\"-\"`"
	tests := []struct {
		name string
		s    any
		want []string
	}{
		{"a point without hook.Hook", &struct{ G bare }{}, []string{".G: HG012: ", "composite_test.bare is no hook.Hook: it does not have Schema, SystemPrompt,", "embed hook.Nop in it, or " + out}},
		{"a pointer to it", &struct{ G *bare }{}, []string{"HG012", "is no hook.Hook", out}},
		{"a wrong point without hook.Hook", &struct{ G *wrongBare }{}, []string{"is no hook.Hook", "(*composite_test.wrongBare).BeforeTool does not fit hook.BeforeTool", out}},
		{"an interface of a point", &struct{ G hook.BeforeTool }{}, []string{"HG012: hook.BeforeTool is no hook.Hook", "make the field a hook.Hook, or " + out}},
		{"a wrong signature", &struct{ G *misfit }{}, []string{"HG012: (*composite_test.misfit).BeforeTool does not fit hook.BeforeTool", "have func(context.Context, *hook.ToolCall) hook.ToolDecision", "change the signature"}},
		{"a wrong method of the facade", &struct{ G misfitFacade }{}, []string{"OnEvent does not fit hook.Hook"}},
		{"a near miss", &struct{ G near }{}, []string{"HG013: (*composite_test.near).BeforeTools looks like the point BeforeTool and is never called", "call it BeforeTool"}},
		{"hook.Nop by pointer", &struct{ G *nilNop }{}, []string{"HG017: composite_test.nilNop embeds *hook.Nop", "embed hook.Nop"}},
		{"hook.Nop by pointer, further down", &struct{ G struct{ nilNop } }{}, []string{"HG017"}},
		{"a slice of another type", &struct{ G []*probe }{}, []string{"HG016: a group is a []hook.Hook, not a []*composite_test.probe", "G []hook.Hook"}},
		{"a slice of a point", &struct{ G []hook.BeforeTool }{}, []string{"HG016", out}},
		{"a map", &struct{ G map[string]hook.Hook }{}, []string{"HG016: map[string]hook.Hook holds hook.Hook, and no hook inside is called", out}},
		{"an array", &struct{ G [2]*probe }{}, []string{"HG016: [2]*composite_test.probe holds composite_test.probe"}},
		{"a pointer to a slice", &struct{ G *[]hook.Hook }{}, []string{"HG016"}},
		{"any", &struct{ G any }{guard}, []string{"HG016: interface {} holds point.beforeToolFunc"}},
		{"a map of any", &struct{ G map[string]any }{map[string]any{"g": guard}}, []string{"HG016"}},
		{"a struct", &struct{ G struct{ H hook.Hook } }{}, []string{"HG016", "hook.Hook in H"}},
		{"a pointer to a named struct", &struct{ G *struct{ Inner three } }{}, []string{"HG016", "composite_test.probe in A in Inner"}},
		{"an embedded struct", &struct{ three }{}, []string{"HG016"}},
		{"a function", &struct{ G guardFunc }{}, []string{"HG016: a function of the signature of hook.BeforeTool is no hook", "point.BeforeToolFunc(…)", out}},
		{"a list of functions", &struct{ G []guardFunc }{}, []string{"HG016"}},
		{"an unexported guard", &struct{ g bare }{}, []string{"HG012"}},
		{"a tag without quotes", reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "G", Type: reflect.TypeFor[*probe](), Tag: "hook=optional"},
		})).Interface(), []string{"HG009: the tag is not in the form"}},
		{"a blank field", &struct {
			G *probe
			_ *probe
		}{}, []string{"HG016: a hook in a field without a name can neither be set nor called"}},
		{"a key that is almost hook", &struct {
			G *probe `hok:"optional"`
		}{}, []string{`HG009: unknown tag key "hok"`, `write hook:"…"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := composite.New(tt.s)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestNewLeavesOthersAlone(t *testing.T) {
	c, err := composite.New(&struct {
		hook.Nop
		A     *probe `hook:"optional" json:"-"`
		B     innocent
		C     func(context.Context) error
		D     any
		E     map[string]any
		F     error
		G     *innocent
		Skip  bare                 `hook:"-"`
		Skip2 map[string]hook.Hook `hook:"-"`
		Skip3 near                 `hook:"-"`
		Meant hook.Hook
	}{D: 1, E: map[string]any{"x": 2}, Meant: near{}})
	require.NoError(t, err)
	var fields []string
	for _, m := range c.Plan().Members {
		fields = append(fields, m.Field)
	}
	assert.Equal(t, []string{"Nop", "A", "Meant"}, fields)
}
