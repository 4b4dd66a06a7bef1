package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// evilConfig prints a configuration of git that runs code at every status; plant makes such a repository in a directory, and gitlink
// puts a directory into the index of the project, so that a status in the project looks into it.
func (p *place) evilConfig() string {
	return `printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch ` + p.pwned() + `; false"\n'`
}

func (p *place) plant(dir string) string {
	return `git init -q ` + dir + `; ` + p.evilConfig() + ` > ` + dir + `/.git/config; `
}

func gitlink(dir string) string {
	return `git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),` + dir + `; `
}

// TestNothingRunsLaterEither plays attacks of another reader who had not seen the code: commands run one after the other, then the user does something ordinary.
func TestNothingRunsLaterEither(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	for name, tt := range map[string]struct {
		ordinary bool // it is an attack only if the user is not root
		setup    string
		attack   func(p *place) []string
		trigger  string
	}{
		"repository below the objects of a made repository": {false, repo, func(p *place) []string {
			return []string{`mkdir -p x/objects x/refs; cp .git/HEAD x/HEAD; ` + p.plant("x/objects/e") + gitlink("x/objects/e")}
		}, `git status`},
		"repository in a directory whose name is not UTF-8": {false, repo + `git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add sub`, func(p *place) []string {
			return []string{`mv sub $'s\xff'`, p.evilConfig() + ` > $'s\xff/.git/config'; mv $'s\xff' sub`}
		}, `git status`},
		"settings in a directory whose name is not UTF-8": {false, `mkdir -p web/.vscode; echo x > web/.vscode/tasks.json`, func(p *place) []string {
			return []string{`mv web $'w\xff'`, `echo evil > $'w\xff/.vscode/tasks.json'; mv $'w\xff' web`}
		}, `grep -q evil web/.vscode/tasks.json && touch $PWN`},
		"directory around settings that cannot be written": {true, ``, func(p *place) []string {
			return []string{`echo evil > .envrc; chmod 555 .`}
		}, `test -e .envrc && touch $PWN`},
		"git directory that cannot be written": {true, repo, func(p *place) []string {
			return []string{p.plant("sub") + gitlink("sub") + `chmod 555 sub/.git`}
		}, `git status`},
		"directory that can be read and not entered": {true, repo, func(p *place) []string {
			return []string{`mkdir d; ` + p.plant("d/sub") + gitlink("d/sub") + `chmod 444 d`, `chmod 755 d`}
		}, `git status`},
		"existing settings in a directory that cannot be entered": {true, `mkdir -p web/.vscode; echo x > web/.vscode/tasks.json`, func(p *place) []string {
			return []string{`chmod 444 web`, `chmod 755 web; echo evil > web/.vscode/tasks.json; chmod 444 web`}
		}, `chmod 755 web; grep -q evil web/.vscode/tasks.json && touch $PWN`},
		"project that is closed, then opened": {true, repo, func(p *place) []string {
			return []string{`chmod 0 .`, `chmod 755 ` + p.project + `; ` + p.evilConfig() + ` > .git/config; chmod 0 .`}
		}, `git status`},
		"project that is closed and opened loses its repository": {true, repo + `git config core.pager cat`, func(p *place) []string {
			return []string{`chmod 0 .`, `chmod 755 ` + p.project}
		}, `test -e .git/config || touch $PWN`},
		"path of hooks with a link in it": {false, repo + `mkdir -p t/hooks; ln -s t tools; printf '#!/bin/sh\n' > t/hooks/pre-commit; chmod +x t/hooks/pre-commit; git config core.hooksPath tools/hooks`, func(p *place) []string {
			return []string{`printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > t/hooks/pre-commit`}
		}, `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"relative path of hooks in the user's own configuration, in a repository below": {false, `git config --global core.hooksPath .githooks; ` + repo + `git init -q sub`, func(p *place) []string {
			return []string{`mkdir sub/.githooks; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > sub/.githooks/pre-commit; chmod +x sub/.githooks/pre-commit`}
		}, `cd sub; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"program in the project that the configuration names": {false, repo + `mkdir tools; printf '#!/bin/sh\nfalse\n' > tools/monitor; chmod +x tools/monitor; git config core.fsmonitor tools/monitor`, func(p *place) []string {
			return []string{`printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > tools/monitor`}
		}, `git status`},
		"path of hooks is the project": {false, repo + `git config core.hooksPath .`, func(p *place) []string {
			return []string{`printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > pre-commit; chmod +x pre-commit`}
		}, `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"strategy of a rebase": {false, repo + `git config user.name a; git config user.email a@b; echo 1 > f; git add f; git commit -qm 1; git branch o; echo 2 > f; git commit -qam 2
			git checkout -q o; echo 3 > f; git commit -qam 3; echo 4 > g; git add g; git commit -qm 4; git rebase master || git rebase main`, func(p *place) []string {
			return []string{`mkdir git-merge-x; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > git-merge-x/y; chmod +x git-merge-x/y; echo x/y > .git/rebase-merge/strategy
				echo 5 > f; git add f`}
		}, `GIT_EDITOR=true git rebase --continue`},
		"second name of a hook": {false, repo + `mkdir scripts; printf '#!/bin/sh\n' > scripts/pre-commit; chmod +x scripts/pre-commit; ln scripts/pre-commit .git/hooks/pre-commit`, func(p *place) []string {
			return []string{`printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > scripts/pre-commit`}
		}, `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"link in a directory of settings": {false, `mkdir .claude tools; echo x > tools/settings.json; ln -s ../tools/settings.json .claude/settings.json`, func(p *place) []string {
			return []string{`echo evil > tools/settings.json`}
		}, `grep -q evil .claude/settings.json && touch $PWN`},
		"path of hooks by another name of the project": {false, repo + `mkdir hooks; printf '#!/bin/sh\n' > hooks/pre-commit; chmod +x hooks/pre-commit; ln -s project ../alias; git config core.hooksPath $PWD/../alias/hooks`, func(p *place) []string {
			return []string{`printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > hooks/pre-commit`}
		}, `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"path of hooks of a repository elsewhere, in a worktree below": {false, `cd ../outside; ` + repo + `git config core.hooksPath .husky; git worktree add -q ../project/sub`, func(p *place) []string {
			return []string{`mkdir sub/.husky; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > sub/.husky/pre-commit; chmod +x sub/.husky/pre-commit`}
		}, `cd sub; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"path of hooks of one worktree": {false, repo + `git worktree add -q wt; git config extensions.worktreeConfig true; git -C wt config --worktree core.hooksPath .own`, func(p *place) []string {
			return []string{`mkdir wt/.own; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > wt/.own/pre-commit; chmod +x wt/.own/pre-commit`}
		}, `cd wt; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y`},
		"repository in a directory that is a repository only for a moment": {false, repo, func(p *place) []string {
			return []string{`mkdir -p x/objects x/refs; cp .git/HEAD x/HEAD; ` + p.plant("x/objects/e"), `mv x/objects e; rm -r x; ` + gitlink("e/e")}
		}, `git status`},
		"configuration that cannot be read": {true, repo, func(p *place) []string {
			return []string{p.plant("sub") + gitlink("sub") + `chmod 0 sub/.git/config`}
		}, `chmod -R u+rwX .; git status`},
		"strategy of a cherry-pick": {false, repo + `git config user.name a; git config user.email a@b; echo 1 > f; git add f; git commit -qm 1; git branch o; echo 2 > f; git commit -qam 2
			git checkout -q o; echo 3 > f; git commit -qam 3; git checkout -q -; echo 9 > h; git add h; git commit -qm 9; git checkout -qb z; git cherry-pick o~1..o master~1 o`, func(p *place) []string {
			return []string{`mkdir git-merge-x; printf '#!/bin/sh\ntouch ` + p.pwned() + `\n' > git-merge-x/y; chmod +x git-merge-x/y; mkdir -p .git/sequencer; printf '[options]\n\tstrategy = x/y\n' > .git/sequencer/opts
				cat .git/sequencer/todo; echo 5 > f; git add f`}
		}, `GIT_EDITOR=true git cherry-pick --continue`},
		"git file whose path has a link before two dots": {false, repo, func(p *place) []string {
			return []string{`mkdir -p sub .git/objects/a .git/objects/.git/objects .git/objects/.git/refs; cp .git/HEAD .git/objects/.git/HEAD; ` + p.evilConfig() + ` > .git/objects/.git/config
				ln -s .git/objects/a lnk; echo 'gitdir: ../lnk/../.git' > sub/.git; ` + gitlink("sub")}
		}, `git status`},
		"list of a rebase behind a link": {false, repo, func(p *place) []string {
			return []string{`mkdir rm; echo 'exec touch ` + p.pwned() + `' > rm/git-rebase-todo; ln -s $PWD/rm .git/rebase-merge`}
		}, `grep -q exec .git/rebase-merge/git-rebase-todo && touch $PWN`},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.ordinary && os.Geteuid() == 0 {
				t.Log("root may do everything, so it is no attack")
				return
			}
			p := newPlace(t)
			p.outsideRun(t, tt.setup)
			for _, script := range tt.attack(p) {
				out, _, end := p.run(t, sandbox.Grant{}, script)
				t.Logf("%s%+v", out, end.Moved)
			}
			_ = os.Chmod(p.project, 0o700) // the user opens what a command has closed
			p.outsideRun(t, tt.trigger)
			_ = os.Chmod(filepath.Join(p.project, "sub/.git"), 0o700)
			assert.NoFileExists(t, p.pwned(), "it ran outside, or is gone")
		})
	}
}

// start starts a script in the sandbox, and returns what waits for its end.
func (p *place) start(t *testing.T, script string) (wait func() sandbox.End) {
	t.Helper()
	proc, err := p.s.Start(sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}}, sandbox.Grant{})
	require.NoError(t, err)
	return func() sandbox.End { <-proc.Done(); return proc.End() }
}

