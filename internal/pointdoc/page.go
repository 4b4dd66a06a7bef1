package pointdoc

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/aliases"
)

func (s *Source) diagram() string {
	o := picture.Contract{Answers: s.Answers(), Silent: s.Silent()}
	for _, info := range point.All() {
		o.Points = append(o.Points, picture.Point(info))
	}
	return picture.LifecycleDiagram(o)
}

// Pages returns the page of each point, by its file name.
func (s *Source) Pages() map[string]string {
	out := map[string]string{"README.md": s.index()}
	for _, p := range s.points {
		out[p.name+".md"] = s.page(p)
	}
	return out
}

func (s *Source) index() string {
	var b strings.Builder
	b.WriteString("# The points\n\nEvery point in the order in which the runtime calls it, in the scopes around it. Written from the\n" +
		"declarations in package `hook`.\n\n" + s.diagram() + "\n| point | kind | answers | |\n|---|---|---|---|\n")
	for _, p := range s.ordered() {
		info := infoOf(p.name)
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", p.name, p.name, info.Kind, strings.Join(s.Answers()[p.name], ", "), first(p.doc))
	}
	return b.String()
}

func (s *Source) ordered() []declared {
	var names []string
	var walk func(*picture.Scope)
	walk = func(scope *picture.Scope) {
		names = append(names, scope.Before...)
		if scope.Inside != nil {
			walk(scope.Inside)
		}
		names = append(names, scope.After...)
	}
	var points []picture.Point
	for _, info := range point.All() {
		points = append(points, picture.Point(info))
	}
	for _, scope := range picture.Lifecycle(points) {
		walk(scope)
	}
	out := slices.Clone(s.points)
	slices.SortStableFunc(out, func(a, b declared) int { return cmp.Compare(slices.Index(names, a.name), slices.Index(names, b.name)) })
	return out
}

func infoOf(name string) point.Info {
	for _, info := range point.All() {
		if info.Name == name {
			return info
		}
	}
	return point.Info{}
}

func (s *Source) page(p declared) string {
	var b strings.Builder
	info := infoOf(p.name)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n```go\n%s%s\n```\n\n%s\n", p.name, s.summary(info), p.name,
		strings.TrimPrefix(s.code(p.method), "func"), markdown(p.doc))
	if all := s.answers[s.decision(p)]; len(all) > 0 {
		fmt.Fprintf(&b, "\n## Answers\n\n| constructor | answer | |\n|---|---|---|\n| `hook.%s{}` | none | no opinion; allocates nothing |\n", s.decision(p))
		for _, a := range all {
			fmt.Fprintf(&b, "| `hook.%s` | %s | %s |\n", a.Call, a.Kind, withoutName(a.Call, first(a.Doc)))
		}
	}
	s.parameters(&b, p)
	if allowed := plan.Point(info).Allows(); len(allowed) > 0 {
		fmt.Fprintf(&b, "\n## Options of a field\n\n`%s`; what they mean is in [hookgen-reference.md](../hookgen-reference.md).\n", strings.Join(allowed, "`, `"))
	}
	if info.Kind != "facade" {
		fmt.Fprintf(&b, "\n## One function as a hook\n\n```go\nh := point.%sFunc(func%s {\n\t// …\n})\n```\n", p.name, strings.TrimPrefix(s.qualified(p.method), "func"))
	}
	elsewhere(&b, p.name)
	around(&b, s.ordered(), p.name)
	return b.String()
}

