package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// Servers is what the project's list of MCP servers would start: commands, and
// URLs to send to, that somebody else may have written.
type Servers struct {
	// File is the list.
	File string
	// Commands are the servers, one line each: the name and the command or the URL.
	Commands []string
}

// Trust is the answer to whether the servers of a project may be started.
type Trust int

// The answers.
const (
	TrustNo      Trust = iota // nobody could be asked
	TrustOnce                 // this time
	TrustAlways               // until the file changes
	TrustRefused              // somebody has said no
)

// notTrusted is why servers are not started, and what to do.
const notTrusted = "the list of servers has not been approved; run the command in a terminal to be asked, or with --yes"

// refusedTrust is why they are not started if somebody does not want it.
const refusedTrust = "you said no; run the command again to be asked again"

// loadServers reads the project's list of servers. Unless it is trusted, all of
// them are refused.
func loadServers(ctx context.Context, o Options) (mcp.Config, error) {
	file := o.Paths.servers()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return mcp.Config{}, nil
	}
	if err != nil {
		return mcp.Config{}, fmt.Errorf("read the MCP servers: %w", err)
	}
	cfg, err := mcp.Parse(data, os.LookupEnv)
	if err != nil {
		return mcp.Config{}, fmt.Errorf("%s: %w; mend the file or move it away", file, err)
	}
	for _, w := range cfg.Warnings {
		o.Note(o.Paths.Short(file) + ": " + w)
	}
	answer, err := trusted(ctx, o, file, data)
	if err != nil || answer == TrustOnce || answer == TrustAlways {
		return cfg, err
	}
	why := notTrusted
	if answer == TrustRefused {
		why = refusedTrust
	}
	for i := range cfg.Servers {
		cfg.Servers[i].Refused = why
	}
	o.Note(fmt.Sprintf("the MCP servers of %s are not started: %s", o.Paths.Short(file), why))
	return cfg, nil
}

func trusted(ctx context.Context, o Options, file string, data []byte) (Trust, error) {
	// Variables are shown by their names: their values may be secrets.
	shown, err := mcp.Parse(data, func(name string) (string, bool) { return "${" + name + "}", true })
	if err != nil {
		return TrustNo, err
	}
	servers := Servers{File: file}
	for _, s := range shown.Servers {
		if s.Refused == "" {
			servers.Commands = append(servers.Commands, s.String())
		}
	}
	known, err := readTrust(o.Paths)
	if err != nil {
		return TrustNo, err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if len(servers.Commands) == 0 || known[file] == digest {
		return TrustAlways, nil
	}
	if o.Trust == nil {
		return TrustNo, nil
	}
	answer, err := o.Trust(ctx, servers)
	if err != nil || answer != TrustAlways {
		return answer, err
	}
	known[file] = digest
	return TrustAlways, writeTrust(o.Paths, known)
}

// trustFile remembers the digest of each approved list by its path.
func trustFile(p Paths) string { return filepath.Join(p.State, "trusted-servers.json") }

func readTrust(p Paths) (map[string]string, error) {
	known := map[string]string{}
	data, err := os.ReadFile(trustFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; delete the file to be asked again", trustFile(p), err)
	}
	return known, nil
}

// writeTrust replaces the file whole, so that an interrupted write loses nothing.
func writeTrust(p Paths, known map[string]string) error {
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	tmp := trustFile(p) + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return os.Rename(tmp, trustFile(p))
}
