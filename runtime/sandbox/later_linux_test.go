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

// outsideRun runs a script as the user does, outside; the file pwned in the project's parent tells that code ran.
func (p *place) outsideRun(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = p.project
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "PWN=" + p.pwned(), "GIT_CONFIG_NOSYSTEM=1"}
	out, _ := cmd.CombinedOutput()
	t.Logf("%s", out)
}

func (p *place) pwned() string { return filepath.Join(p.outside, "pwned") }

// temp is what is /tmp in the sandbox.
func (p *place) temp() string {
	found, _ := filepath.Glob(filepath.Join(p.project, "../state/*/tmp"))
	return found[0]
}

const repo = `git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; `

// TestNothingRunsLater plays attacks of a reader who had not seen the code: a command leaves something in the project, and then the user
// does something ordinary. None may run code outside, or take away what is the user's.
func TestNothingRunsLater(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	needs.Program(t, "seq")
	evil := func(p *place) string {
		return `printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch ` + p.pwned() + `; false"\n'`
	}
	hook := func(p *place, dir string) string {
		return `mkdir -p ` + dir + `; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > ` + dir + `/pre-commit; chmod +x ` + dir + `/pre-commit`
	}
	const commit = `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`
	for name, tt := range map[string]struct {
		setup   string
		attack  func(p *place) string
		trigger string
	}{
		"made worktree, status in the root": {repo, func(p *place) string {
			return `mkdir -p evil/objects evil/refs .git/worktrees/e sub; ` + evil(p) + ` > evil/config
				cp .git/HEAD .git/worktrees/e/HEAD; echo ../../../evil > .git/worktrees/e/commondir; echo $PWD/sub/.git > .git/worktrees/e/gitdir
				echo 'gitdir: ../.git/worktrees/e' > sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub`
		}, `git status`},
		"commondir of an existing worktree": {repo + `git worktree add -q wt`, func(p *place) string {
			return `mkdir -p evil/objects evil/refs; ` + evil(p) + ` > evil/config; echo $PWD/evil > .git/worktrees/wt/commondir`
		}, `cd wt; git status`},
		"bare with commondir": {``, func(p *place) string {
			return `mkdir -p lib/common/objects lib/common/refs; echo ref: refs/heads/main > lib/HEAD; echo common > lib/commondir
				printf '[core]\nrepositoryformatversion=1\nbare=false\n[extensions]\nworktreeConfig=true\n' > lib/common/config
				` + evil(p) + ` > lib/config.worktree; printf '\tworktree = ..\n' >> lib/config.worktree`
		}, `cd lib; git status`},
		"directory made again": {`mkdir d`, func(p *place) string {
			return `i=$(stat -c %i d); for n in $(seq 100); do rmdir d; mkdir d; [ $(stat -c %i d) = $i ] && break; done; cd d; git init -q .; ` + evil(p) + ` > .git/config`
		}, `cd d; git status`},
		"list of a rebase in place": {repo + `mkdir .git/rebase-merge; echo 'pick x' > .git/rebase-merge/git-rebase-todo`, func(p *place) string {
			return `echo 'exec touch ` + p.pwned() + `' >> .git/rebase-merge/git-rebase-todo`
		}, `grep -q exec .git/rebase-merge/git-rebase-todo && touch $PWN`},
		"link of hooks, parent renamed": {repo + `mkdir -p scripts/hooks; rm -rf .git/hooks; ln -s ../scripts/hooks .git/hooks`, func(p *place) string {
			return `mv scripts s2; ` + hook(p, "scripts/hooks")
		}, commit},
		"link with two hops": {`mkdir real; ln -s real hop; ln -s hop .vscode`, func(p *place) string {
			return `rm hop; mkdir evil; echo x > evil/tasks.json; ln -s evil hop`
		}, `test -e .vscode/tasks.json && touch $PWN`},
		"link to nothing": {`ln -s env/dev .envrc`, func(p *place) string {
			return `mkdir env; echo x > env/dev`
		}, `test -e .envrc && touch $PWN`},
		"hooks path in a worktree": {repo + `git config core.hooksPath .githooks; git worktree add -q wt`, func(p *place) string {
			return hook(p, "wt/.githooks")
		}, `cd wt; ` + commit},
		"hooks path in an included file": {repo + `git config include.path ../team; printf '[core]\nhooksPath=githooks\n' > team; mkdir githooks`, func(p *place) string {
			return hook(p, "githooks")
		}, commit},
		"hooks path with a comment": {repo + `printf '[core]\n\thooksPath = githooks ; ours\n' >> .git/config; mkdir githooks`, func(p *place) string {
			return hook(p, "githooks")
		}, commit},
		"hooks path in config.worktree": {repo + `git config extensions.worktreeConfig true; git config --worktree core.hooksPath githooks; mkdir githooks`, func(p *place) string {
			return hook(p, "githooks")
		}, commit},
		"quarantine takes the user's hook": {repo + `mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`, func(p *place) string {
			return `git init -q x; printf '[core]\nhooksPath=../.git/hooks/pre-commit\n' >> x/.git/config`
		}, `test -e .git/hooks/pre-commit || touch $PWN`},
		"link to the /tmp of commands": {``, func(p *place) string {
			return `ln -s ` + p.temp() + `/evil sub; mkdir /tmp/evil; cd /tmp/evil; git init -q .; ` + evil(p) + ` > .git/config`
		}, `cd sub && git status`},
		"link to the /tmp of commands, by a way around": {`ln -s / root`, func(p *place) string {
			return `mkdir /tmp/evil; ln -s root` + p.temp() + `/evil sub; cd /tmp/evil; git init -q .; ` + evil(p) + ` > .git/config`
		}, `cd sub && git status`},
		"settings in a directory below": {`mkdir web`, func(p *place) string {
			return `mkdir -p web/.vscode new/.claude; echo x > web/.vscode/tasks.json; echo x > new/.claude/settings.json`
		}, `{ test -e web/.vscode/tasks.json || test -e new/.claude/settings.json; } && touch $PWN`},
		"settings in a directory below that are there": {`mkdir -p web/.vscode; echo x > web/.vscode/tasks.json`, func(p *place) string {
			return `echo evil >> web/.vscode/tasks.json; mv web/.vscode/tasks.json a; mv web w; mkdir -p web/.vscode; echo evil > web/.vscode/tasks.json`
		}, `grep -qr evil web && touch $PWN`},
		"quarantine takes a repository that was moved": {`git init -q nest; git -C nest config core.pager cat; mkdir -p nest/.git/hooks; echo x > nest/.git/hooks/pre-commit`,
			func(p *place) string { return `mv nest nest2` }, `test -e nest2/.git/hooks/pre-commit || touch $PWN`},
		"quarantine takes what installers write": {`mkdir node_modules`, func(p *place) string {
			return `mkdir -p node_modules/p/.vscode; echo x > node_modules/p/.vscode/settings.json`
		}, `test -e node_modules/p/.vscode/settings.json || touch $PWN`},
		"repository around": {`cd ..; ` + repo + `git config core.hooksPath project/.husky/_`, func(p *place) string {
			return hook(p, ".husky/_")
		}, `cd ..; ` + commit},
		"worktree of a repository elsewhere": {`cd ../outside; ` + repo + `git config core.hooksPath .husky; git worktree add -q ../project`, func(p *place) string {
			return hook(p, ".husky")
		}, commit},
		"worktree of a repository elsewhere, included": {`cd ../outside; ` + repo + `git config include.path more; printf '[core]\nhooksPath=.husky' > .git/more; git worktree add -q ../project`,
			func(p *place) string { return hook(p, ".husky") }, commit},
		"pipe as a list of a rebase": {repo + `mkdir .git/rebase-merge`, func(p *place) string {
			return `mkfifo .git/rebase-merge/git-rebase-todo`
		}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.outsideRun(t, tt.setup)
			done := make(chan struct{})
			go func() { defer close(done); p.run(t, sandbox.Grant{}, tt.attack(p)) }()
			select {
			case <-done:
			case <-time.After(time.Minute):
				// Let it go on: open the other end of the pipe.
				f, err := os.OpenFile(filepath.Join(p.project, ".git/rebase-merge/git-rebase-todo"), os.O_RDWR, 0)
				require.NoError(t, err)
				time.Sleep(100 * time.Millisecond)
				_ = f.Close()
				<-done
				t.Fatal("the call does not end")
			}
			p.outsideRun(t, tt.trigger)
			assert.NoFileExists(t, p.pwned(), "it ran outside, or is gone")
		})
	}
}

