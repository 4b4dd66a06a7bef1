package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/subsystems/memory"
)

func Example() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	m, err := memory.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = m.OnClose(ctx) }()

	// A runtime calls the tools for a model; a program may do it too.
	said, err := m.Remember(ctx, nil, memory.RememberInput{
		Name: "tea", Content: "Green, three minutes.", Aliases: []string{"hot drinks"},
	})
	fmt.Println(said, err)
	found, err := m.Recall(ctx, nil, memory.RecallInput{Query: "which drinks do they like?"})
	fmt.Println(found.Text(), err)
	// Output:
	// remembered tea <nil>
	// ## tea
	// Green, three minutes. <nil>
}
