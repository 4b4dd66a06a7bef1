package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/trust"
)

func want(k trust.Kind, line string) trust.Request {
	return trust.Request{Wants: map[trust.Kind][]string{k: {line}}}
}

// TestEachFlagHasOneMeaning: what each flag accepts of what a project wants, where nobody
// can be asked.
func TestEachFlagHasOneMeaning(t *testing.T) {
	t.Parallel()
	wanted := []struct {
		name string
		what trust.Request
	}{
		{"a server of the list", want(trust.Commands, "a: x")},
		{"a server's address", want(trust.URLs, "a: https://a.example")},
		{"rules that allow", want(trust.Rules, "policy.json: Bash(*)")},
		{"a gate that is off", want(trust.Guards, "hooks.json: Policy: off")},
		{"memories of other projects", want(trust.Memories, "agent a: its own")},
	}
	const no, once = trust.No, trust.Once
	for _, c := range []struct {
		args []string
		want []trust.Answer
	}{
		{nil, []trust.Answer{no, no, no, no, no}},
		{[]string{"--yes"}, []trust.Answer{no, no, no, no, no}},
		{[]string{"--start-servers"}, []trust.Answer{once, once, no, no, no}},
		{[]string{"--dangerously-accept-project-rules"}, []trust.Answer{no, no, once, once, no}},
		{[]string{"--yes", "--start-servers", "--dangerously-accept-project-rules"}, []trust.Answer{once, once, once, once, no}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			var f runFlags
			cmd := &cobra.Command{}
			cmd.Flags().BoolVar(&f.yes, "yes", false, "")
			f.trust.add(cmd)
			require.NoError(t, cmd.ParseFlags(c.args))
			log, err := os.CreateTemp(t.TempDir(), "")
			require.NoError(t, err)
			defer log.Close()
			main := newCommand(nil, nil, log, nil)
			ask := main.trust(term.NewApprover(&term.ApproverOptions{Yes: f.yes}), f.trust)
			var got []trust.Answer
			for _, w := range wanted {
				answer, err := ask(t.Context(), w.what)
				require.NoError(t, err, w.name)
				got = append(got, answer)
			}
			assert.Equal(t, c.want, got)
			said, err := os.ReadFile(log.Name())
			require.NoError(t, err)
			assert.Equal(t, f.trust.rules, strings.Contains(string(said), "DANGEROUS: accepted without asking (--dangerously-accept-project-rules): hooks.json: Policy: off"))
		})
	}
}

// TestWhichCommandHasWhichFlag: the table of docs/files.md.
func TestWhichCommandHasWhichFlag(t *testing.T) {
	t.Parallel()
	c := &command{}
	for _, w := range []struct {
		cmd         *cobra.Command
		yes, trusts bool
	}{
		{c.run(), true, true}, {c.chat(), true, true}, {c.ask(), true, false}, {c.resumeTurn(), true, false},
		{c.serve(), false, true}, {c.tools(), false, true}, {c.explainPolicy(), false, true},
	} {
		assert.Equal(t, w.yes, w.cmd.Flags().Lookup("yes") != nil, w.cmd.Use)
		for _, name := range []string{startServersFlag, acceptRulesFlag} {
			assert.Equal(t, w.trusts, w.cmd.Flags().Lookup(name) != nil, "%s --%s", w.cmd.Use, name)
		}
	}
}
