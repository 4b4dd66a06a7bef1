package daemon

import (
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/app"
)

// serversOf returns the MCP servers of the program.
func serversOf(a *app.App) []wire.Server {
	all := a.Hooks.MCP.Status()
	out := make([]wire.Server, len(all))
	for i, s := range all {
		out[i] = wire.Server{
			Name: s.Name, State: string(s.State), Reason: s.Reason, Since: s.Since.UTC(), Transport: "stdio", Place: s.Place, Process: s.Process, Shared: s.Public,
			Tools: append([]string{}, s.Tools...), RefusedTools: []wire.RefusedTool{}, Log: append([]string{}, s.Log...),
		}
		if s.HTTP {
			out[i].Transport = "http"
		}
		for _, t := range s.Refused {
			out[i].RefusedTools = append(out[i].RefusedTools, wire.RefusedTool(t))
		}
	}
	return out
}
