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

// TestFilesThatRunCode: rules with wildcards, rules for all calls and defaults that allow do not cover a file that runs code outside later.
func TestFilesThatRunCode(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"src/lib/.git/hooks", "bare/hooks", "plain/hooks"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "bare", "HEAD"), nil, 0o600))
	require.NoError(t, os.Symlink("../src/lib/.git/hooks", filepath.Join(root, "plain", "link")))
	for _, c := range []struct{ rules, paths string }{ // + is allowed, ? asked, ! denied
		{"allow Write", "+src/a ?.git/hooks/pre-commit ?.git/config ?.git ?src/lib/.git/hooks/x ?new/.git/config ?.gitmodules ?.grapnel/policy.json " +
			"?.claude/settings.json ?.agents/a ?.mcp.json ?.envrc ?a/.envrc ?.vscode/tasks.json ?.idea/x ?.git/commondir ?.git/config.worktree " +
			"?.git/modules/m/hooks/x ?.GIT/hooks/x ?.Envrc ?plain/link/x ?bare/config ?bare/hooks/update ?new/HEAD ?ROOT/.git/config ?src/../.envrc " +
			"+plain/hooks/x +plain/config +.git/info/exclude +.github/workflows/x.yml +.env"},
		{"allow *", "+src/a ?.git/hooks/x"},
		{"allow Write(**)", "+src/a ?.git/hooks/x ?.envrc"},
		{"allow Write(/)", "+src/a ?.git/hooks/x"},
		{"allow Write(/src)", "+src/a ?src/lib/.git/hooks/x"},
		{"allow Write(.git/**)", "?.git/hooks/x +.git/index"},
		{"allow Write(/.git/hooks/*)", "?.git/hooks/x"},
		{"allow Write(/.git/hooks/pre-commit)", "+.git/hooks/pre-commit ?.git/hooks/post-commit ?.GIT/hooks/pre-commit ?src/lib/.git/hooks/pre-commit"},
		{"allow Write(.git/hooks)", "+.git/hooks/x ?.git/config"},
		{"allow Write(.vscode)", "+.vscode/tasks.json +a/.vscode/tasks.json ?.idea/x"},
		{"allow Write(/.envrc)", "+.envrc ?a/.envrc"},
		{"allow Write(/plain)", "?plain/link/x"},
		{"allow Write(/bare/hooks)", "+bare/hooks/update ?bare/config"},
		{"allow Write(HEAD)", "+new/HEAD"},
		{"allow Edit(/.envrc)", "?.envrc"},
		{"deny Write(.git)", "!.git/hooks/x"},
		{"deny Edit", "!.git/hooks/x"},
		{"ask Write", "?.git/hooks/x ?src/a"},
	} {
		kind, rule, _ := strings.Cut(c.rules, " ")
		rules := policy.Rules{Allow: list(rule)}
		if kind != "allow" {
			rules = map[string]policy.Rules{"ask": {Ask: list(rule)}, "deny": {Deny: list(rule)}}[kind]
		}
		p := newPolicy(t, rules, &policy.Options{Root: root})
		for field := range strings.FieldsSeq(c.paths) {
			want := map[byte]policy.Effect{'+': policy.Allow, '?': policy.Ask, '!': policy.Deny}[field[0]]
			in := args("file_path", strings.ReplaceAll(field[1:], "ROOT", root))
			e, err := p.Explain(nil, message.Tool{Name: "write"}, in)
			require.NoError(t, err)
			assert.Equal(t, want, e.Effect, "%s: %s", c.rules, field[1:])
			if want == policy.Ask && kind == "allow" && rule != "Edit(/.envrc)" && field[1:] != "src/a" {
				assert.Contains(t, e.Reason, "it runs code outside the sandbox later: ", field)
				assert.NotEmpty(t, e.Doubt)
			}
		}
	}
}

