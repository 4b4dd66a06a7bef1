package picture_test

import (
	"testing"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
)

// FuzzRender: whatever the names are, every line of the picture is one that Mermaid reads.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"Notes", "<b>", `"`, `\`, "\u202e", "\xff", "Ж日本語", "a b c d e f g h i j k l m n o p q r s t u v w x y z", "-->]]>"} {
		f.Add(s, s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, field, name string, n uint8) {
		p := &plan.Plan{Type: name}
		for i := range int(n%8) + 1 {
			m := plan.Member{
				Field: field, Type: name, Optional: i%2 == 0, Dynamic: i%3 == 0, Prefix: name, Tools: []string{name, field},
				Points: use("BeforeTool:"+field, "OnClose", name), Match: []string{name},
			}
			if i%4 == 3 {
				m.Composite = &plan.Plan{Type: name, Members: []plan.Member{{Field: name, Points: use("OnClose")}, {Field: field, Group: true}}}
			}
			p.Members = append(p.Members, m)
		}
		s := picture.Source{Plan: p, Points: points()}
		charts(t, render(t, picture.Markdown, s))
	})
}
