package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// addServer adds the effects of a server to the request, one line each: see
// [mcp.Server.Effects]. The variables of m are not expanded. It returns the lines about the
// files that the server names, and about its sandbox: the approval covers them too.
func addServer(r *trust.Request, m mcp.Server, box *sandbox.Sandbox) (found []string) {
	if m.URL != "" {
		r.Wants[trust.URLs] = append(r.Wants[trust.URLs], m.Effects(isSet)...)
		return nil
	}
	found = namedFiles(r.Dir, m)
	for _, text := range box.Caveats(m.Needs) {
		found = append(found, m.Name+": "+text)
	}
	r.Wants[trust.Commands] = slices.Concat(r.Wants[trust.Commands], m.Effects(isSet), found)
	return found
}

// maxNamedFile is how many bytes of a file that a server names are in its digest. Of a longer
// file the approval covers the beginning and the size.
const maxNamedFile = 64 << 20

// namedFiles returns the files below dir that the server's command names, each on a line with a
// digest. The server runs or reads these files, so a change of one needs a new approval. Files
// that they load are not known.
func namedFiles(dir string, m mcp.Server) (lines []string) {
	words := m.Args
	if strings.ContainsRune(m.Command, '/') { // a name without a slash is found in PATH
		words = slices.Concat([]string{m.Command}, m.Args)
	}
	for _, word := range words {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		rel, err := filepath.Rel(dir, path)
		if word == "" || err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if line, ok := namedFile(path); ok {
			lines = append(lines, fmt.Sprintf("%s: the file %s, %s", m.Name, filepath.ToSlash(rel), line))
		}
	}
	return lines
}

// namedFile returns the size and the digest of a file; false if it cannot be read.
func namedFile(path string) (string, bool) {
	f, err := conffile.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxNamedFile)); err != nil {
		return "", false
	}
	info, err := f.Stat()
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%d bytes, sha256 %x", info.Size(), h.Sum(nil)[:16]), true
}

func isSet(name string) bool {
	_, set := os.LookupEnv(name)
	return set
}

// expanded returns the variables of the server that are set: the approval covers which of the
// user's values the server gets.
func expanded(m mcp.Server) []string {
	return slices.DeleteFunc(m.Variables(), func(name string) bool { return !isSet(name) })
}

// notTrusted is the reason why servers without an approval are not started.
const notTrusted = "the list of servers has not been approved; run the command in a terminal to be asked, or with --start-servers"

// refusedTrust is the reason after a person has refused a request.
const refusedTrust = "you said no; run the command again to be asked again"

// loadServers reads the project's list of servers. If the list is not trusted, it refuses all
// servers.
func loadServers(ctx context.Context, o Options) (mcp.Config, error) {
	file := o.Paths.servers()
	data, err := o.Paths.readProject(file)
	if err != nil || data == nil {
		return mcp.Config{}, err
	}
	cfg, err := mcp.Parse(data, os.LookupEnv)
	if err != nil {
		return mcp.Config{}, fmt.Errorf("%s: %w; mend the file or move it away", file, err)
	}
	for _, w := range cfg.Warnings {
		o.Note(o.Paths.Short(file) + ": " + w)
	}
	answer, err := trusted(ctx, o, file, data, cfg)
	if err != nil || answer.Allows() {
		return cfg, err
	}
	why := notTrusted
	if answer == trust.Refused {
		why = refusedTrust
	}
	for i := range cfg.Servers {
		cfg.Servers[i].Refused = cmp.Or(cfg.Servers[i].Refused, why)
	}
	o.Note(fmt.Sprintf("the MCP servers of %s are not started: %s", o.Paths.Short(file), why))
	return cfg, nil
}

func trusted(ctx context.Context, o Options, file string, data []byte, cfg mcp.Config) (trust.Answer, error) {
	// Variables are shown by their names: their values may be secrets.
	shown, err := mcp.Parse(data, nil)
	if err != nil {
		return trust.No, err
	}
	want := trust.Request{From: file, Dir: o.Paths.Root, Wants: map[trust.Kind][]string{}}
	var gets []string
	for i, s := range cfg.Servers {
		if s.Refused == "" {
			gets = slices.Concat(gets, addServer(&want, shown.Servers[i], o.processes.sandbox), expanded(shown.Servers[i]))
		}
	}
	if len(want.Lines()) == 0 {
		return trust.Always, nil
	}
	if len(gets) > 0 {
		data = fmt.Appendf(slices.Clip(data), "%q", gets)
	}
	// The digest covers every byte of the list, the named files, and which variables are set.
	return o.confirm(ctx, want, file, fmt.Sprintf("%x", sha256.Sum256(data)))
}

// allowServer returns a function that decides, in the same way, whether an agent may use a
// server that its own file declares.
func allowServer(o Options) func(ctx context.Context, agent string, s mcp.Server) error {
	var one sync.Mutex // held during a question, so that there is one at a time
	return func(ctx context.Context, agent string, s mcp.Server) error {
		one.Lock()
		defer one.Unlock()
		o := o
		if o.later.Load() {
			o.Trust = o.TrustLater
		}
		want := trust.Request{From: "the agent " + agent, Dir: o.Paths.Root, Wants: map[trust.Kind][]string{}}
		files := addServer(&want, s, o.processes.sandbox)
		key := filepath.Join(o.Paths.Root, "agent "+agent, s.Name)
		answer, err := o.confirm(ctx, want, key, trust.Digest(s, expanded(s), files))
		switch {
		case err != nil:
			return err
		case answer.Allows():
			return nil
		case answer == trust.Refused:
			return errors.New(refusedTrust)
		}
		return errors.New("the server has not been approved; run the command in a terminal to be asked, or with --start-servers")
	}
}
