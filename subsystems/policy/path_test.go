package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// TestPaths: what a pattern for paths means, as a rule that allows and as one that
// denies. Of the paths, + is meant by both, - by none, ! only by the deny.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, paths string }{
		{"/src/**", "+src/a +src/a/b +./src/a +src/../src/a +ROOT/src/a +src -a -asrc/a -src2/a -src/../a -src/a/../../b -/src/a -ROOT/../src/a"},
		{"src/**", "+src/a +ROOT/src/a/b -lib/src/a -/src/a"},
		{"./src/**", "+src/a -a"},
		{"/src/*", "+src/a -src/a/b -src/../b -src"},
		{"/src/*.go", "+src/a.go -src/a.c -src/b/a.go -src/b.go/x"},
		{"/src", "+src +src/a +src/a/b -srcs"},
		{"src/", "+src/a +lib/src/a !/src/a -lib/srcs"},
		{".env", "+.env +a/.env +.env/x !/etc/.env !../.env -.envs -a.env"},
		{"*.pem", "+a.pem +b/a.pem !/etc/a.pem -a.pem/b"},
		{"*", "+x +a !/etc/passwd !.. +a/b"},
		{"**", "+a +a/b !/etc/passwd !../a"},
		{".", "+a +a/b +. -/etc"},
		{"/", "+a +. -/etc"},
		{"//etc/**", "+/etc/passwd +/etc/../etc/x -etc/passwd -/usr"},
		{"//**", "+/etc/passwd +a +../b"},
		{"~/.ssh/**", "+/home/ann/.ssh/id -~/.ssh/id -.ssh/id -/root/.ssh/id"},
		{"~", "+/home/ann/x -/home/bob/x"},
		{"{a,b}/*.md", "+a/x.md +b/x.md -c/x.md"},
		{"a/**/z", "+a/z +a/b/z +a/b/c/z/x -a/zz"},
		{"a[0-9]", "+a1 -ab"},
	} {
		root := t.TempDir()
		o := &policy.Options{Root: root, Home: "/home/ann", Default: policy.DefaultAsk}
		allow := newPolicy(t, policy.Rules{Allow: list("Read(" + c.pattern + ")")}, o)
		deny := newPolicy(t, policy.Rules{Deny: list("Read(" + c.pattern + ")")}, o)
		for field := range strings.FieldsSeq(c.paths) {
			path := strings.ReplaceAll(field[1:], "ROOT", root)
			in := args("file_path", path)
			wantAllow, wantDeny := policy.Ask, policy.Ask
			if field[0] == '+' {
				wantAllow = policy.Allow
			}
			if field[0] != '-' {
				wantDeny = policy.Deny
			}
			assert.Equal(t, wantAllow, effect(t, allow, message.Tool{Name: "read"}, in), "allow %s: %s", c.pattern, path)
			assert.Equal(t, wantDeny, effect(t, deny, message.Tool{Name: "read"}, in), "deny %s: %s", c.pattern, path)
		}
	}
}

// TestLinks: a link is judged by its name and by where it leads.
func TestLinks(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	for _, dir := range []string{"src", "secret"} {
		require.NoError(t, os.Mkdir(filepath.Join(real, dir), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(real, "secret", "key"), nil, 0o600))
	require.NoError(t, os.Symlink("../secret", filepath.Join(real, "src", "in")))
	require.NoError(t, os.Symlink("secret/key", filepath.Join(real, "key")))
	require.NoError(t, os.Symlink("../../outside", filepath.Join(real, "src", "out")))
	given := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, given))
	p := newPolicy(t, policy.Rules{Deny: list("Read(/secret/**)"), Allow: list("Read(/src/**)", "Read(/key)")}, &policy.Options{Root: given})
	for path, want := range map[string]policy.Effect{
		"src/a": policy.Allow, given + "/src/a": policy.Allow, real + "/src/a": policy.Allow, "src/new/dir/file": policy.Allow,
		"src/in/key": policy.Deny, "src/in/new": policy.Deny, given + "/src/in/key": policy.Deny, "key": policy.Deny, real + "/key": policy.Deny,
		"secret": policy.Deny, "src/../secret/key": policy.Deny, "src/x/../../secret/x": policy.Deny,
	} {
		assert.Equal(t, want, effect(t, p, message.Tool{Name: "read"}, args("file_path", path)), path)
	}
}

// TestFileTools: which rules hold for which tools.
func TestFileTools(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "src"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "src", "f"), nil, 0o600))
	for _, c := range []struct{ rule, calls string }{
		{"deny Read(/secret/**)", `!read {"file_path":"secret/a"}; -write {"file_path":"secret/a"}; !grep {"pattern":"x","path":"secret"}; ?grep {"pattern":"x"}; ?grep {"pattern":"x","path":""}; -grep {"pattern":"x","path":"src"}; -glob {"pattern":"secret/*"}`},
		{"ask Read(.env)", `?read {"file_path":".env"}; ?grep {"pattern":"x","path":"src"}; -grep {"pattern":"x","path":"src/f"}; ?grep {"pattern":"x","path":"a/.env"}`},
		{"deny Edit(/.git/**)", `!edit {"file_path":".git/config"}; !write {"file_path":".git/hooks/x"}; -read {"file_path":".git/config"}`},
		{"deny Write(/.git/**)", `!edit {"file_path":".git/config"}; !MultiEdit {"file_path":".git/config"}`},
		{"deny Glob(/secret/**)", `!glob {"pattern":"*","path":"secret"}; !glob {"pattern":"secret/*"}; !glob {"pattern":"../secret/*","path":"src"}; !glob {"pattern":"*/../secret/x"}; -glob {"pattern":"src/*"}`},
		{"deny Read", `!read {"file_path":"a"}; !grep {"pattern":"x"}; -glob {"pattern":"x"}`},
		{"deny Grep(pattern=**password**)", `!grep {"pattern":"my password"}; -grep {"pattern":"x"}`},
	} {
		kind, rule, _ := strings.Cut(c.rule, " ")
		rules := policy.Rules{Allow: list("*"), Deny: list(rule)}
		if kind == "ask" {
			rules.Ask, rules.Deny = rules.Deny, nil
		}
		p := newPolicy(t, rules, &policy.Options{Root: root, Subjects: map[string]policy.Subject{"multiedit": {Kind: policy.Path, Arg: "file_path", As: "write"}}})
		for call := range strings.SplitSeq(c.calls, "; ") {
			tool, in, _ := strings.Cut(call[1:], " ")
			want := map[byte]policy.Effect{'!': policy.Deny, '?': policy.Ask, '-': policy.Allow}[call[0]]
			assert.Equal(t, want, effect(t, p, message.Tool{Name: tool}, message.JSON(in)), "%s: %s", c.rule, call[1:])
		}
	}
	p := newPolicy(t, policy.Rules{Allow: list("Read(**)", "Edit(**)", "Glob(/src/**)")}, &policy.Options{Root: root})
	for tool, in := range map[string]string{"grep": `{"pattern":"x"}`, "write": `{"file_path":"a"}`, "glob": `{"pattern":"../*","path":"src"}`} {
		assert.Equal(t, policy.Ask, effect(t, p, message.Tool{Name: tool}, message.JSON(in)), "what allows is for its own tool: %s", tool)
	}
	assert.Equal(t, policy.Allow, effect(t, p, message.Tool{Name: "glob"}, `{"pattern":"*.go","path":"src"}`))
}
