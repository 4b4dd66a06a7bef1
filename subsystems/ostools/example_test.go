package ostools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

func Example() {
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	tools, err := ostools.New(root, nil)
	if err != nil {
		panic(err)
	}
	defer tools.Close()

	for _, call := range []struct {
		tool string
		args message.JSON
	}{
		{"write", `{"file_path":"docs/todo.md","content":"buy rope\nsail\n"}`},
		{"edit", `{"file_path":"docs/todo.md","old_string":"rope","new_string":"a grapnel"}`},
		{"read", `{"file_path":"docs/todo.md"}`},
		{"bash", `{"command":"wc -l < docs/todo.md; exit 3"}`},
		{"read", `{"file_path":"../elsewhere"}`},
	} {
		r := hooktest.Invoke(context.Background(), tools, hooktest.Call(nil, call.tool, call.args))
		if r.IsError() {
			fmt.Println(call.tool, "failed:", r.Failure)
			continue
		}
		fmt.Println(r.Text())
	}
	fmt.Println(filepath.IsAbs(tools.Root()))
	// Output:
	// Made docs/todo.md: 14 bytes.
	// Edited docs/todo.md at line 1.
	// 1	buy a grapnel
	// 2	sail
	// --- 2 total lines (showing lines 1-2) ---
	// {"stdout":"2\n","stderr":"","exit_code":3}
	// read failed: denied
	// true
}
