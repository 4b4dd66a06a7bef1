package skills_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

func Example() {
	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "anchor", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		panic(err)
	}
	text := "---\nname: anchor\ndescription: How to anchor. Use it before the boat stops.\n---\nLower it at $0 and give $1 of line.\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		panic(err)
	}

	s := skills.New(&skills.Options{Dirs: []string{dir}})
	for _, skill := range s.All() {
		fmt.Println(skill.Name, "·", skill.Description)
	}
	in, err := s.Preprocess(context.Background(), hooktest.Turn(nil, ""), message.TextInput(`/anchor "Dead Man's Cove" 30m`))
	if err != nil {
		panic(err)
	}
	for _, m := range in.Messages.All() {
		fmt.Printf("%q %s\n", m.Label, strings.ReplaceAll(m.Text(), dir, "DIR"))
	}
	// Output:
	// anchor · How to anchor. Use it before the boat stops.
	// "" /anchor "Dead Man's Cove" 30m
	// "skill" <skill_content name="anchor">
	// Lower it at Dead Man's Cove and give 30m of line.
	//
	// Skill directory: DIR/anchor
	// </skill_content>
}
