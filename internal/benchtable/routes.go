package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const routesDir = "internal/benchtable/testdata/routes"

// owners is how many subsystems share the tools of a package.
const owners = 4

// writeRoutes writes a package for each number of tools and returns their
// patterns.
func writeRoutes(dir string) (patterns []string, err error) {
	for _, tools := range []int{8, 64, 512} {
		at := filepath.Join(dir, fmt.Sprintf("tools%d", tools))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return nil, err
		}
		for name, text := range map[string]string{"tools.go": toolsSource(tools), "bench_test.go": benchSource(tools)} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
		patterns = append(patterns, "./"+filepath.ToSlash(at))
	}
	return patterns, nil
}

// toolsSource is a composite of subsystems that have n tools together.
func toolsSource(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `// Package tools%d is written by benchtable.
package tools%[1]d

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// Input is the input of every tool.
type Input struct {
	// Title is a title.
	Title string `+"`json:\"title\"`"+`
	// Limit is a number.
	Limit int `+"`json:\"limit,omitzero\"`"+`
}

// All owns every tool.
//
//hook:composite
type All struct {
	S0 *S0
	S1 *S1
	S2 *S2
	S3 *S3
}
`, n)
	for s := range owners {
		fmt.Fprintf(&b, `
// S%d owns some tools.
//
//hook:subsystem
type S%[1]d struct{ hook.Nop }
`, s)
		for i := range n / owners {
			fmt.Fprintf(&b, `
// T%[2]d does nothing.
//
//hook:tool name=owner%[1]d_tool_%[2]d
func (*S%[1]d) T%[2]d(context.Context, Input) error { return nil }
`, s, i)
		}
	}
	return b.String()
}

// benchSource measures the composite's dispatch of a tool in the middle beside
// the same binding called by hand.
func benchSource(n int) string {
	return fmt.Sprintf(`package tools%d

import (
	"testing"

	"github.com/grapnel-go/grapnel/hook"
)

func BenchmarkRoute(b *testing.B) {
	all, ctx := &All{S0: &S0{}, S1: &S1{}, S2: &S2{}, S3: &S3{}}, b.Context()
	call := hook.NewToolCall(hook.ToolCallData{
		ID: "1", Tool: hook.Tool{Name: "owner2_tool_%d"}, Args: `+"`"+`{"title":"Shopping list","limit":25}`+"`"+`,
	})
	b.Run("limit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if inv := %s(all.S2, call); inv.Err() != nil {
				b.Fatal(inv.Err())
			}
		}
	})
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if inv, ok := all.Dispatch(ctx, call); !ok || inv.Err() != nil {
				b.Fatal(inv.Err())
			}
		}
	})
}
`, n, n/owners/2, fmt.Sprintf("bindOwner2Tool%d", n/owners/2))
}
