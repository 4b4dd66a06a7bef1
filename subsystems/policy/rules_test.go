package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// TestWrongRules: every rule that is wrong says what, where, why and how to mend it.
func TestWrongRules(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"":                       "it is empty; write a tool, or a tool and a pattern: Bash(git *)",
		"Bash(git *":             "the parenthesis is not closed at the end; write the tool and then its pattern, and nothing behind it: Bash(git *)",
		"Bash(git *) x":          "the parenthesis is not closed at the end; write the tool and then its pattern, and nothing behind it: Bash(git *)",
		"Bash git":               `"Bash git" is no name of a tool; use letters, digits, _ and -, and * for any of them: mcp__server__*`,
		"(git *)":                `"" is no name of a tool; use letters, digits, _ and -, and * for any of them: mcp__server__*`,
		"Bash( )":                "the pattern is empty; write Bash for every call",
		"Bash(git log | head)":   "commands are compared one by one, and | stands between two, or redirects one; write a rule for each command",
		"Bash(git log && ls)":    "commands are compared one by one, and && stands between two, or redirects one; write a rule for each command",
		"Bash(cd x; ls)":         "commands are compared one by one, and x; stands between two, or redirects one; write a rule for each command",
		"Bash(ls > x)":           "commands are compared one by one, and > stands between two, or redirects one; write a rule for each command",
		"Bash(echo $(ls))":       "what stands in a substitution is a command of its own; write a rule for each command",
		"Bash(git commit \"x\")": "words are compared without their quotes; leave quotes and backslashes out, or write * in their place",
		"Bash(git log | x *)":    "commands are compared one by one, and | stands between two, or redirects one; write a rule for each command",
		"mcp__*(x)":              "a pattern is for one tool, and this may be several; name the argument: mcp__files__*(path=/src/**)",
		"mcp__a__b(x)":           "it is not known which argument of mcp__a__b is meant; name it: mcp__a__b(name=x)",
		"Read(../x)":             "the pattern has .. in it; write the path without it, or from / on with two slashes: //etc/**",
		"Read(a/../../x)":        "the pattern has .. in it; write the path without it, or from / on with two slashes: //etc/**",
		"Read(~/x)":              "there is no home directory; write the path from / on, with two slashes: //home/me/…",
		"Read(/src:*)":           "`:*` is for commands; write /dir/** for everything below a directory",
		"Read([a)":               `the pattern is not closed; give every [ its ], every { its }, and put a \ in front of one that is meant`,
	} {
		for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
			if effect == policy.Allow && strings.HasPrefix(rule, "Bash(") && !strings.ContainsAny(rule[5:], "*") && rule != "Bash( )" {
				continue // it allows this line
			}
			r := policy.Rules{Source: "rules.json"}
			*map[policy.Effect]*[]policy.Rule{policy.Deny: &r.Deny, policy.Ask: &r.Ask, policy.Allow: &r.Allow}[effect] = list("Read", rule)
			_, err := policy.New([]policy.Rules{r}, &policy.Options{Root: t.TempDir()})
			at := "rules.json: " + string(effect) + "[1]"
			problem, fix, _ := strings.Cut(want, "; ")
			if rule == "Bash(cd x; ls)" {
				problem, fix = strings.TrimSuffix(want, "; write a rule for each command"), "write a rule for each command"
			}
			wrong, ok := errors.AsType[*policy.RuleError](err)
			require.True(t, ok, "%s: %v", rule, err)
			assert.Equal(t, policy.RuleError{At: at, Rule: rule, Problem: problem, Fix: fix}, *wrong)
			assert.EqualError(t, err, fmt.Sprintf("%s: rule %q: %s", at, rule, want))
		}
	}
	_, err := policy.New([]policy.Rules{{Deny: list("Read(x)")}}, nil)
	assert.EqualError(t, err, `deny[0]: rule "Read(x)": there is no root that paths could be relative to; set Options.Root`)
}

// TestAllProblemsAtOnce: one run shows everything there is to mend, in the order of
// the lists.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := policy.New([]policy.Rules{
		{Source: "a", Default: "no", Deny: list("Bash(x", "Read")},
		{Source: "b", Ask: list(""), Allow: []policy.Rule{{Rule: "Bash", Grant: policy.Grant{Timeout: "soon"}}, {Rule: "Bash", Grant: policy.Grant{MaxOutput: -1}}}},
	}, nil)
	require.Error(t, err)
	var places []string
	for line := range strings.Lines(err.Error()) {
		before, _, _ := strings.Cut(line, ": rule")
		places = append(places, strings.TrimSpace(before))
	}
	assert.Equal(t, []string{
		`a: default: there is no default "no"; write deny, ask, annotations or allow`, "a: deny[0]", "b: ask[0]", "b: allow[0]", "b: allow[1]",
	}, places)
}

