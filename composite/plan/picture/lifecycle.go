package picture

import "slices"

// Scope is a stretch of the lifecycle: a process, in it an agent, in it a turn,
// and so on. Its points come in the order in which the runtime calls them.
type Scope struct {
	Name string
	// Each says how often the runtime goes through it.
	Each string
	// Before are the points up to the scope inside, Inside is that scope, and After
	// are the points behind it.
	Before []string
	Inside *Scope
	After  []string
}

// Lifecycle returns the points of the contract in the order in which the runtime
// calls them. A point that is not in it is shown at the end. It is written down
// here because the declarations of the points say how each is called, not when.
func Lifecycle() []*Scope {
	call := &Scope{
		Name: "tool call", Each: "once for each call of the step",
		Before: []string{"Dispatch", "OnInvalidTool", "RewriteArgs", "BeforeTool", "Approve", "WrapTool", "RewriteResult", "AfterTool"},
	}
	step := &Scope{
		Name: "step", Each: "once for each request to the model",
		Before: []string{"BeforeStep", "RewriteRequest", "BeforeModel", "WrapModel", "OnModelError", "RewriteReply", "AfterModel"},
		Inside: call,
		After:  []string{"AfterStep"},
	}
	turn := &Scope{
		Name: "turn", Each: "from a message to its answer",
		Before: []string{"Preprocess", "BeforeTurn", "TurnPolicy", "TurnContext", "RefineContext", "TurnTools", "PromptSections"},
		Inside: step,
		After:  []string{"OnStop", "OnTurnError", "AfterTurn"},
	}
	session := &Scope{
		Name: "session", Each: "from a client's coming to its going",
		Before: []string{"OnSessionStart"}, Inside: turn, After: []string{"BeforeCompaction", "AfterCompaction", "OnSessionEnd"},
	}
	agent := &Scope{
		Name: "agent", Each: "from its registration to its end",
		Before: []string{"OnBuildAgent", "Schema", "ScopedTools", "SystemPrompt", "OnRegisterAgent"},
		Inside: session, After: []string{"OnUnregisterAgent"},
	}
	return []*Scope{
		{Name: "process", Each: "from its start to its end", Before: []string{"OnOpen"}, Inside: agent, After: []string{"OnClose"}},
		{Name: "any time", Each: "for every event", Before: []string{"OnEvent"}},
	}
}

// elsewhere is the scope of points that the lifecycle does not know.
const elsewhere = "elsewhere"

// stop is one point of the lifecycle with the scopes around it, outermost first.
type stop struct {
	point string
	in    []*Scope
}

// stops are the points in order.
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

// ordered returns the points as the lifecycle calls them, then those it does not
// know, as they are declared.
func ordered(points []Point) []stop {
	var out []stop
	var all []stop
	for _, s := range Lifecycle() {
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
