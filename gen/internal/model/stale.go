package model

// Lacks tells whether generated code can assert that a direct member does not have the point: neither its type nor what is
// generated for it has a method of that name, but for hook.Nop's. depth is how many fields lie between the type and the one that
// is embedded there, 0 if there is no method at all.
func (m *Member) Lacks(p *Point) (depth int, ok bool) {
	depth, ok = m.lacking[p.Name]
	return depth, ok
}

// findLacking fills in what Lacks answers.
func (m *Model) findLacking(out *Member) {
	out.lacking = map[string]int{}
	for _, p := range m.Points {
		if out.Points[p.Name] {
			continue
		}
		if out.Nested != nil && (p.Facade || p.Bracket && p.Reverse && out.Points["OnOpen"]) {
			continue // it is generated in any case, and the composite's Rev guards what it does
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