// TestAClosedDirectoryIsWatched: a directory that was closed once is not watched any more. Only as an ordinary user.
func TestAClosedDirectoryIsWatched(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.run(t, sandbox.Grant{}, `mkdir d; chmod 0 d`)
	p.run(t, sandbox.Grant{}, `true`)
	p.run(t, sandbox.Grant{}, `cd d && git init -q . && printf '#!/bin/sh\n' > .git/hooks/pre-commit`)
	assert.NoFileExists(t, filepath.Join(p.project, "d/.git/hooks/pre-commit"))
}

// TestARequestFollowsNoLinkOfTheProject: a request follows no link of the project.
func TestARequestFollowsNoLinkOfTheProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.Symlink(p.outside, filepath.Join(p.project, "data")))
	for _, text := range []string{"read /proc/self/root" + p.project + "/data", "write /proc/self/root" + p.project + "/.git"} {
		_, err := p.s.ParseRequest(text)
		assert.Error(t, err, text)
	}
}

// TestSettingsWithKeysAreHidden: settings with a token are not shown.
func TestSettingsWithKeysAreHidden(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, ".gitconfig"), "[url \"https://ghp_KEY@github.com/\"]\n\tinsteadOf = https://github.com/\n[sendemail]\n\tsmtpPass = KEY\n")
	p.write(t, filepath.Join(p.home, ".local/share/uv/credentials/credentials.toml"), "KEY")
	p.write(t, filepath.Join(p.home, ".dotnet/corefx/cryptography/x509stores/my/a.pfx"), "KEY")
	for _, path := range []string{".gitconfig", ".local/share/uv/credentials/credentials.toml", ".dotnet/corefx/cryptography/x509stores/my/a.pfx"} {
		out, _, _ := p.run(t, sandbox.Grant{}, `cat ~/`+path)
		assert.NotContains(t, out, "KEY", path)
	}
}

