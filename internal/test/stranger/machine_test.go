package stranger_test

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/gomod"
)

const (
	grapnel = "github.com/grapnel-go/grapnel"
	version = "v0.1.0"
)

// machine has the go command and a module proxy that has this work tree as the only version of Grapnel.
type machine struct{ env []string }

func newMachine(t *testing.T) machine {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return machine{append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(publish(t))+","+proxy, "GOMODCACHE="+linkCache(t, cache),
		"GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "GOWORK=off", "HOOKGEN_CHECK=")}
}

// publish makes the file tree of a module proxy. Like every proxy it leaves out the modules within the module.
func publish(t *testing.T) string {
	t.Helper()
	root, dir := gomod.Root(t), t.TempDir()
	at := grapnel + "/@v/"
	gomod.Write(t, dir, at+"list", version+"\n")
	gomod.Write(t, dir, at+version+".info", `{"Version":"`+version+`"}`)
	gomod.Write(t, dir, at+version+".mod", gomod.Read(t, root, "go.mod"))
	file, err := os.Create(filepath.Join(dir, filepath.FromSlash(at+version+".zip")))
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for name, text := range tree(t, root) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: grapnel + "@" + version + "/" + name}) // not compressed
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
	return dir
}

// tree returns the files below a directory, by their paths with slashes, without those of modules within it.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, err := os.Stat(filepath.Join(name, "go.mod"))
			if d.Name() == ".git" || d.Name() == "node_modules" || err == nil && name != root {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			rel, err := filepath.Rel(root, name)
			require.NoError(t, err)
			out[filepath.ToSlash(rel)] = gomod.Read(t, root, rel)
		}
		return nil
	}))
	return out
}

// linkCache makes a module cache with links to all that the usual one has but Grapnel: dependencies are not copied, and no version
// of ours gets into the usual one.
func linkCache(t *testing.T, usual string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"", "cache/download", "github.com", "cache/download/github.com"} {
		to := filepath.Join(dir, filepath.FromSlash(part))
		require.NoError(t, os.MkdirAll(to, 0o755))
		entries, err := os.ReadDir(filepath.Join(usual, filepath.FromSlash(part)))
		require.NoError(t, err)
		for _, e := range entries {
			if e.Name() != "cache" && e.Name() != "github.com" && e.Name() != "grapnel-go" {
				require.NoError(t, os.Symlink(filepath.Join(usual, filepath.FromSlash(part), e.Name()), filepath.Join(to, e.Name())))
			}
		}
	}
	return dir
}

// shell runs a line of a page in a directory.
func (m machine) shell(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, append(m.env, "PWD="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "$ %s\n%s", line, out)
	t.Logf("$ %s\n%s", line, out)
}
