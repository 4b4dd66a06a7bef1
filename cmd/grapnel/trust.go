package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/term"
)

// The flags by which a project gets what somebody would be asked about. Each has one
// meaning, and no other flag has it. What none of them accepts, such as memories of other
// projects, a person has to allow.
const (
	startServersFlag = "start-servers"
	acceptRulesFlag  = "dangerously-accept-project-rules"
)

// trustFlags say what a project gets without being asked about.
type trustFlags struct {
	// servers starts the MCP servers of the project and its agents.
	servers bool
	// rules accepts what takes guards away: rules that allow, and gates that are off.
	rules bool
}

func (f *trustFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.servers, startServersFlag, false, "start the MCP servers of the project and its agents without asking")
	cmd.Flags().BoolVar(&f.rules, acceptRulesFlag, false, "accept without asking what the project allows, and the gates that it turns off")
}

// trust asks the person at a, unless the flags have answered.
func (c *command) trust(a *term.Approver, f trustFlags) func(context.Context, daemon.Servers) (daemon.Trust, error) {
	return func(ctx context.Context, s daemon.Servers) (daemon.Trust, error) {
		switch {
		case f.rules && s.OnlyGuards():
			c.note("DANGEROUS: accepted without asking (--" + acceptRulesFlag + "): " + strings.Join(slices.Concat(s.Rules, s.Hooks), "; "))
			return daemon.TrustOnce, nil
		case f.servers && s.OnlyServers():
			return daemon.TrustOnce, nil
		case !a.Attended():
			return daemon.TrustNo, nil
		}
		ok, err := a.Confirm(ctx, wants(s), "Allow it, now and whenever this is still the same?")
		switch {
		case err != nil:
			return daemon.TrustNo, err
		case !ok:
			return daemon.TrustRefused, nil
		}
		return daemon.TrustAlways, nil
	}
}