func (s *Source) summary(info point.Info) string {
	rules := map[string]string{
		"gate": "in order, up to the first that blocks", "judge": "all of them, and the most severe answer wins",
		"first": "in order, and the first answer counts", "fold": "each with the value of the one before", "nest": "each around those after it",
		"union": "and their results are concatenated", "join": "and their texts are joined", "each": "all of them",
	}
	order := "outermost first"
	if info.Reverse {
		order = "innermost first"
	}
	rule := rules[info.Combine]
	switch {
	case info.Kind == "facade":
		return fmt.Sprintf("A method of `hook.Hook`, combined by the rule **%s**: %s, %s.", info.Combine, order, rule)
	case info.Bracket:
		return fmt.Sprintf("Kind **%s**, rule **%s**: hooks are called %s, %s.", info.Kind, info.Combine, order, rule)
	}
	policy := "open: as if the hook were absent"
	switch {
	case slices.Contains(s.Silent(), info.Name):
		return fmt.Sprintf("Kind **%s**, rule **%s**: hooks are called %s, %s. A hook's own failure is no opinion, and is emitted as an event.",
			info.Kind, info.Combine, order, rule)
	case info.Closed:
		policy = "closed"
	}
	text := fmt.Sprintf("Kind **%s**, rule **%s**: hooks are called %s, %s. A hook's own failure is %s, unless a tag says otherwise.",
		info.Kind, info.Combine, order, rule, policy)
	if info.Timeout != 0 {
		text += fmt.Sprintf(" A hook has %s, unless a tag says otherwise with `timeout=`.", plan.Duration(info.Timeout))
	}
	return text
}

func (s *Source) parameters(b *strings.Builder, p declared) {
	head := "\n## Parameters\n"
	for _, name := range typesIn(p.method.Params) {
		t, ok := s.types[name]
		if !ok || len(t.members) == 0 {
			continue
		}
		b.WriteString(head)
		head = ""
		fmt.Fprintf(b, "\n`%s`: %s\n\n", name, withoutName(strings.TrimPrefix(name, "message."), first(t.doc)))
		for _, m := range t.members {
			if m.doc != "" {
				fmt.Fprintf(b, "- `%s`: %s\n", m.name, withoutName(m.name, first(m.doc)))
			} else {
				fmt.Fprintf(b, "- `%s`\n", m.name)
			}
		}
	}
}

func typesIn(list *ast.FieldList) []string {
	var out []string
	for _, f := range list.List {
		t := f.Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		switch t := t.(type) {
		case *ast.Ident:
			if t.IsExported() {
				out = append(out, t.Name)
			}
		case *ast.SelectorExpr:
			out = append(out, t.X.(*ast.Ident).Name+"."+t.Sel.Name)
		}
	}
	return out
}

// qualified writes a signature as another package does.
func (s *Source) qualified(f *ast.FuncType) string {
	out := s.code(f)
	for name := range s.types {
		if strings.Contains(name, ".") {
			continue
		}
		for _, before := range []string{" ", "*", "(", "]"} {
			for _, after := range []string{",", ")", "", "{", "]"} {
				if after == "" && !strings.HasSuffix(out, before+name) {
					continue
				}
				out = strings.ReplaceAll(out, before+name+after, before+"hook."+name+after)
			}
		}
	}
	return out
}

// withoutName drops the name and the verb with which a doc comment begins.
func withoutName(call, doc string) string {
	name, _, _ := strings.Cut(call, "(")
	doc = strings.TrimPrefix(doc, name+" ")
	for _, verb := range []string{"is ", "are ", "returns "} {
		doc = strings.TrimPrefix(doc, verb)
	}
	return doc
}

func elsewhere(b *strings.Builder, name string) {
	var all []string
	for _, a := range aliases.All() {
		if slices.Contains(a.Ours, name) && a.Kind == "point" {
			all = append(all, fmt.Sprintf("`%s` (%s)", a.Theirs, a.From))
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(b, "\n## Elsewhere\n\n%s; see [aliases.md](../aliases.md).\n", strings.Join(all, ", "))
	}
}

func around(b *strings.Builder, all []declared, name string) {
	i := slices.IndexFunc(all, func(p declared) bool { return p.name == name })
	b.WriteString("\n---\n")
	if i > 0 {
		fmt.Fprintf(b, "before: [%s](%s.md) · ", all[i-1].name, all[i-1].name)
	}
	if i < len(all)-1 {
		fmt.Fprintf(b, "after: [%s](%s.md) · ", all[i+1].name, all[i+1].name)
	}
	b.WriteString("[all points](README.md)\n")
}