// TestWhatIsGrantedIsGuarded: a directory that a command was allowed to write is guarded like the project.
func TestWhatIsGrantedIsGuarded(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	for name, sub := range map[string]string{"directory of a repository": ".", "git directory": ".git"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.outsideRun(t, `cd ../outside; `+repo)
			g := sandbox.Grant{Write: []string{filepath.Join(p.outside, sub)}}
			_, _, end := p.run(t, g, `cd ../outside/`+sub+`; echo ok > file; [ -d .git ] && cd .git
				git config --file config core.fsmonitor "touch `+p.pwned()+`; false"; printf '[core]\nfsmonitor = "touch `+p.pwned()+`; false"\n' >> config
				rm -rf hooks; mkdir -p hooks; printf '#!/bin/sh\ntouch `+p.pwned()+`\n' > hooks/pre-commit; chmod +x hooks/pre-commit; echo /tmp > commondir`)
			assert.NotEmpty(t, end.Moved)
			assert.FileExists(t, filepath.Join(p.outside, sub, "file"), "the rest can be written")
			p.outsideRun(t, `cd ../outside; git status && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y && echo good > fine`)
			assert.NoFileExists(t, p.pwned())
			assert.FileExists(t, filepath.Join(p.outside, "fine"), "the repository still works")
		})
	}
}

