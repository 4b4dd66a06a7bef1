package larder_test

import (
	"flag"
	"reflect"
	"testing"

	"example.com/pantry/subsystems/larder"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

// What every hook must keep, whatever it does, and what this one has: go test -update writes the file, for a review to look at.
func TestConformance(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook { return larder.New() }, &hooktest.Options{
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// example is one call, and what should come of it.
type example struct {
	name    string
	args    message.JSON
	failure message.FailureKind // "" for success
	want    string              // "" for any
}

// check calls a tool of h with the arguments of each example, one after another.
func check(t *testing.T, h hook.Hook, tool string, examples []example) {
	t.Helper()
	for _, tt := range examples {
		t.Run(tt.name, func(t *testing.T) {
			got := hooktest.Invoke(t.Context(), h, hooktest.Call(nil, tool, tt.args))
			if got.Failure != tt.failure || tt.want != "" && got.Text() != tt.want {
				t.Errorf("got %q %q, want %q %q", got.Failure, got.Text(), tt.failure, tt.want)
			}
		})
	}
}

func TestPut(t *testing.T) {
	check(t, larder.New(), larder.ToolLarderPut, []example{
		{"one", `{"item":"egg"}`, "", `{"item":"egg","pieces":1}`},
		{"more", `{"item":"egg","pieces":5}`, "", `{"item":"egg","pieces":6}`},
		{"none", `{"item":"egg","pieces":0}`, message.FailArguments, ""},
	})
}

func TestTake(t *testing.T) {
	l := larder.New()
	check(t, l, larder.ToolLarderPut, []example{{"put", `{"item":"egg","pieces":6}`, "", `{"item":"egg","pieces":6}`}})
	check(t, l, larder.ToolLarderTake, []example{
		{"too many", `{"item":"egg","pieces":7}`, message.FailNotFound, "there are 6 of egg"},
		{"some", `{"item":"egg","pieces":2}`, "", "4 left"},
	})
}

func TestTakeIsBounded(t *testing.T) {
	l := larder.New()
	for _, name := range []string{"one turn", "the next one"} {
		step := hooktest.Step(nil)
		for i, want := range []hook.ToolDecision{{}, {}, hook.DenyTool("That is enough for one request.")} {
			got, err := l.BeforeTool(t.Context(), hooktest.Call(step, larder.ToolLarderTake, `{"item":"egg"}`))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, call %d: %v, %v", name, i, got, err)
			}
		}
	}
}