func TestWrongGrants(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, c := range []struct {
		grant policy.Grant
		want  string
	}{
		{policy.Grant{Timeout: "soon"}, `the timeout "soon" is no time above 0; write it like 30s or 2m`},
		{policy.Grant{Timeout: "-1s"}, `the timeout "-1s" is no time above 0; write it like 30s or 2m`},
		{policy.Grant{MaxOutput: -1}, `max_output is below 0; write a number of bytes`},
		{policy.Grant{Root: "../x"}, `the root of the grant lies outside of ` + root + `; write a path below it`},
		{policy.Grant{Root: "/etc"}, `the root of the grant lies outside of ` + root + `; write a path below it`},
	} {
		_, err := policy.New([]policy.Rules{{Allow: []policy.Rule{{Rule: "Bash", Grant: c.grant}}}}, &policy.Options{Root: root})
		assert.EqualError(t, err, `allow[0]: rule "Bash": `+c.want)
	}
	_, err := policy.New([]policy.Rules{{Deny: []policy.Rule{{Rule: "Bash", Grant: policy.Grant{ReadOnly: true}}}}}, nil)
	assert.EqualError(t, err, `deny[0]: rule "Bash": a rule that denies has no grant; take the grant away, or move the rule to ask or allow`)
	_, err = policy.New([]policy.Rules{{Ask: []policy.Rule{{Rule: "Bash", Grant: policy.Grant{Root: "x"}}}}}, nil)
	assert.EqualError(t, err, `ask[0]: rule "Bash": there is no root that the grant's could lie in; set Options.Root`)
}

func TestParse(t *testing.T) {
	t.Parallel()
	const text = `{"default": "annotations", "deny": ["Bash(rm *)"], "allow": ["Read", {"rule": "Write", "grant": {"root": "src", "read_only": true, "timeout": "3s", "max_output": 5, "no_network": true}}]}`
	r, err := policy.Parse([]byte(text), "f.json")
	require.NoError(t, err)
	assert.Equal(t, policy.Rules{
		Source: "f.json", Default: policy.DefaultAnnotations, Deny: list("Bash(rm *)"),
		Allow: []policy.Rule{{Rule: "Read"}, {Rule: "Write", Grant: policy.Grant{Root: "src", ReadOnly: true, Timeout: "3s", MaxOutput: 5, NoNetwork: true}}},
	}, r)
	again, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(again))

	const fix = `; write {"allow": ["Bash(git *)"], "ask": […], "deny": […], "default": "annotations"}`
	for text, want := range map[string]string{
		"{\n  \"alow\": []}":                               "f.json:2:3: the key alow is unknown",
		"{\"allow\": [],\n \"allow\": []}":                 `f.json:2:2: duplicate object member name "allow"`,
		`{"allow": ["a", {"rule": 3}]}`:                    "f.json:1:26: allow.1.rule is of the wrong kind",
		`{"allow": [{"rule": "a", "grant": {"writ": 1}}]}`: "f.json:1:36: the key allow.0.grant.writ is unknown",
		`{"allow": "Bash"}`:                                "f.json:1:11: allow is of the wrong kind",
		`[]`:                                               "f.json:1:1: the rules are no object",
		``:                                                 "f.json:1:1: unexpected EOF",
		`{} x`:                                             "f.json:1:4: invalid character 'x' after top-level value",
	} {
		_, err := policy.Parse([]byte(text), "f.json")
		assert.EqualError(t, err, want+fix, text)
	}
}

func TestTightened(t *testing.T) {
	t.Parallel()
	r := policy.Rules{Source: "s", Default: policy.DefaultAllow, Deny: list("A"), Ask: list("B"), Allow: list("C")}
	tight, dropped := r.Tightened()
	assert.Equal(t, policy.Rules{Source: "s", Deny: list("A"), Ask: list("B")}, tight)
	assert.Equal(t, list("C"), dropped)
	tight, _ = policy.Rules{Default: policy.DefaultDeny}.Tightened()
	assert.Equal(t, policy.DefaultDeny, tight.Default)
}

// FuzzRule: whatever a rule is, it is refused with its place, or it means something:
// as a rule that denies it denies at least what it allows.
func FuzzRule(f *testing.F) {
	for _, r := range []string{
		"Bash", "Bash(git *)", "Bash(git log:*)", "Read(/src/**)", "Read(//etc/[a-z]*)", "Edit(~/x)", "mcp__a__*", "mcp__a(b=c)", "*", "", "(", ")", "Bash()",
		"Bash(a | b)", "Read({a,b}/*)", "Read([)", "Grep(pattern=x)", "Skill(a-*)", "Bash(* *)", "Read(..)", "Bash(**a**)", "mcp__x__y(a.b=**:*)",
	} {
		f.Add(r, "git log -1")
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, rule, value string) {
		o := &policy.Options{Root: root, Home: "/home/ann"}
		allow, err := policy.New([]policy.Rules{{Source: "s", Allow: list(rule)}}, o)
		if err != nil {
			wrong, ok := errors.AsType[*policy.RuleError](err)
			if !ok || wrong.At != "s: allow[0]" || wrong.Problem == "" || wrong.Fix == "" {
				t.Errorf("%q: %v", rule, err)
			}
			return
		}
		deny, err := policy.New([]policy.Rules{{Deny: list(rule)}}, o)
		if err != nil && !strings.Contains(rule, "*") {
			return // a whole line can be allowed, and is denied by its commands
		}
		require.NoError(t, err)
		for tool, arg := range map[string]string{"bash": "command", "read": "file_path", "grep": "pattern", "mcp__a__b": "c"} {
			in := args(arg, value)
			if effect(t, allow, message.Tool{Name: tool}, in) == policy.Allow && effect(t, deny, message.Tool{Name: tool}, in) != policy.Deny {
				t.Errorf("%q allows %s %s and does not deny it", rule, tool, in)
			}
		}
	})
}