// TestClosedDirectoriesStayClosed: looking into a directory that its owner has closed leaves its mode.
func TestClosedDirectoriesStayClosed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Join(p.project, "closed")
	p.write(t, filepath.Join(dir, "deep/.envrc"), "mine")
	for _, path := range []string{filepath.Join(dir, "deep"), dir} {
		require.NoError(t, os.Chmod(path, 0))
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700); _ = os.Chmod(filepath.Join(dir, "deep"), 0o700) })
	p.run(t, sandbox.Grant{}, `true`)
	info, err := os.Lstat(dir)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm())
	_, _, end := p.run(t, sandbox.Grant{}, `chmod 700 closed closed/deep; echo x > closed/deep/.envrc; mkdir closed/deep/.vscode; chmod 0 closed/deep closed`)
	info, err = os.Lstat(dir)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm(), "as the command left it")
	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "deep"), 0o700))
	assert.NoDirExists(t, filepath.Join(dir, "deep/.vscode"), "%v", end.Moved)
	text, err := os.ReadFile(filepath.Join(dir, "deep/.envrc"))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
}

// TestIsKilled is the program of the next test.
func TestIsKilled(t *testing.T) {
	dir := os.Getenv("SANDBOX_TEST_PLACE")
	if dir == "" {
		return // it is not that program
	}
	s, err := sandbox.New(sandbox.Options{Project: filepath.Join(dir, "project"), State: filepath.Join(dir, "state"), Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}})
	require.NoError(t, err)
	p, err := s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", os.Getenv("SANDBOX_TEST_SCRIPT")}}, sandbox.Grant{})
	require.NoError(t, err)
	<-p.Done()
}

// TestAKilledProgramIsLookedAfter: what a command left when its program was killed is moved away by the next program, and by one that
// runs already when it starts a command. What was there stays, also if the number of its device is another one.
func TestAKilledProgramIsLookedAfter(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	kill := func(dir, script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIsKilled$")
		cmd.Env = append(os.Environ(), "SANDBOX_TEST_PLACE="+dir, "SANDBOX_TEST_SCRIPT="+script+"; touch done; sleep 60")
		require.NoError(t, cmd.Start())
		done := filepath.Join(dir, "project/done")
		require.Eventually(t, func() bool { _, err := os.Stat(done); return err == nil }, time.Minute, 5*time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(t, os.Remove(done))
	}
	p := newPlace(t)
	dir := filepath.Dir(p.project)
	p.write(t, filepath.Join(p.project, ".idea/workspace.xml"), "mine")
	p.outsideRun(t, repo)
	kill(dir, `mkdir .vscode; git init -q x; git -C x config core.fsmonitor evil`)
	var notes []string
	s, err := sandbox.New(sandbox.Options{Project: p.project, State: filepath.Join(dir, "state"), Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, Note: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	require.Len(t, notes, 2)
	assert.Contains(t, notes[0], "x/.git was moved away")
	assert.Contains(t, notes[1], ".vscode was moved away")
	assert.NoDirExists(t, filepath.Join(p.project, ".vscode"))
	assert.NoDirExists(t, filepath.Join(p.project, "x/.git"))
	assert.FileExists(t, filepath.Join(p.project, ".idea/workspace.xml"))
	assert.FileExists(t, filepath.Join(p.project, ".git/config"))

	kill(dir, `echo x > .envrc`)
	_, _, end := p.run(t, sandbox.Grant{}, `test ! -e .envrc`)
	assert.Empty(t, end.Moved, "it is not this command's")
	assert.NoFileExists(t, filepath.Join(p.project, ".envrc"))
	left, err := filepath.Glob(filepath.Join(dir, "state/*/layers/*/seen.json"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
