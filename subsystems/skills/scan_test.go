package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/skills"
)

func TestWhereSkillsAreFound(t *testing.T) {
	t.Parallel()
	deep := "1/2/3/4/5/"
	dir := folder(t, map[string]string{
		"b/SKILL.md":                md("b", "B.", "do b"),
		"a/SKILL.md":                md("a", "A.", "do a"),
		"group/c/SKILL.md":          md("c", "C.", "do c"),
		deep + "six/SKILL.md":       md("six", "Deep enough.", "x"),
		deep + "x/seven/SKILL.md":   md("seven", "Too deep.", "x"),
		"a/nested/SKILL.md":         md("nested", "A part of a.", "x"),
		".git/g/SKILL.md":           md("g", "G.", "x"),
		".hidden/h/SKILL.md":        md("h", "H.", "x"),
		"node_modules/n/SKILL.md":   md("n", "N.", "x"),
		"lower/skill.md":            md("lower", "Other letters.", "x"),
		"plain/README.md":           "nothing",
		"a/scripts/run.sh":          "x",
		"a/references/more/x.md":    "x",
		"a/.secret":                 "x",
		"a/node_modules/p/index.js": "x",
	})
	s := in(dir, filepath.Join(dir, "missing"))
	all := s.All()
	assert.Equal(t, "a b c six", names(all))
	assert.Equal(t, filepath.Join(dir, "a"), all[0].Dir)
	assert.Equal(t, []string{"nested/SKILL.md", "references/more/x.md", "scripts/run.sh"}, all[0].Resources)
	assert.Empty(t, s.Warnings())
	assert.Equal(t, "a", names(in(filepath.Join(dir, "a")).All()), "a directory that is a skill itself")
	assert.Empty(t, skills.New(nil).All())
}

func TestTheFirstOfANameCounts(t *testing.T) {
	t.Parallel()
	project := folder(t, map[string]string{"x/SKILL.md": md("x", "The project's.", "p")})
	user := folder(t, map[string]string{"x/SKILL.md": md("x", "The user's.", "u"), "y/SKILL.md": md("y", "Y.", "y")})
	s := in(project, user)
	all := s.All()
	require.Equal(t, "x y", names(all))
	assert.Equal(t, "The project's.", all[0].Description)
	assert.Equal(t, []string{fmt.Sprintf(`%s/x/SKILL.md: left out: there is a skill "x" already, in %s/x/SKILL.md`, user, project)}, s.Warnings())
}

func TestLinks(t *testing.T) {
	t.Parallel()
	out := folder(t, map[string]string{"secret": md("stolen", "Canary.", "x"), "dir/SKILL.md": md("dir", "D.", "x")})
	dir := folder(t, map[string]string{"real/SKILL.md": md("real", "R.", "x"), "thief/other": ""})
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "alias")))
	require.NoError(t, os.Symlink(filepath.Join(out, "dir"), filepath.Join(dir, "away")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "thief", "loop")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "z", "pipe"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(out, "secret"), filepath.Join(dir, "z", fileName)))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "real2-"+fileName), 0o644))
	s := in(dir)
	assert.Equal(t, "real", names(s.All()))
	text := strings.Join(s.Warnings(), "\n")
	assert.Contains(t, text, filepath.Join(dir, "away")+": is a link that leads out of "+dir)
	assert.Contains(t, text, filepath.Join(dir, "z", fileName)+": left out: ")
	assert.NotContains(t, text, "Canary")
}

const fileName = "SKILL.md"

