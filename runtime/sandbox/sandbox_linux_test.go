package sandbox_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// place is a project with a home directory and a sandbox.
type place struct {
	project, home, outside string
	s                      *sandbox.Sandbox
}

func newPlace(t testing.TB) *place {
	t.Helper()
	needs.Namespaces(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := &place{project: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), outside: filepath.Join(dir, "outside")}
	for _, d := range []string{p.project, p.home, p.outside} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	p.s, err = sandbox.New(sandbox.Options{Project: p.project, State: filepath.Join(dir, "state"), Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "SECRET=x"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.s.Close()) })
	return p
}

func (p *place) write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs a script in the sandbox.
func (p *place) run(t testing.TB, g sandbox.Grant, script string) (string, int, sandbox.End) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	proc, err := p.s.Start(sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Stdout: w, Stderr: w}, g)
	_ = w.Close()
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	<-proc.Done()
	return string(text), proc.Status().Shell(), proc.End()
}

// TestReach: what a command can change, read and reach. Each script prints "yes" if it can.
func TestReach(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, ".ssh/id"), "KEY")
	p.write(t, filepath.Join(p.home, ".config/gh/hosts.yml"), "KEY")
	p.write(t, filepath.Join(p.outside, "file"), "OUT")
	for name, tt := range map[string]struct {
		g      sandbox.Grant
		script string
		can    bool
	}{
		"write the project":          {sandbox.Grant{}, `echo x > x`, true},
		"write below /tmp":           {sandbox.Grant{}, `echo x > /tmp/x && echo x > "$TMPDIR/y"`, true},
		"write to the home, for now": {sandbox.Grant{}, `echo x > ~/x`, true},
		"read a key":                 {sandbox.Grant{}, `cat ~/.ssh/id ~/.config/gh/hosts.yml`, false},
		"see the home":               {sandbox.Grant{}, `[ -e ~/.ssh ] || [ -e ~/.config/gh ]`, false},
		"read outside":               {sandbox.Grant{}, `cat ` + p.outside + `/file`, false},
		"read what is root's":        {sandbox.Grant{}, `find /etc /usr/local/etc -type f ! -perm -o+r -exec cat {} + 2>/dev/null | grep -q .`, false},
		"write the system":           {sandbox.Grant{}, `touch /usr/x || touch /etc/x || touch /bin/x || mkdir /x`, false},
		"change modes":               {sandbox.Grant{}, `chmod 777 /etc/hostname || touch -d 2001-01-01 /etc/hostname`, false},
		"see a variable":             {sandbox.Grant{}, `[ -n "$SECRET" ]`, false},
		"see processes":              {sandbox.Grant{}, `[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 8 ]`, false},
		"signal processes":           {sandbox.Grant{}, `kill -0 ` + strconv.Itoa(os.Getpid()), false},
		"open the terminal":          {sandbox.Grant{}, `: < /dev/tty`, false},
		"resolve names":              {sandbox.Grant{}, `getent hosts example.com`, false},
		"talk to itself":             {sandbox.Grant{}, `exec 3<>/dev/tcp/127.0.0.1/1`, false},
		"be root in a namespace":     {sandbox.Grant{}, `unshare -Ur true`, false},
		"mount":                      {sandbox.Grant{}, `mount -t tmpfs x /tmp`, false},
		"write, read only":           {sandbox.Grant{ReadOnly: true}, `echo x > x2`, false},
		"read, read only":            {sandbox.Grant{ReadOnly: true}, `ls . && echo x > /tmp/z`, true},
		"write what is granted":      {sandbox.Grant{Write: []string{p.outside}}, `echo x > ` + p.outside + `/granted`, true},
		"read what is granted":       {sandbox.Grant{Read: []string{p.outside}}, `cat ` + p.outside + `/file`, true},
		"run outside":                {sandbox.Grant{Outside: true}, `cat ~/.ssh/id`, true},
		"make a program of root":     {sandbox.Grant{}, `cp /bin/sh s && chmod 4755 s`, false},
		"open with such a mode":      {sandbox.Grant{}, `perl -e 'use Fcntl; umask 0; sysopen(F, "t", O_CREAT|O_WRONLY, 04755) or exit 1'`, false},
		"change modes in it":         {sandbox.Grant{}, `touch m && chmod 755 m`, true},
		"descriptors":                {sandbox.Grant{}, `[ "$(ls /proc/self/fd | wc -l)" -gt 4 ]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, code, _ := p.run(t, tt.g, tt.script+" && echo yes")
			assert.Equal(t, tt.can, code == 0, out)
		})
	}
	assert.FileExists(t, filepath.Join(p.outside, "granted"))
	p.run(t, sandbox.Grant{}, `echo x > `+p.outside+`/x`)
	p.run(t, sandbox.Grant{Read: []string{p.outside}}, `echo x > `+p.outside+`/x; rm `+p.outside+`/file`)
	assert.NoFileExists(t, filepath.Join(p.outside, "x"))
	assert.FileExists(t, filepath.Join(p.outside, "file"))
	assert.NoFileExists(t, filepath.Join(p.home, "x"), "the home directory ends with the command")
}

// TestBelow: a grant for a part of the project shows that part alone, and no link leads out of it.
func TestBelow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.project, "src/a"), "A")
	p.write(t, filepath.Join(p.project, "other/b"), "B")
	g := sandbox.Grant{Below: filepath.Join(p.project, "src")}
	out, code, _ := p.run(t, g, `pwd; cat a; echo new > c; cat ../other/b; ls ..`)
	assert.Equal(t, 0, code, out)
	assert.NotContains(t, out, "B\n")
	assert.FileExists(t, filepath.Join(p.project, "src/c"))

	require.NoError(t, os.RemoveAll(filepath.Join(p.project, "src")))
	require.NoError(t, os.Symlink(p.outside, filepath.Join(p.project, "src")))
	_, err := p.s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}}, g)
	require.Error(t, err, "the part is a link by now")
}

// TestProtected: what runs code outside later cannot be changed where it exists, and is moved away where it did not.
func TestProtected(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	p := newPlace(t)
	out, code, end := p.run(t, sandbox.Grant{}, `git init -q . && git init -q nested && rm -rf nested/.git/hooks && mkdir -p .claude && echo x > a && mkdir sub`)
	require.Equal(t, 0, code, out)
	require.Len(t, end.Moved, 1, "a directory .claude is not made by commands")
	require.NoError(t, os.Mkdir(filepath.Join(p.project, ".claude"), 0o700))
	require.NoError(t, os.Symlink(".claude", filepath.Join(p.project, ".agents")))
	for _, tt := range []struct {
		name, script string
		moved        []string
	}{
		{"a hook", `echo x > .git/hooks/pre-commit`, nil},
		{"the configuration", `git config core.pager evil`, nil},
		{"moving the repository", `mv .git x; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`, nil},
		{"moving the hooks", `mv .git/hooks .git/other`, nil},
		{"settings of agents", `echo x > .claude/settings.json`, nil},
		{"through a link", `echo x > .agents/y`, nil},
		{"another link", `ln -sfn sub .agents`, []string{".agents"}},
		{"an editor", `mkdir .vscode && echo x > .vscode/tasks.json`, []string{".vscode"}},
		{"a shell", `echo x > .envrc`, []string{".envrc"}},
		{"hooks that were not there", `mkdir nested/.git/hooks && echo x > nested/.git/hooks/post-commit`, []string{"nested/.git/hooks"}},
		{"a moved nested one", `mv nested moved && mkdir -p nested/.git && echo > nested/.git/config`, []string{"nested/.git"}},
		{"commondir", `echo ../sub > .git/commondir`, []string{".git/commondir"}},
		{"a new repository", `git init -q sub/new && echo 'exit 0' > sub/new/.git/hooks/pre-commit`, []string{"sub/new/.git"}},
		{"one with a pager", `git init -q sub/pager && git -C sub/pager config core.fsmonitor evil`, []string{"sub/pager/.git"}},
		{"one without worktree", `git init -q --bare sub/bare && git -C sub/bare config core.fsmonitor evil`, []string{"sub/bare"}},
		{"a file that leads to one", `mkdir -p sub/g && git init -q --separate-git-dir=sub/hidden sub/g && git -C sub/g config alias.st '!evil'`, []string{"sub/hidden"}},
		{"a harmless repository", `git init -q sub/fine && git -C sub/fine -c user.name=a -c user.email=b commit -q --allow-empty -m x`, nil},
		{"the project as one", `mkdir objects refs && echo ref: refs/heads/x > HEAD && printf '[core]\n fsmonitor = evil\n' > config`, []string{"config"}},
		{"a repository in a repository's own directory", `git init -q .git/sub && echo 'exit 0' > .git/sub/.git/hooks/post-commit`, []string{".git/sub/.git"}},
		{"a rebase with a command", `mkdir .git/rebase-merge && echo 'exec evil' > .git/rebase-merge/git-rebase-todo`, []string{".git/rebase-merge/git-rebase-todo"}},
		{"a rebase without", `echo 'pick 123' > .git/rebase-merge/git-rebase-todo; rm -r .git/rebase-merge`, nil},
		{"a command in a list that was there", `mkdir -p .git/rebase-merge && echo 'pick 1' > .git/rebase-merge/git-rebase-todo`, nil},
		{"its command", `echo 'exec evil' >> .git/rebase-merge/git-rebase-todo`, []string{".git/rebase-merge/git-rebase-todo"}},
		{"a list in which nobody writes", `mkfifo .git/rebase-merge/git-rebase-todo`, []string{".git/rebase-merge/git-rebase-todo"}},
		{"an endless list", `truncate -s 4G .git/rebase-merge/git-rebase-todo`, []string{".git/rebase-merge/git-rebase-todo"}},
		{"a worktree of another repository", `mkdir -p evil/objects evil/refs .git/worktrees/e && cp .git/HEAD .git/worktrees/e/ && echo ../../../evil > .git/worktrees/e/commondir`, []string{".git/worktrees/e"}},
		{"a repository in two parts", `mkdir -p sub/two/common/objects sub/two/common/refs && cp .git/HEAD sub/two/ && echo common > sub/two/commondir`, []string{"sub/two"}},
		{"a worktree's own settings", `mkdir -p .git/worktrees/c && cp .git/HEAD .git/worktrees/c/ && echo ../.. > .git/worktrees/c/commondir && printf '[core]\n fsmonitor = evil\n' > .git/worktrees/c/config.worktree`, []string{".git/worktrees/c"}},
		{"a harmless worktree", `mkdir -p .git/worktrees/h && cp .git/HEAD .git/worktrees/h/ && echo ../.. > .git/worktrees/h/commondir`, nil},
		{"that leads elsewhere later", `echo ../../../evil > .git/worktrees/h/commondir; mv .git/worktrees/h .git/worktrees/i`, nil},
		{"a directory", `mkdir -p sub/deep/again`, nil},
		{"made again, with its number", `rmdir sub/deep/again && mkdir sub/deep/again && git init -q sub/deep/again && git -C sub/deep/again config core.fsmonitor evil`, []string{"sub/deep/again/.git"}},
		{"a server of tools", `echo {} > .mcp.json`, []string{".mcp.json"}},
		{"a closed directory", `mkdir -p sub/closed && git init -q sub/closed/r && git -C sub/closed/r config core.fsmonitor evil && chmod 0 sub/closed`, []string{"sub/closed/r/.git"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _, end := p.run(t, sandbox.Grant{}, tt.script)
			var moved []string
			_ = os.Chmod(filepath.Join(p.project, "sub/closed"), 0o700) //nolint:gosec // so that one can look
			for _, m := range end.Moved {
				moved = append(moved, m.Path)
				assert.NotEmpty(t, m.Why)
				_, err := os.Lstat(m.To)
				assert.NoError(t, err)
				_, err = os.Lstat(filepath.Join(p.project, m.Path))
				assert.ErrorIs(t, err, os.ErrNotExist)
			}
			assert.ElementsMatch(t, tt.moved, moved, out)
		})
	}
	entries, err := os.ReadDir(filepath.Join(p.project, ".git/hooks"))
	require.NoError(t, err)
	for _, e := range entries {
		assert.True(t, strings.HasSuffix(e.Name(), ".sample"), e.Name())
	}
	config, err := os.ReadFile(filepath.Join(p.project, ".git/config"))
	require.NoError(t, err)
	assert.NotContains(t, string(config), "evil")
	out, code, end = p.run(t, sandbox.Grant{}, `git add a && git -c user.name=a -c user.email=b commit -q -m x && git checkout -q -b y && git log --oneline`)
	assert.Equal(t, 0, code, out)
	assert.Empty(t, end.Moved)
}

// TestProtectedElsewhere: a file with another name that can be changed, and what the user's own configuration of git names.
func TestProtectedElsewhere(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	p := newPlace(t)
	p.write(t, filepath.Join(p.project, ".envrc"), "export A=1\n")
	require.NoError(t, os.Link(filepath.Join(p.project, ".envrc"), filepath.Join(p.project, "envrc.sample")))
	p.write(t, filepath.Join(p.home, ".gitconfig"), "[init]\n\ttemplateDir = "+p.project+"/template\n")
	_, _, end := p.run(t, sandbox.Grant{}, `cat envrc.sample`)
	assert.Empty(t, end.Moved)
	_, _, end = p.run(t, sandbox.Grant{}, `echo evil >> envrc.sample`)
	require.Len(t, end.Moved, 1)
	assert.Equal(t, ".envrc", end.Moved[0].Path)
	_, _, end = p.run(t, sandbox.Grant{}, `mkdir -p template/hooks && echo evil > template/hooks/post-commit`)
	require.Len(t, end.Moved, 1)
	assert.Equal(t, "template", end.Moved[0].Path)
}

// TestLayers: what a command writes into a cache stays in a layer, which the next command of the project has, and the user has not.
func TestLayers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cached := filepath.Join(p.home, ".cache/go-build/entry")
	p.write(t, cached, "clean")
	out, code, _ := p.run(t, sandbox.Grant{}, `cat ~/.cache/go-build/entry && echo poison > ~/.cache/go-build/entry && echo x > ~/.cache/go-build/new`)
	require.Equal(t, 0, code, out)
	text, err := os.ReadFile(cached)
	require.NoError(t, err)
	assert.Equal(t, "clean", string(text))
	out, _, _ = p.run(t, sandbox.Grant{}, `cat ~/.cache/go-build/entry; ls ~/.cache/go-build`)
	assert.Equal(t, "poison\nentry\nnew\n", out)
}

// TestAKilledProgramLeavesWhatItsOwnerCanRemove: rm -rf changes no modes, so every directory has its owner's already while a command runs.
func TestAKilledProgramLeavesWhatItsOwnerCanRemove(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, ".npm/entry"), "x")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	proc, err := p.s.Start(sandbox.Command{Path: "/bin/cat", Stdin: r}, sandbox.Grant{})
	require.NoError(t, err)
	_ = r.Close()
	marks, err := filepath.Glob(filepath.Join(p.project, "../state/*/layers/*/npm/work/work"))
	require.NoError(t, err)
	assert.Len(t, marks, 1, "the layer is mounted")
	assert.NoError(t, filepath.WalkDir(filepath.Join(p.project, "../state"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm()&0o700, path)
		}
		return err
	}))
	require.NoError(t, w.Close())
	<-proc.Done()
}

// TestLasting: a process that lasts cannot change the project unless that is granted, and what appears meanwhile stays.
func TestLasting(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	start := func(g sandbox.Grant) (*sandbox.Process, *os.File) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		proc, err := p.s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo x > made; cat"}, Lasting: true, Stdin: r}, g)
		require.NoError(t, err)
		_ = r.Close()
		return proc, w
	}
	proc, w := start(sandbox.Grant{})
	p.write(t, filepath.Join(p.project, ".envrc"), "mine")
	require.NoError(t, w.Close())
	<-proc.Done()
	assert.Empty(t, proc.End().Moved)
	assert.FileExists(t, filepath.Join(p.project, ".envrc"))
	assert.NoFileExists(t, filepath.Join(p.project, "made"))
	proc, w = start(sandbox.Grant{Change: true})
	require.NoError(t, w.Close())
	<-proc.Done()
	assert.FileExists(t, filepath.Join(p.project, "made"))
}

// TestGoWritesModulesThatTheirOwnerCanRemove: without the flag the directories of a module have mode 0555, and rm -rf of the state fails.
func TestGoWritesModulesThatTheirOwnerCanRemove(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, ".config/go/env"), "GOFLAGS=-trimpath\n")
	out, code, _ := p.run(t, sandbox.Grant{}, `printenv GOFLAGS`)
	assert.Equal(t, 0, code)
	assert.Equal(t, "-modcacherw -trimpath\n", out)
}

// TestSettingsWithSecrets: a file of settings is there unless it seems to have a secret.
func TestSettingsWithSecrets(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, tt := range []struct {
		text  string
		there bool
	}{
		{"[user]\n\tname = Ann\n\temail = ann@example.com\n[url \"git@github.com:\"]\n\tinsteadOf = https://github.com/\n", true},
		{"[url \"ssh://git@github.com/\"]\n\tinsteadOf = gh:\n", true},
		{"[url \"https://ann:abc123@github.com/\"]\n\tinsteadOf = gh:\n", false},
		{"[http]\n\textraHeader = Authorization: Basic abc\n", false},
	} {
		p.write(t, filepath.Join(p.home, ".gitconfig"), tt.text)
		_, code, _ := p.run(t, sandbox.Grant{}, `cat ~/.gitconfig`)
		assert.Equal(t, tt.there, code == 0, tt.text)
	}
}

// Commands at the same time have a layer each.
func TestCommandsAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.s.Report()
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			out, code, _ := p.run(t, sandbox.Grant{}, fmt.Sprintf(`echo %d > ~/.cache/go-build/mine; sleep 0.2; cat ~/.cache/go-build/mine`, i))
			assert.Equal(t, 0, code, out)
			assert.Equal(t, fmt.Sprint(i, "\n"), out)
		})
	}
	all.Wait()
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.Symlink(p.outside, filepath.Join(p.project, "link")))
	for text, want := range map[string]string{
		"write ~/go/pkg":          "",
		"write ~":                 "write to ~",
		"write ~/x":               "write to ~/x",
		"read " + p.outside:       "read " + p.outside,
		"write link":              "",
		"write ../outside":        "write to " + p.outside,
		"write .git/config":       "",
		"connect api.example.com": "connect to api.example.com",
		"unix-sockets":            "use unix sockets, also of programs below /opt and /nix",
		"outside":                 "run outside of the sandbox",
		"outside please":          "",
		"write":                   "",
		"fly":                     "",
		"write a\nb":              "",
	} {
		r, err := p.s.ParseRequest(text)
		if want == "" {
			assert.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, p.s.Sentence(r))
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e, err := p.s.Explain(sandbox.Grant{Write: []string{p.outside}})
	require.NoError(t, err)
	assert.True(t, e.Confined)
	assert.Contains(t, e.Writable, p.outside)
	assert.Contains(t, e.Writable, p.project)
	assert.Contains(t, e.Readable, "/usr")
	assert.NotContains(t, e.Variables, "SECRET")
	assert.Contains(t, e.String(), "network     none but its own loopback\n")

	home, err := sandbox.New(sandbox.Options{Project: p.home, State: filepath.Join(p.outside, "state"), Environ: []string{"HOME=" + p.home}})
	require.NoError(t, err)
	defer home.Close() //nolint:errcheck // it has started nothing
	ok, why := home.Confines()
	assert.False(t, ok)
	assert.Contains(t, why, "home directory")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := sandbox.New(sandbox.Options{Project: filepath.Join(dir, "none"), State: dir})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = sandbox.New(sandbox.Options{Project: dir})
	require.ErrorContains(t, err, "Options.State")
}

// A state directory in the project is hidden from commands, which are asked about.
func TestStateInTheProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	state := filepath.Join(p.project, "state")
	s, err := sandbox.New(sandbox.Options{Project: p.project, State: state, Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	ok, why := s.Confines()
	assert.False(t, ok)
	assert.Contains(t, why, "lies in the project")
	p.s = s
	out, code, _ := p.run(t, sandbox.Grant{}, `ls -A state | wc -l; echo x > y; echo x > state/z; mv state other`)
	assert.NotEqual(t, 0, code)
	assert.Equal(t, "0\n", strings.SplitAfter(out, "\n")[0])
	assert.NoFileExists(t, filepath.Join(state, "z"))
	assert.FileExists(t, filepath.Join(p.project, "y"))
}

// TestNetwork: a command reaches the hosts of its grant through the proxy, and no others.
func TestNetwork(t *testing.T) {
	t.Parallel()
	needs.Program(t, "curl")
	p := newPlace(t)
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "HELLO") }))
	defer there.Close()
	at := there.Listener.Addr().String()
	script := `curl -sS --noproxy '' -m 5 http://` + at + `/; curl -sS -m 5 http://example.org/ | head -c 60; curl -sS --noproxy '*' -m 5 http://` + at + `/ || echo; curl -sS -m 5 http://127.0.0.1:1/ || :`
	out, _, end := p.run(t, sandbox.Grant{Hosts: []string{at}}, script)
	assert.Contains(t, out, "HELLO")
	assert.Equal(t, 1, strings.Count(out, "HELLO"), "a program that does not use the proxy reaches nothing: "+out)
	assert.Contains(t, out, "example.org cannot be reached")
	assert.Equal(t, []string{"example.org"}, end.Refused)
	out, _, _ = p.run(t, sandbox.Grant{}, script)
	assert.NotContains(t, out, "HELLO")
	out, code, _ := p.run(t, sandbox.Grant{}, `python3 -c '
import http.server,threading,urllib.request
s=http.server.HTTPServer(("127.0.0.1",0),http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever,daemon=True).start()
print(urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port).status)' || true`)
	assert.Equal(t, 0, code)
	if !strings.Contains(out, "not found") {
		assert.Contains(t, out, "200", "a server and its client talk inside one command")
	}
}

// TestCaveats: a question about a process says where its sandbox is less than it seems, and what it may really read or write.
func TestCaveats(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, ".ssh/id"), "KEY")
	require.NoError(t, os.Symlink(".ssh", filepath.Join(p.home, "notes")))
	assert.Equal(t, []string{"it may read ~/.ssh"}, p.s.Caveats([]string{"read ~/notes", "connect example.com"}))

	box, err := sandbox.New(sandbox.Options{Project: p.home, State: filepath.Join(p.outside, "state"), Environ: []string{"HOME=" + p.home}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, box.Close()) })
	lines := box.Caveats(nil)
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "it is not confined as its sandbox promises: the project is the home directory")
	assert.Nil(t, (*sandbox.Sandbox)(nil).Caveats(nil))
}
