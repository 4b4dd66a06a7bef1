package schemas_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	experiment "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/schemas"
)

const smallText = `{"title":"Shopping list","body":"Milk, bread and coffee.","limit":25}`

// largeText is a plan of twenty steps.
func largeText() string {
	steps := make([]string, 20)
	for i := range steps {
		steps[i] = fmt.Sprintf(`{"id":%d,"text":"Read file number %d and say what is \"new\" in it.","priority":"normal","done":%t,"weight":%d.25,"tags":["read","file"],"parent":null}`,
			i+1, i, i%2 == 0, i)
	}
	return `{"name":"A plan","steps":[` + strings.Join(steps, ",") + `],"labels":{"team":"a","branch":"main"}}`
}

// measure compares what is generated, which validates and keeps the canonical text too, with libraries that only decode.
func measure[T any](b *testing.B, tool, text string) {
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: message.JSON(text)})
	for _, way := range []struct {
		name string
		do   func() error
	}{
		{"generated", func() error {
			if inv, _ := new(schemas.Measured).Dispatch(context.Background(), call); inv.Err() != nil {
				return inv.Err()
			}
			return nil
		}},
		{"go-json-experiment", func() error {
			return experiment.Unmarshal([]byte(call.Args()), new(T), experiment.RejectUnknownMembers(true))
		}},
		{"encoding-json", func() error { return json.Unmarshal([]byte(call.Args()), new(T)) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := way.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSmallInput(b *testing.B) { measure[schemas.Small](b, schemas.ToolSmall, smallText) }

func BenchmarkLargeInput(b *testing.B) {
	measure[schemas.Large](b, schemas.ToolLarge, largeText())
}

// All three read the same, so the figures compare like with like.
func TestMeasuredInputsAreValid(t *testing.T) {
	t.Parallel()
	for tool, text := range map[string]string{schemas.ToolSmall: smallText, schemas.ToolLarge: largeText()} {
		call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: message.JSON(text)})
		inv, owned := new(schemas.Measured).Dispatch(t.Context(), call)
		require.True(t, owned)
		require.Nil(t, inv.Err())
	}
	var byExperiment, byStandard schemas.Large
	require.NoError(t, experiment.Unmarshal([]byte(largeText()), &byExperiment, experiment.RejectUnknownMembers(true)))
	require.NoError(t, json.Unmarshal([]byte(largeText()), &byStandard))
	require.Equal(t, byExperiment, byStandard)
	require.Len(t, byStandard.Steps, 20)
}
