package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// TestNothingOfTheUsersIsMovedAway: what is the user's own, or comes from ordinary work, is where it belongs afterwards.
func TestNothingOfTheUsersIsMovedAway(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	for name, tt := range map[string]struct {
		setup  string
		run    []string // commands
		intact string   // fails if something is gone
	}{
		"link in the hooks of a made repository": {repo + `mkdir src .grapnel; echo x > src/a; echo deny > .grapnel/rules.yaml; echo x > .git/hooks/pre-commit`,
			[]string{`git init -q x; mkdir -p x/.git/hooks; for p in src .grapnel/rules.yaml .git/hooks/pre-commit; do ln -s ../../../$p x/.git/hooks/$(basename $p); done`},
			`test -e src/a && test -e .grapnel/rules.yaml && test -e .git/hooks/pre-commit`},
		"made worktree whose hooks are the user's directory": {repo + `mkdir -p src/hooks; echo x > src/hooks/a; git config core.hooksPath hooks`, []string{`echo 'gitdir: ../.git' > src/.git`},
			`test -e src/hooks/a`},
		"removal of an own clone": {repo, []string{`git clone -q . c`, `rm -rf c`}, `test ! -e c`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.outsideRun(t, tt.setup)
			for _, script := range tt.run {
				out, _, end := p.run(t, sandbox.Grant{}, script)
				t.Logf("%s%+v", out, end.Moved)
			}
			p.outsideRun(t, `{ `+tt.intact+`; } || touch $PWN; git status --short; ls -a`)
			assert.NoFileExists(t, p.pwned(), "something is gone")
		})
	}
}

// TestThePersonsConfigurationStays: what a person does with git while a command runs is still done when it has ended.
func TestThePersonsConfigurationStays(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	p := newPlace(t)
	p.outsideRun(t, repo+`git config remote.origin.url x`)
	wait := p.start(t, `touch running; until test -e go; do sleep 0.01; done`)
	p.appears(t, "running")
	p.outsideRun(t, `git config branch.main.remote origin; touch go`)
	end := wait()
	assert.FileExists(t, filepath.Join(p.project, ".git/config"), "%+v", end.Moved)
}

// TestAGrantedCacheStaysWhole: a module in a cache that a command may write comes with settings of its own.
func TestAGrantedCacheStaysWhole(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	mod := filepath.Join(p.outside, "mod")
	require.NoError(t, os.Mkdir(mod, 0o700))
	_, _, end := p.run(t, sandbox.Grant{Write: []string{mod}}, `mkdir -p `+mod+`/m@v1/.vscode; echo x > `+mod+`/m@v1/.vscode/settings.json`)
	assert.FileExists(t, filepath.Join(mod, "m@v1/.vscode/settings.json"), "%+v", end.Moved)
}

