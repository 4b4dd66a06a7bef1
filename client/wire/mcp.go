package wire

import "time"

// Servers are the answer of GET /v1/servers.
type Servers struct {
	Servers []Server `json:"servers"`
}

// Server is one MCP server of the daemon.
type Server struct {
	Name string `json:"name"`
	// State is declared, connecting, connected, lost, idle, refused or disabled; Reason says why it is one of lost, refused and disabled.
	State  string `json:"state"`
	Reason string `json:"reason,omitzero"`
	// Since is when it got into the state; zero if it was never started.
	Since time.Time `json:"since,omitzero"`
	// Transport is stdio or http, and Place the command with its arguments, or the URL without its query.
	Transport string `json:"transport"`
	Place     string `json:"place"`
	// Process is the id of the process; 0 unless it is connected, and over HTTP.
	Process int `json:"process,omitzero"`
	// Shared: every agent may use it; otherwise an agent declares it.
	Shared bool `json:"shared"`
	// Tools are the names of its tools as agents see them; they stay when it is lost. RefusedTools are those that agents do not get.
	Tools        []string      `json:"tools"`
	RefusedTools []RefusedTool `json:"refused_tools"`
	// Log has the last lines of its error output, without secrets.
	Log []string `json:"log"`
}

// RefusedTool is a tool that a server lists and agents do not get.
type RefusedTool struct {
	Name   string `json:"name"` // the server's own name for it
	Reason string `json:"reason"`
}