// A project cannot have a folder of skills elsewhere: neither its root, nor what is on the
// way to it, nor what is in it may be a link out of the project.
func TestAProjectsLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	secret := md("stolen", "Canary.", "Canary.")
	for name, link := range map[string]func(t *testing.T, project, out string){
		"the root": func(t *testing.T, project, out string) { symlink(t, out, project, ".claude/skills") },
		"relative": func(t *testing.T, project, out string) {
			rel, err := filepath.Rel(filepath.Join(project, ".claude"), out)
			require.NoError(t, err)
			symlink(t, rel, project, ".claude/skills")
		},
		"on the way": func(t *testing.T, project, out string) {
			require.NoError(t, os.Rename(filepath.Join(out, "s"), filepath.Join(out, "skills")))
			symlink(t, out, project, ".claude")
		},
		"through another link": func(t *testing.T, project, out string) {
			symlink(t, out, project, "vendor/x")
			symlink(t, "../vendor/x", project, ".claude/skills")
		},
		"a skill": func(t *testing.T, project, out string) {
			symlink(t, filepath.Join(out, "s"), project, ".claude/skills/s")
		},
		"its SKILL.md": func(t *testing.T, project, out string) {
			symlink(t, filepath.Join(out, "s", fileName), project, ".claude/skills/s/"+fileName)
		},
		"a hard link": func(t *testing.T, project, out string) {
			dir := filepath.Join(project, ".claude/skills/s")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.Link(filepath.Join(out, "s", fileName), filepath.Join(dir, fileName)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, out := t.TempDir(), folder(t, map[string]string{"s/SKILL.md": secret})
			link(t, project, out)
			dir := filepath.Join(project, ".claude", "skills")
			s := skills.New(&skills.Options{Dirs: []string{dir}, Within: project})
			assert.Empty(t, s.All())
			require.Len(t, s.Warnings(), 1)
			assert.Contains(t, s.Warnings()[0], dir)
			assert.NotContains(t, s.Warnings()[0], "Canary")
		})
	}
}

func TestLinksOfAUserAndWithinAProjectAreFollowed(t *testing.T) {
	t.Parallel()
	project, home := folder(t, map[string]string{".agents/skills/p/SKILL.md": md("p", "P.", "x")}), t.TempDir()
	dotfiles := folder(t, map[string]string{"u/SKILL.md": md("u", "U.", "x")})
	symlink(t, "../.agents/skills", project, ".claude/skills")
	symlink(t, dotfiles, home, ".claude/skills")
	s := skills.New(&skills.Options{Within: project, Dirs: []string{filepath.Join(project, ".claude/skills"), filepath.Join(home, ".claude/skills")}})
	assert.Equal(t, "p u", names(s.All()))
	assert.Empty(t, s.Warnings())
}

func TestResourcesAreFilesThatCanBeRead(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"s/SKILL.md": md("s", "S.", "x"), "s/own.md": ""})
	symlink(t, "own.md", dir, "s/alias.md")
	symlink(t, "/etc/passwd", dir, "s/passwd")
	symlink(t, "/", dir, "s/disk")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "s", "pipe"), 0o644))
	all := in(dir).All()
	require.Len(t, all, 1)
	assert.Equal(t, []string{"alias.md", "own.md"}, all[0].Resources)
}

func symlink(t *testing.T, target, dir, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
}

func TestAPipeIsNoSkill(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"p/x": ""})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "p", fileName), 0o644))
	s := in(dir)
	assert.Empty(t, s.All(), "and nobody waits for it")
	assert.Equal(t, []string{filepath.Join(dir, "p", fileName) + ": left out: is a pipe, no regular file; put a file with the text in its place"}, s.Warnings())
}

func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"zz/big/SKILL.md": md("big", "B.", strings.Repeat("x", 1<<20))}
	for i := range 2100 {
		files[fmt.Sprintf("many/%04d/x", i)] = ""
	}
	dir := folder(t, files)
	s := in(dir, filepath.Join(dir, "zz"))
	assert.Empty(t, s.All())
	assert.Equal(t, []string{
		dir + ": only the first 2000 folders were searched",
		dir + "/zz/big/SKILL.md: left out: has more than 1048576 bytes, which is the limit; make it shorter",
	}, s.Warnings())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "many")))
	resources := map[string]string{"r/SKILL.md": md("r", "R.", "x")}
	for i := range 150 {
		resources[fmt.Sprintf("r/f%03d", i)] = ""
	}
	all := in(folder(t, resources)).All()
	require.Len(t, all, 1)
	assert.Len(t, all[0].Resources, 100)
}