// TestALinkToStateBehindALink: the guard knows its own directories also if a link leads to them.
func TestALinkToStateBehindALink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Dir(p.project)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	s, err := sandbox.New(sandbox.Options{Project: p.project, State: filepath.Join(dir, "link/state"), Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	p.s = s
	found, _ := filepath.Glob(filepath.Join(dir, "real/state/*/tmp"))
	_, _, end := p.run(t, sandbox.Grant{}, `mkdir /tmp/evil; ln -s `+found[0]+`/evil sub`)
	assert.NotEmpty(t, end.Moved)
	_, err = os.Lstat(filepath.Join(p.project, "sub"))
	assert.Error(t, err)
}

// TestManyRepositoriesDoNotStopCommands: what is fenced has to reach the next command, however much it is.
func TestManyRepositoriesDoNotStopCommands(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	needs.Program(t, "seq")
	p := newPlace(t)
	_, _, end := p.run(t, sandbox.Grant{}, `d=$(printf a%.0s $(seq 200)); for i in $(seq 17); do mkdir $d; cd $d; done
		mkdir -p r{1..3000}/{objects,refs,hooks}; tee r{1..1500}/{HEAD,config} < /dev/null; tee r{1501..3000}/{HEAD,config} < /dev/null`)
	require.Empty(t, end.Moved)
	proc, err := p.s.Start(sandbox.Command{Path: "/bin/true"}, sandbox.Grant{})
	require.NoError(t, err)
	<-proc.Done()
}

// TestManyDirectoriesDoNotStopCommands: what a command removes does not make it wait.
func TestManyDirectoriesDoNotStopCommands(t *testing.T) {
	t.Parallel()
	needs.Proof(t)
	p := newPlace(t)
	p.run(t, sandbox.Grant{}, `mkdir -p {d,e}/{1..60}/{1..100}`)
	begin := time.Now()
	p.run(t, sandbox.Grant{}, `rm -rf e; date +%s%N > end`)
	ended, err := os.Stat(filepath.Join(p.project, "end"))
	require.NoError(t, err)
	assert.Less(t, time.Since(ended.ModTime()), 2*time.Second, "all took %v", time.Since(begin))
}

// TestAFullDiskMovesThemAwayAsWell: what cannot be moved into quarantine, because a command has filled the disk, runs nothing either.
func TestAFullDiskMovesThemAwayAsWell(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(p.project), "state/*/quarantine"))
	require.Len(t, found, 1)
	require.NoError(t, os.Remove(found[0]))
	p.write(t, found[0], "here nothing can be made")
	p.run(t, sandbox.Grant{}, `echo x > .envrc`)
	assert.NoFileExists(t, filepath.Join(p.project, ".envrc"))
}

// TestAKilledProgramLeavesNoRace: what a command does after its program was killed is moved away as well.
func TestAKilledProgramLeavesNoRace(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	needs.Program(t, "seq")
	for range 3 {
		p := newPlace(t)
		dir := filepath.Dir(p.project)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIsKilled$")
		cmd.Env = append(os.Environ(), "SANDBOX_TEST_PLACE="+dir, "SANDBOX_TEST_SCRIPT=for i in $(seq 300); do (while :; do echo x > .envrc; : > done; done) & done; wait")
		require.NoError(t, cmd.Start())
		p.appears(t, "done")
		time.Sleep(300 * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		s, err := sandbox.New(sandbox.Options{Project: p.project, State: filepath.Join(dir, "state"), Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}})
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond)
		assert.NoFileExists(t, filepath.Join(p.project, ".envrc"))
		assert.NoError(t, s.Close())
	}
}

// TestAHomeBehindALinkIsTheHome: the home directory as the project is not confined, also if HOME is a link to it.
func TestAHomeBehindALinkIsTheHome(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Dir(p.project)
	p.write(t, filepath.Join(p.home, ".ssh/id"), "KEY")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("home", link))
	s, err := sandbox.New(sandbox.Options{Project: link, State: filepath.Join(link, ".local/state"), Environ: []string{"HOME=" + link, "PATH=" + os.Getenv("PATH")}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	ok, why := s.Confines()
	assert.False(t, ok, why)
	q := &place{project: p.home, home: p.home, outside: p.outside, s: s}
	out, _, _ := q.run(t, sandbox.Grant{}, `cat .ssh/id; ls .local/state/*/layers`)
	t.Log(out)
}

// TestTheConfigurationStaysAfterAKill: what a person did with git after the program was killed is not undone by its next start.
func TestTheConfigurationStaysAfterAKill(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	p := newPlace(t)
	dir := filepath.Dir(p.project)
	p.outsideRun(t, repo+`git config remote.origin.url x`)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIsKilled$")
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_PLACE="+dir, "SANDBOX_TEST_SCRIPT=touch done; sleep 60")
	require.NoError(t, cmd.Start())
	p.appears(t, "done")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	p.outsideRun(t, `git config branch.main.remote origin; echo 'use nix' > .envrc`)
	s, err := sandbox.New(sandbox.Options{Project: p.project, State: filepath.Join(dir, "state"), Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, Note: func(text string) { t.Log(text) }})
	require.NoError(t, err)
	assert.NoError(t, s.Close())
	assert.FileExists(t, filepath.Join(p.project, ".git/config"))
}