// What allows everything, and what denies everything, with a file that runs code.
func TestFilesThatRunCodeByDefault(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write, edit := message.Tool{Name: "write", Annotations: message.Annotations{Destructive: true}}, message.Tool{Name: "edit"}
	hook := args("file_path", ".git/hooks/x")
	for def, want := range map[policy.Default]policy.Effect{
		policy.DefaultAllow: policy.Ask, policy.DefaultAnnotations: policy.Ask, policy.DefaultAsk: policy.Ask, policy.DefaultDeny: policy.Deny,
	} {
		p := newPolicy(t, policy.Rules{}, &policy.Options{Root: root, Default: def})
		for _, tool := range []message.Tool{write, edit} {
			e, err := p.Explain(nil, tool, hook)
			require.NoError(t, err)
			assert.Equal(t, want, e.Effect, "%s %s", def, tool.Name)
		}
		assert.Equal(t, def == policy.DefaultDeny, effect(t, p, message.Tool{Name: "read"}, hook) == policy.Deny, "reading runs nothing")
	}
	p := newPolicy(t, policy.Rules{Allow: list("*"), Ask: list("Write(*.md)")}, &policy.Options{Root: root, Default: policy.DefaultDeny})
	assert.Equal(t, policy.Ask, effect(t, p, write, hook), "the rule allows calls, and nobody has said that it means this one")
	e, err := p.Explain(nil, write, args("file_path", ".claude/a.md"))
	require.NoError(t, err)
	assert.Equal(t, `the rule Write(*.md) asks for it; it runs code outside the sandbox later: it configures programs that run agents ("`+
		real(t, root)+"/.claude/a.md"+`")`, e.Reason)

	own := newPolicy(t, policy.Rules{Allow: list("*")}, &policy.Options{Root: root, Subjects: map[string]policy.Subject{
		"save": {Kind: policy.Path, Arg: "to"}, "view": {Kind: policy.Path, Arg: "of", As: "read"}, "look": {Kind: policy.Path, Arg: "of"},
	}})
	assert.Equal(t, policy.Ask, effect(t, own, message.Tool{Name: "save"}, `{"to":["a","b/.envrc"]}`), "one of several files")
	assert.Equal(t, policy.Allow, effect(t, own, message.Tool{Name: "view"}, `{"of":".envrc"}`))
	assert.Equal(t, policy.Allow, effect(t, own, message.Tool{Name: "look", Annotations: message.Annotations{ReadOnly: true}}, `{"of":".envrc"}`))
}

// TestCase: where the file system takes .ENV for .env, a rule that denies or asks for the one holds for the other. A second name of the
// same file stands in for such a file system here.
func TestCase(t *testing.T) {
	t.Parallel()
	folding, telling := t.TempDir(), t.TempDir()
	for _, root := range []string{folding, telling} {
		require.NoError(t, os.WriteFile(filepath.Join(root, ".env"), []byte("1"), 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(root, "src"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, "src", "key.pem"), nil, 0o600))
	}
	for _, twin := range [][2]string{{".env", ".ENV"}, {"src/key.pem", "src/KEY.PEM"}} {
		if err := os.Link(filepath.Join(folding, twin[0]), filepath.Join(folding, twin[1])); err != nil {
			require.ErrorIs(t, err, os.ErrExist, "it folds case by itself")
		}
	}
	_, err := os.Stat(filepath.Join(telling, ".ENV"))
	tells := err != nil
	for _, c := range []struct {
		rules policy.Rules
		tool  string
		path  string
		folds policy.Effect
	}{
		{policy.Rules{Deny: list("Read(.env)")}, "read", ".ENV", policy.Deny},
		{policy.Rules{Deny: list("Read(.ENV)")}, "read", ".env", policy.Deny},
		{policy.Rules{Deny: list("Read(.ENV)")}, "grep", ".env", policy.Deny},
		{policy.Rules{Deny: list("Read(/src/*.PEM)")}, "read", "src/key.pem", policy.Deny},
		{policy.Rules{Deny: list("Write(/Config/**)")}, "write", "config/new/file", policy.Deny},
		{policy.Rules{Ask: list("Read(/SRC/**)")}, "grep", "src/key.pem", policy.Ask},
		{policy.Rules{Deny: list("Read(.envs)")}, "read", ".ENV", policy.Allow},
	} {
		c.rules.Allow = list("*")
		in := args("file_path", c.path)
		if c.tool == "grep" {
			in = args("path", c.path)
		}
		for root, want := range map[string]policy.Effect{folding: c.folds, telling: policy.Allow} {
			if root == telling && !tells {
				continue
			}
			p := newPolicy(t, c.rules, &policy.Options{Root: root})
			assert.Equal(t, want, effect(t, p, message.Tool{Name: c.tool}, in), "%s %s: %+v", c.tool, c.path, c.rules)
		}
	}
	p := newPolicy(t, policy.Rules{Allow: list("Read(.env)")}, &policy.Options{Root: folding})
	assert.Equal(t, policy.Allow, effect(t, p, message.Tool{Name: "read"}, args("file_path", ".env")))
	assert.Equal(t, policy.Ask, effect(t, p, message.Tool{Name: "read"}, args("file_path", ".ENV")), "what allows is for the path as it is written")
}

// real returns the path without links, with slashes.
func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return filepath.ToSlash(path)
}
