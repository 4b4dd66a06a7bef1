package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// The flags that allow a project's requests without a question to the person. No two flags
// allow the same. Only a person can allow the rest, such as the memories of the user.
const (
	startServersFlag = "start-servers"
	acceptRulesFlag  = "dangerously-accept-project-rules"
)

// trustFlags select the requests of a project that are allowed without a question.
type trustFlags struct {
	// servers allows the MCP servers of the project and its agents.
	servers bool
	// rules allows rules that allow calls, and gates that are turned off.
	rules bool
}

func (f *trustFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.servers, startServersFlag, false, "start the MCP servers of the project and its agents without asking")
	cmd.Flags().BoolVar(&f.rules, acceptRulesFlag, false, "accept without asking the calls that the project allows and the gates that it turns off")
}

// trust asks the person at a, unless the flags allow the request.
func (c *command) trust(a *term.Approver, f trustFlags) trust.Ask {
	return func(ctx context.Context, r trust.Request) (trust.Answer, error) {
		switch {
		case f.rules && r.Only(trust.Rules, trust.Exceptions, trust.Guards):
			c.Note("DANGEROUS: accepted without asking (--" + acceptRulesFlag + "): " + strings.Join(r.Lines(trust.Rules, trust.Guards), "; "))
			return trust.Once, nil
		case f.servers && r.Only(trust.Commands, trust.URLs):
			return trust.Once, nil
		case !a.Attended():
			return trust.No, nil
		}
		ok, err := a.Confirm(ctx, r.Question(), "Allow it, now and whenever this is still the same?")
		switch {
		case err != nil:
			return trust.No, err
		case !ok:
			return trust.Refused, nil
		}
		return trust.Always, nil
	}
}