func (p *place) appears(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Lstat(filepath.Join(p.project, name)); return err == nil }, time.Minute, 2*time.Millisecond)
}

// TestTwoCommandsTogether: what one command makes is not what was there before the other.
func TestTwoCommandsTogether(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	needs.Program(t, "seq")
	t.Run("hidden from the first, shown by the second", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		first := p.start(t, `echo evil > .envrc; touch made; until test -e go; do sleep 0.01; done; ln .envrc notes; rm .envrc`)
		p.appears(t, "made")
		second := p.start(t, `touch running; until test -e go2; do sleep 0.01; done; mv notes .envrc`)
		p.appears(t, "running")
		p.write(t, filepath.Join(p.project, "go"), "")
		first()
		p.write(t, filepath.Join(p.project, "go2"), "")
		second()
		assert.NoFileExists(t, filepath.Join(p.project, ".envrc"))
	})
	t.Run("configuration hidden from the first", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.outsideRun(t, repo)
		first := p.start(t, p.plant("sub")+gitlink("sub")+`touch made; until test -e go; do sleep 0.01; done; ln sub/.git/config sub/.git/notes; rm sub/.git/config`)
		p.appears(t, "made")
		second := p.start(t, `touch running; until test -e go2; do sleep 0.01; done; mv sub/.git/notes sub/.git/config`)
		p.appears(t, "running")
		p.write(t, filepath.Join(p.project, "go"), "")
		first()
		p.write(t, filepath.Join(p.project, "go2"), "")
		second()
		p.outsideRun(t, `git status`)
		assert.NoFileExists(t, p.pwned())
	})
	t.Run("directory renamed while the second starts", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.write(t, filepath.Join(p.project, "web/.vscode/tasks.json"), "mine")
		first := p.start(t, `touch made; until test -e go; do mv web w; mv w web; done; test -d w && mv w web`)
		p.appears(t, "made")
		for range 20 {
			p.run(t, sandbox.Grant{}, `for i in $(seq 50); do echo evil > web/.vscode/tasks.json && break; echo evil > w/.vscode/tasks.json && break; done 2>/dev/null`)
		}
		p.write(t, filepath.Join(p.project, "go"), "")
		first()
		// The second may have written where the first has carried the directory. The guard sees that, and moves the settings away: what
		// is in their place is as it was, or nothing.
		data, err := os.ReadFile(filepath.Join(p.project, "web/.vscode/tasks.json"))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			assert.Equal(t, "mine", string(data))
		}
	})
}

