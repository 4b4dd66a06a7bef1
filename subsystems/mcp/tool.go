package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/schema"
)

const (
	descriptionMost = 4 << 10  // bytes; a longer description is cut
	schemaMost      = 64 << 10 // bytes; a tool with a longer schema is refused
)

func newTool(s *server, l *sdk.Tool) (*tool, error) {
	name := toolName(s.cfg.Name, l.Name)
	if l.Name == "" {
		return nil, errors.New("it has no name")
	}
	if !message.ValidToolName(name) {
		return nil, fmt.Errorf("the name %q must match ^[a-zA-Z0-9_-]{1,64}$", conn.Clip(name, 200))
	}
	text, err := schemaText(l.InputSchema)
	if err != nil {
		return nil, err
	}
	compiled, err := schema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", err)
	}
	return &tool{
		Tool: message.Tool{
			Name:        name,
			Description: conn.Clip(l.Description, descriptionMost),
			Input:       text,
			// Ignore the server's own annotations: an untrusted "read-only" must not pass
			// a guard that lets read-only tools pass.
			Annotations: s.cfg.annotations(l.Name),
			Timeout:     s.callTimeout(),
			MaxResult:   s.m.o.MaxOutput,
		},
		server: s, remote: l.Name, schema: compiled,
	}, nil
}

// annotations returns what the author of the configuration says of a tool.
func (s *Server) annotations(tool string) message.Annotations {
	if slices.ContainsFunc(s.Reads, func(p string) bool { return message.MatchName(p, tool) }) {
		return message.Annotations{OpenWorld: true, ReadOnly: true}
	}
	return message.Annotations{OpenWorld: true, Destructive: !s.Harmless}
}

func toolName(server, remote string) string { return "mcp__" + server + "__" + remote }

func schemaText(s any) (message.JSON, error) {
	text, err := encode(s)
	if err != nil {
		return "", fmt.Errorf("its schema cannot be used: %w", err)
	}
	if len(text) > schemaMost {
		return "", fmt.Errorf("its schema has more than %d bytes", schemaMost)
	}
	return text, nil
}

// encode returns a value as JSON, members in the order of their names.
func encode(v any) (message.JSON, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return message.JSON(strings.TrimSpace(buf.String())), err
}
