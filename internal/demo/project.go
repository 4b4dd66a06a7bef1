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

// project has the demo's files: a log of three days and a skill.
//
//go:embed project
var project embed.FS

// script is the script of the demo's model.
//
//go:embed script.yaml
var script []byte

// agents has the demo's agents, and the scripts of the other models.
//
//go:embed skipper.md spare.yaml mate.md mate.yaml
var agents embed.FS

// ServerCommand is the hidden command under which the program is the demo's MCP
// server.
const ServerCommand = "demo-mcp-server"

// lay writes the project into dir, and makes a missing dir: the log, the skills in their
// usual place, and the list of MCP servers, with the program at executable. It never
// overwrites foreign files.
func lay(dir, executable string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's directory: %w", reason(err))
	}
	if err := ours(dir); err != nil {
		return err
	}
	servers, err := json.MarshalIndent(map[string]map[string]any{"mcpServers": {
		"chartroom": map[string]any{"command": executable, "args": []string{ServerCommand}, "reads": []string{"*"}},
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

// layAgents writes the agents of the demo and the scripts of their models.
func layAgents(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "agents"), 0o700); err != nil {
		return fmt.Errorf("write the demo's agent: %w", reason(err))
	}
	err := os.WriteFile(filepath.Join(dir, agentName+".yaml"), script, 0o600)
	for from, to := range map[string]string{
		agentName + ".md": "agents/" + agentName + ".md", mateName + ".md": "agents/" + mateName + ".md", mateName + ".yaml": mateName + ".yaml", "spare.yaml": "spare.yaml",
	} {
		data, rerr := agents.ReadFile(from)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(dir, filepath.FromSlash(to)), data, 0o600))
	}
	return err
}

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

// marker is the file that marks a directory of the demo: it may be overwritten.
const marker = ".grapnel-demo"

// ours returns an error unless dir is empty or of an earlier demo.
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