// TestSettingsBehindALinkAreHidden: settings with a token are not shown, also if they are kept elsewhere.
func TestSettingsBehindALinkAreHidden(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.home, "dotfiles/gitconfig"), "[url \"https://ghp_KEY@github.com/\"]\n\tinsteadOf = https://github.com/\n")
	require.NoError(t, os.Symlink("dotfiles/gitconfig", filepath.Join(p.home, ".gitconfig")))
	p.write(t, filepath.Join(p.home, ".npm-global/etc/npmrc"), "//registry.npmjs.org/:_authToken=KEY\n")
	for _, path := range []string{".gitconfig", ".npm-global/etc/npmrc"} {
		out, _, _ := p.run(t, sandbox.Grant{}, `cat ~/`+path)
		assert.NotContains(t, out, "KEY", path)
	}
}

// TestLinksDoNotStopCommands: links that a command makes do not make the next one wait.
func TestLinksDoNotStopCommands(t *testing.T) {
	t.Parallel()
	needs.Program(t, "seq")
	p := newPlace(t)
	p.run(t, sandbox.Grant{}, `mkdir a; t=$(printf 'a/../%.0s' $(seq 400))$(printf 'b/%.0s' $(seq 700)); for i in $(seq 5); do ln -s "$t" l$i; done`)
	p.run(t, sandbox.Grant{}, `true`)
}

// TestALongPathDoesNotStopCommands: a path that is as long as the kernel can take does not make the next command fail.
func TestALongPathDoesNotStopCommands(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	p := newPlace(t)
	deep := 4095 - len(p.project) - len("/.git/config")
	var parts []string
	for deep > 0 {
		n := min(200, deep-1)
		if rest := deep - 1 - n; rest == 1 {
			n--
		}
		parts = append(parts, strings.Repeat("a", n))
		deep -= n + 1
	}
	script := `for d in ` + strings.Join(parts, " ") + `; do mkdir $d; cd $d; done; mkdir .git .git/objects .git/refs; echo ref: refs/heads/main > .git/HEAD; printf '[core]\n\tbare = false\n' > .git/config`
	out, _, end := p.run(t, sandbox.Grant{}, script)
	t.Logf("%s %+v", out, end.Moved)
	proc, err := p.s.Start(sandbox.Command{Path: "/bin/true"}, sandbox.Grant{})
	require.NoError(t, err)
	<-proc.Done()
}
