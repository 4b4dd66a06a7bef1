package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/target"
)

func (c *command) token() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make and revoke the tokens of clients over TCP",
		Long: "Who reaches the daemon over TCP (`grapnel serve --listen`) needs a token. It has some of the scopes\n" +
			"  read        see agents, conversations, events, and what waits for people\n" +
			"  converse    begin, steer and cancel turns, and change conversations\n" +
			"  approve     answer what tools ask approval for\n" +
			"  administer  change agents and settings, make links, and delete\n" +
			"for one project or all, until it ends or is revoked. The daemon keeps a hash of it.\n\n" +
			"A token with an owner opens that owner's tenant of the project: conversations, memories, approvals and spending of\n" +
			"its own. Without one it opens yours.",
		Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.tokenCreate(), c.tokenList(), c.tokenRevoke(), c.tokenLink())
	return cmd
}

// inTokens calls do with the tokens of this user.
func (c *command) inTokens(ctx context.Context, p place, do func(tokens *access.Tokens, paths app.Paths) error) error {
	return c.inStores(ctx, p, func(s *app.Stores, paths app.Paths) error { return do(s.Tokens(), paths) })
}

func (c *command) tokenCreate() *cobra.Command {
	var scopes, expires, project, owner string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make a token and print it; it cannot be printed again",
		Example: "  grapnel token create phone --scope read,approve --expires 30d",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inTokens(cmd.Context(), place{dir: project}, func(tokens *access.Tokens, paths app.Paths) (err error) {
				t := access.Token{Name: args[0], Owner: owner, Projects: []string{paths.Project()}}
				if all {
					t.Projects = nil
				}
				if t.Scopes, err = access.Parse(scopes); err != nil {
					return fmt.Errorf("--scope: %w", err)
				}
				if t.Expires, err = until(expires, time.Now()); err != nil {
					return fmt.Errorf("--expires: %w", err)
				}
				text, err := tokens.Create(t)
				if err != nil {
					return err
				}
				if asJSON {
					return c.JSON(map[string]string{"token": text})
				}
				return screen.New(c.Written).Print(screen.Format("%s\n", text))
			})
		},
	}
	cmd.Flags().StringVar(&scopes, "scope", "read,converse", "what the token may do: some of read, converse, approve and administer")
	cmd.Flags().StringVar(&expires, "expires", "90d", "when it ends: a time such as 12h or 30d from now, a date, or never")
	cmd.Flags().StringVar(&project, "project", "", "the directory of the project that it is for (default: the working directory's)")
	cmd.Flags().StringVar(&owner, "owner", "", "whose tenant it opens: small letters, digits, dots, dashes or _ (default: yours)")
	cmd.Flags().BoolVar(&all, "all-projects", false, "it is for all projects, also later ones")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.MarkFlagsMutuallyExclusive("project", "all-projects")
	return cmd
}

// until reads when a token ends. The zero time is never.
func until(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if !at.After(now) {
			return at, fmt.Errorf("%s is over", text)
		}
		return at.UTC(), nil
	}
	d, err := time.ParseDuration(text)
	if days, cut := strings.CutSuffix(text, "d"); cut {
		var n int
		if n, err = strconv.Atoi(days); n > 36_500 {
			err = errors.New("too long")
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("%.40q is no time; write such as 12h, 30d, 2027-01-31 or never", text)
	}
	return now.Add(d).UTC().Truncate(time.Second), nil
}

func (c *command) tokenList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []access.Token
			err := c.inTokens(cmd.Context(), place{}, func(tokens *access.Tokens, _ app.Paths) (err error) {
				all, err = tokens.List()
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(listed(all))
			}
			out := screen.New(c.Written)
			if len(all) == 0 {
				return out.Print(screen.Format("There are no tokens; `grapnel token create NAME` makes one.\n"))
			}
			for _, t := range all {
				projects := "all projects"
				if len(t.Projects) > 0 {
					projects = strings.Join(shortened(t.Projects), ", ")
				}
				if err := out.Print(screen.Format("%s  %s  %s  %s  %s\n", t.ID, t, access.Join(t.Scopes), projects, ending(t, time.Now()))); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// listedToken is a token in a list for programs.
type listedToken struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Owner    string         `json:"owner,omitempty"`
	Scopes   []access.Scope `json:"scopes"`
	Projects []string       `json:"projects,omitempty"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires,omitzero"`
	Revoked  time.Time      `json:"revoked,omitzero"`
}

func listed(all []access.Token) []listedToken {
	out := make([]listedToken, len(all))
	for i, t := range all {
		out[i] = listedToken{t.ID, t.Name, t.Owner, t.Scopes, t.Projects, t.Created, t.Expires, t.Revoked}
	}
	return out
}

// shortened returns the names of directories, without those that they lie in.
func shortened(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, dir := range dirs {
		out[i] = filepath.Base(dir)
	}
	return out
}

// ending says whether and when a token ends.
func ending(t access.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + t.Revoked.Local().Format(time.DateOnly)
	case t.Expires.IsZero():
		return "never ends"
	case !now.Before(t.Expires):
		return "expired " + t.Expires.Local().Format(time.DateOnly)
	}
	return "until " + t.Expires.Local().Format(time.DateTime)
}

func (c *command) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "End a token; its streams and pages end within seconds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inTokens(cmd.Context(), place{}, func(tokens *access.Tokens, _ app.Paths) error {
				t, err := tokens.Revoke(args[0])
				if err != nil {
					return err
				}
				return screen.New(c.Written).Print(screen.Format("The token %s (%s) is revoked.\n", t.Name, t.ID))
			})
		},
	}
}

func (c *command) tokenLink() *cobra.Command {
	var at target.Daemon
	var scopes string
	cmd := &cobra.Command{
		Use: "link", Short: "Print a link that opens a page of the running daemon once", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			var in wire.NewLink
			if scopes != "" {
				in.Scopes = strings.Split(scopes, ",")
			}
			link, err := d.Link(cmd.Context(), in)
			if err != nil {
				return err
			}
			return screen.New(c.Written).Print(screen.Format("%s\n", strings.Join(link.URLs, "\n")))
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().StringVar(&scopes, "scope", "", "what the page may do (default: everything)")
	return cmd
}
