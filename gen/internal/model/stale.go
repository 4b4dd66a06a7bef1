package model

// Lacks reports whether generated code can assert that a direct member lacks the point: there is no method of that name but that of
// hook.Nop. depth is the number of fields between the type and its embedded Nop, 0 if there is no method.
func (m *Member) Lacks(p *Point) (depth int, ok bool) {
	depth, ok = m.lacking[p.Name]
	return depth, ok
}

func (m *Model) findLacking(out *Member) {
	out.lacking = map[string]int{}
	for _, p := range m.Points {
		if out.Points[p.Name] {
			continue
		}
		if out.Nested != nil && (p.Facade || p.Bracket && p.Reverse && out.Points["OnOpen"]) {
			continue // the method is always generated; the Rev of the composite guards its effect
		}
		s := m.lookup(out.Type, p.Name)
		switch {
		case s.none():
			out.lacking[p.Name] = 0
		case s.fn != nil && !s.ambiguous && s.owner != nil && isType(s.owner, p.Pkg, "Nop"):
			out.lacking[p.Name] = len(s.index) - 1
		}
	}
}
