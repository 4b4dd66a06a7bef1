package picture

import "slices"

// Scope is a phase of the lifecycle: a process, in it an agent, in it a turn, and so on.
// Its points are in the order in which the runtime calls them.
type Scope struct {
	Name string
	// Each says how often the scope runs.
	Each string
	// Before has the points before the inner scope, Inside, and After those after it.
	Before []string
	Inside *Scope
	After  []string
}

// Lifecycle returns the points in the order in which the runtime calls them. A point is in the scope of its place, in the order of the
// declarations. If it is declared after a point of the inner scope, it comes after that scope. The methods of hook.Hook are listed
// here by hand. A point without a place that is no end of a bracket is in no scope.
func Lifecycle(points []Point) []*Scope {
	around := []*Scope{ // outermost first
		{Name: "process", Each: "from its start to its end"},
		{Name: "agent", Each: "from its registration to its end", Before: []string{"OnBuildAgent", "Schema", "ScopedTools", "SystemPrompt", "OnRegisterAgent"}},
		{Name: "session", Each: "from a client's coming to its going"},
		{Name: "turn", Each: "from a message to its answer", Before: []string{"Preprocess"}},
		{Name: "step", Each: "once for each request to the model"},
		{Name: "tool call", Each: "once for each call of the step", Before: []string{"Dispatch"}},
	}
	around[1].After = []string{"OnUnregisterAgent"}
	for i := range len(around) - 1 {
		around[i].Inside = around[i+1]
	}
	inside := 0
	for _, p := range points {
		i := p.scope()
		if i < 0 {
			continue
		}
		if inside = max(inside, i); i < inside {
			around[i].After = append(around[i].After, p.Name)
		} else {
			around[i].Before = append(around[i].Before, p.Name)
		}
	}
	return []*Scope{around[0], {Name: "any time", Each: "for every event", Before: []string{"OnEvent"}}}
}

// scope is the index of the point's scope in Lifecycle, -1 for none and for the methods of hook.Hook.
func (p Point) scope() int {
	if p.Kind == "facade" {
		return -1
	}
	if p.Name == "OnInvalidTool" { // its place is the step, because the call could not be bound
		return 5
	}
	switch p.Place {
	case "":
		if p.Bracket {
			return 0
		}
	case "Session", "Conversation":
		return 2
	case "Turn":
		return 3
	case "Step":
		return 4
	case "ToolCall":
		return 5
	}
	return -1
}

// elsewhere is the name of the scope of points in no other scope.
const elsewhere = "elsewhere"

// stop is one point of the lifecycle with the scopes around it, outermost first.
type stop struct {
	point string
	in    []*Scope
}

func (s *Scope) stops(around []*Scope) []stop {
	in := append(slices.Clip(around), s)
	var out []stop
	for _, p := range s.Before {
		out = append(out, stop{p, in})
	}
	if s.Inside != nil {
		out = append(out, s.Inside.stops(in)...)
	}
	for _, p := range s.After {
		out = append(out, stop{p, in})
	}
	return out
}

// ordered returns the points in the order of the lifecycle, then those in no scope, in the
// order of their declaration.
func ordered(points []Point) []stop {
	var out []stop
	var all []stop
	for _, s := range Lifecycle(points) {
		all = append(all, s.stops(nil)...)
	}
	for _, s := range all {
		if slices.ContainsFunc(points, func(p Point) bool { return p.Name == s.point }) {
			out = append(out, s)
		}
	}
	other := []*Scope{{Name: elsewhere}}
	for _, p := range points {
		if !slices.ContainsFunc(all, func(s stop) bool { return s.point == p.Name }) {
			out = append(out, stop{p.Name, other})
		}
	}
	return out
}