func TestFrontmatter(t *testing.T) {
	t.Parallel()
	const body = "\n\nFirst paragraph\nof two lines.\n\nSecond."
	tests := []struct {
		name, text string
		want       skills.Skill
		warning    string
		out        bool
	}{
		{"the six keys", "---\nname: x\ndescription: D.\nlicense: MIT\ncompatibility: git\nmetadata: {author: me, version: 1.0}\nallowed-tools: Bash(git log:*) Read\n---\nbody",
			skills.Skill{
				Name: "x", Description: "D.", License: "MIT", Compatibility: "git", Metadata: map[string]string{"author": "me", "version": "1.0"},
				Effects: skills.Effects{AllowedTools: []string{"Bash(git log:*)", "Read"}},
			}, "", false},
		{"Claude's", "---\nname: x\ndescription: D.\nwhen_to_use: Often.\nargument-hint: <n>\narguments: [n, m]\ndisable-model-invocation: yes\nuser-invocable: 0\nallowed-tools: [Read, Grep]\n---\n",
			skills.Skill{
				Name: "x", Description: "D.", WhenToUse: "Often.", ArgumentHint: "<n>", Arguments: []string{"n", "m"},
				ManualOnly: true, NotManual: true, Effects: skills.Effects{AllowedTools: []string{"Read", "Grep"}},
			}, "", false},
		{"commas", "---\nname: x\ndescription: D.\nallowed-tools: Read, Bash(a, b), Grep\narguments: n m\nuser-invocable: off\n---\n",
			skills.Skill{Name: "x", Description: "D.", Effects: skills.Effects{AllowedTools: []string{"Read", "Bash(a, b)", "Grep"}}, Arguments: []string{"n", "m"}, NotManual: true}, "", false},
		{"CR LF and a byte order mark", "\uFEFF---\r\nname: x\r\ndescription: D.\r\n---\r\nbody\r\n", skills.Skill{Name: "x", Description: "D."}, "", false},
		{"a colon in a value", "---\nname: x\ndescription: Use it when: it's needed: now\n---\n",
			skills.Skill{Name: "x", Description: "Use it when: it's needed: now"}, "the frontmatter is YAML only with quotes around values that have a colon", false},
		{"several lines", "---\nname: x\ndescription: >\n  One\n  two.\n---\n", skills.Skill{Name: "x", Description: "One two."}, "", false},
		{"no description", "---\nname: x\n---\n# Title" + body, skills.Skill{Name: "x", Description: "First paragraph\nof two lines."}, "has no description; the first paragraph is used", false},
		{"no frontmatter", "# Title" + body, skills.Skill{Name: "x", Description: "First paragraph\nof two lines."}, "has no name; the folder's is used", false},
		{"another name", "---\nname: y\ndescription: D.\n---\n", skills.Skill{Name: "y", Description: "D."}, `name "y" is not the folder's, "x"`, false},
		{"a name against the format", "---\nname: My Skill\ndescription: D.\n---\n", skills.Skill{Name: "x", Description: "D."}, `name "My Skill" is not valid (a-z, 0-9 and single hyphens, at most 64); the folder's is used`, false},
		{"unknown key", "---\nname: x\ndescription: D.\nfoo: 1\n---\n", skills.Skill{Name: "x", Description: "D."}, `unknown key "foo" is passed over`, false},
		{"without effect", "---\nname: x\ndescription: D.\neffort: big\n---\n", skills.Skill{Name: "x", Description: "D."}, "key effort is understood elsewhere but has no effect here", false},
		{"no truth", "---\nname: x\ndescription: D.\nuser-invocable: maybe\n---\n", skills.Skill{Name: "x", Description: "D."}, `user-invocable: "maybe" is neither true nor false`, false},
		{"a comment with a colon", "---\nname: x\ndescription: Use it: always\ndisable-model-invocation: true # note: only a person\n---\n",
			skills.Skill{Name: "x", Description: "Use it: always", ManualOnly: true}, "the frontmatter is YAML only with quotes around values that have a colon", false},
		{"no truth restricts the model", "---\nname: x\ndescription: D.\ndisable-model-invocation: perhaps\n---\n", skills.Skill{Name: "x", Description: "D.", ManualOnly: true},
			`disable-model-invocation: "perhaps" is neither true nor false; only people can start the skill`, false},
		{"almost the key", "---\nname: x\ndescription: D.\ndisable_model_invocation: true\n---\n", skills.Skill{Name: "x", Description: "D.", ManualOnly: true},
			`key "disable_model_invocation" is read as "disable-model-invocation"`, false},
		{"twice", "---\nname: x\ndescription: D.\ndisable-model-invocation: true\ndisable-model-invocation: false\n---\n", skills.Skill{Name: "x", Description: "D.", ManualOnly: true},
			`key "disable-model-invocation" is given twice`, false},
		{"a restriction within a text", "---\nname: x\ndescription: Use it: always\n disable-model-invocation: true\n---\n", skills.Skill{},
			`left out: the frontmatter is ambiguous: "disable-model-invocation" stands within the value of "description" and is almost the key "disable-model-invocation" in line 4; mend the key, or write the value in quotes`, true},
		{"a line that only YAML knows", "---\nname: x\ndescription: D. \u2028user-invocable: false\n---\n", skills.Skill{},
			"left out: the frontmatter has the character \\u{2028}, at which some programs begin a line in line 3; delete it", true},
		{"a late frontmatter", "\n---\nname: x\ndisable-model-invocation: true\n---\n" + body, skills.Skill{},
			"left out: the frontmatter does not begin in the first line; begin the file with a line ---", true},
		{"lines that end with CR", "---\rname: x\rdisable-model-invocation: true\r---\r" + body, skills.Skill{},
			"left out: the frontmatter does not begin in the first line; begin the file with a line ---", true},
		{"long description", "---\nname: x\ndescription: " + strings.Repeat("d", 1025) + "\n---\n", skills.Skill{Name: "x", Description: strings.Repeat("d", 1025)}, "description has 1025 characters; the format allows 1024", false},
		{"nothing to say", "---\nname: x\n---\n# Title\n", skills.Skill{}, "left out: has no description", true},
		{"no end", "---\nname: x\n", skills.Skill{}, "left out: the frontmatter has no end; close it with a line ---", true},
		{"no YAML", "---\nname: [x\n---\n", skills.Skill{}, "left out: the frontmatter is no YAML: did not find expected ',' or ']' in line 2; put a value that holds `: ` or begins with a special character in quotes", true},
		{"a list", "---\n- name\n---\nbody", skills.Skill{}, "left out: the frontmatter is no list of keys and values", true},
		{"other bytes", "---\nname: x\ndescription: caf\xe9\n---\n", skills.Skill{}, "left out: is no UTF-8: line 3 has another encoding; convert it to UTF-8", true},
		{"too much of it", "---\nname: x\ndescription: |\n" + strings.Repeat("  line\n", 10_000) + "---\n", skills.Skill{}, "left out: the frontmatter has more than 65536 bytes in line 1; make it shorter", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"x/SKILL.md": tt.text})
			s := in(dir)
			var warning string
			if w := s.Warnings(); len(w) > 0 {
				warning = strings.TrimPrefix(w[0], filepath.Join(dir, "x", fileName)+": ")
			}
			assert.Equal(t, tt.warning, warning)
			all := s.All()
			if tt.out {
				assert.Empty(t, all)
				return
			}
			require.Len(t, all, 1)
			if tt.want.Dir == "" {
				tt.want.Dir = filepath.Join(dir, "x")
			}
			assert.EqualExportedValues(t, tt.want, all[0])
		})
	}
}

// A name that is a path must not reach the tool, which refuses paths.
func TestNamesThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	s := in(folder(t, map[string]string{
		"Bad Folder/SKILL.md":  md(`"../x"`, "D.", "x"),
		"Bad Folder2/SKILL.md": md(`"My Skill"`, "D.", "x"),
	}))
	assert.Equal(t, "My Skill", names(s.All()))
	assert.Contains(t, strings.Join(s.Warnings(), "\n"), `left out: name "../x" cannot be used; use a-z, 0-9 and single hyphens`)
}
