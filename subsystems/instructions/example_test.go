package instructions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

func Example() {
	project, err := os.MkdirTemp("", "project")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(project)
	for name, text := range map[string]string{
		"AGENTS.md": "Run make test before you say that it works.\nHow we write is in @style.md.\n",
		"style.md":  "Short sentences.\n", "CLAUDE.md": "@AGENTS.md\n",
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}

	ctx := context.Background()
	in := instructions.New(&instructions.Options{Root: project})
	agent := &hook.AgentConfig{Name: "helper"}
	files, err := in.Files(ctx, agent)
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		fmt.Printf("%s ~%d tokens %q\n", f.Path, f.Tokens(), f.Note)
	}
	sections, err := in.PromptSections(ctx, hooktest.Turn(hooktest.Conversation(agent, nil), "hello"))
	if err != nil {
		panic(err)
	}
	_, text, _ := strings.Cut(sections[0].Text, "\n\n")
	fmt.Println(text)
	// Output:
	// style.md ~5 tokens ""
	// AGENTS.md ~19 tokens ""
	// CLAUDE.md ~0 tokens "left out: it only imports"
	// <project_file path="style.md" imported_by="AGENTS.md">
	// Short sentences.
	// </project_file>
	//
	// <project_file path="AGENTS.md">
	// Run make test before you say that it works.
	// How we write is in @style.md.
	// </project_file>
}
