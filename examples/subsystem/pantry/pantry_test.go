package pantry_test

import (
	"flag"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/examples/subsystem/pantry"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return pantry.New() }, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
}

func TestTools(t *testing.T) {
	t.Parallel()
	p := pantry.New()
	tests := []struct {
		tool    string
		args    message.JSON
		failure message.FailureKind
		want    string
	}{
		{pantry.ToolPantryList, `{}`, "", `[]`},
		{pantry.ToolPantryPut, `{"item":"egg","pieces":6}`, "", "egg: 6"},
		{pantry.ToolPantryPut, `{"item":"egg","pieces":6}`, "", "egg: 12"},
		{pantry.ToolPantryTake, `{"item":"egg","pieces":10}`, "", "egg: 2"},
		{pantry.ToolPantryTake, `{"item":"egg","pieces":3}`, message.FailOperation, "there are only 2 of egg"},
		{pantry.ToolPantryList, `{}`, "", `[{"item":"egg","pieces":2}]`},
	}
	for _, tt := range tests {
		r := hooktest.Invoke(t.Context(), p, hooktest.Call(nil, tt.tool, tt.args))
		assert.Equal(t, tt.failure, r.Failure, "%s", r.Text())
		assert.Equal(t, tt.want, r.Text())
	}
}

func TestRefusesArguments(t *testing.T) {
	t.Parallel()
	for _, args := range []message.JSON{
		`{"item":"egg"}`, `{"item":"egg","pieces":0}`, `{"item":"egg","pieces":1000}`, `{"item":"","pieces":1}`,
		`{"item":"egg","pieces":1,"Item":"cake"}`, `{"item":"egg","pieces":1.5}`, `{"item":"egg","pieces":1}}`,
	} {
		r := hooktest.Invoke(t.Context(), pantry.New(), hooktest.Call(nil, pantry.ToolPantryPut, args))
		assert.Equal(t, message.FailArguments, r.Failure, "%s", args)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	p := pantry.New()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			hooktest.Invoke(t.Context(), p, hooktest.Call(nil, pantry.ToolPantryPut, `{"item":"egg","pieces":1}`))
		})
	}
	wg.Wait()
	assert.Equal(t, `[{"item":"egg","pieces":50}]`, hooktest.Invoke(t.Context(), p, hooktest.Call(nil, pantry.ToolPantryList, `{}`)).Text())
}
