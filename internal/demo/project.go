package demo

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// project is what the demo works on: a log of three days and a skill.
//
//go:embed project
var project embed.FS

// script is what the model of the demo says.
//
//go:embed script.yaml
var script []byte

// agents are those of the demo, and what the model of the second one says.
//
//go:embed skipper.md mate.md mate.yaml
var agents embed.FS

// ServerCommand is the hidden command under which the program is the demo's MCP
// server.
const ServerCommand = "demo-mcp-server"

// lay writes the project into dir, which is made if it does not exist: the log,
// the skills where any program finds them, and the list of MCP servers, whose
// only one is the program at executable. It never writes over a file that is
// not the demo's own.
func lay(dir, executable string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's directory: %w", reason(err))
	}
	if err := ours(dir); err != nil {
		return err
	}
	servers, err := json.MarshalIndent(map[string]map[string]any{"mcpServers": {
		"chartroom": map[string]any{"command": executable, "args": []string{ServerCommand}},
	}}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the list of servers: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), append(servers, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the list of servers: %w", err)
	}
	if err := layAgents(filepath.Join(dir, ".grapnel")); err != nil {
		return err
	}
	return fs.WalkDir(project, "project", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return copyOut(path, filepath.Join(dir, filepath.FromSlash(target(path))), e.IsDir())
	})
}

// layAgents writes the agents of the demo and what their models say.
func layAgents(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "agents"), 0o700); err != nil {
		return fmt.Errorf("write the demo's agent: %w", reason(err))
	}
	err := os.WriteFile(filepath.Join(dir, agentName+".yaml"), script, 0o600)
	for from, to := range map[string]string{
		agentName + ".md": "agents/" + agentName + ".md", mateName + ".md": "agents/" + mateName + ".md", mateName + ".yaml": mateName + ".yaml",
	} {
		data, rerr := agents.ReadFile(from)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(dir, filepath.FromSlash(to)), data, 0o600))
	}
	return err
}

// target returns where a file of the embedded project goes.
func target(path string) string {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, "project"), "/")
	if rel == "skills" || strings.HasPrefix(rel, "skills/") {
		return ".agents/" + rel
	}
	return rel
}

func copyOut(from, to string, isDir bool) error {
	if isDir {
		return os.MkdirAll(to, 0o700)
	}
	data, err := project.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// marker says that a directory is the demo's, so that it may be written again.
const marker = ".grapnel-demo"

// ours makes sure that dir is empty or a demo's from before.
func ours(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the demo's directory: %w", reason(err))
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
			return fmt.Errorf("%s is not empty and no directory of the demo; name an empty one with --dir, or leave --dir out", dir)
		}
	}
	return os.WriteFile(filepath.Join(dir, marker), []byte("A directory of `grapnel demo`. Delete it when you like.\n"), 0o600)
}

// reason drops the operation from an error of the file system.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
