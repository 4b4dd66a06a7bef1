package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/confine"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

func sandboxFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "sandbox", "", "what commands may do: read-only, project (the default), or off for everything that you can do")
}

// boxed are the flags of the commands about the sandbox.
type boxed struct {
	place
	mode  string
	needs []string
}

func (b *boxed) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.dir, "dir", "", "the project to work in (default: the working directory)")
	cmd.Flags().StringArrayVar(&b.needs, "need", nil, "something beyond the default: "+sandbox.Ask+"; may be repeated")
	sandboxFlag(cmd, &b.mode)
}

func (c *command) sandbox() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Show what commands of agents can reach, and run one as they do",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: `grapnel sandbox explain` or `grapnel sandbox run -- make test`")
		},
	}
	cmd.AddCommand(c.explainSandbox(), c.runInSandbox())
	return cmd
}

func (c *command) explainSandbox() *cobra.Command {
	var b boxed
	cmd := &cobra.Command{
		Use:   "explain [-- COMMAND]",
		Short: "Show what a command of an agent would see",
		Long: "Shows how much of the sandbox this machine can enforce, found out by trying, and what a command in it can change, read and\n" +
			"reach; for a COMMAND also whether it would be asked about, and why. Below the level full it says why, what stays open,\n" +
			"and which commands give the full one. The command is not run.",
		Example: "  grapnel sandbox explain\n  grapnel sandbox explain --need 'connect proxy.golang.org' -- go mod download",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.within(b, func(s *sandbox.Sandbox, g sandbox.Grant) error {
				e, err := s.Explain(g)
				if err != nil {
					return err
				}
				if b.json {
					return c.JSON(e)
				}
				text := e.String()
				if len(args) > 0 {
					verdict, err := c.judge(cmd.Context(), b, strings.Join(args, " "))
					if err != nil {
						return err
					}
					text = verdict + "\n\n" + text
				}
				return c.Print(screen.Lines(text))
			})
		},
	}
	b.flags(cmd)
	cmd.Flags().BoolVar(&b.json, "json", false, "write JSON, for programs")
	return cmd
}

// judge says what the rules make of a command of the default agent.
func (c *command) judge(ctx context.Context, b boxed, line string) (verdict string, err error) {
	paths, err := c.paths(b.place)
	if err != nil {
		return "", err
	}
	args, err := json.Marshal(map[string]any{"command": line, "needs": b.needs})
	if err != nil {
		return "", err
	}
	err = app.With(ctx, app.Options{Paths: paths, Note: c.Note, Sandbox: b.mode}, func(opened *app.App) error {
		a, err := opened.Register(ctx, app.DefaultAgent, hook.AgentConfig{})
		if err != nil {
			return err
		}
		e, err := opened.Explain(ctx, a, "", "bash", message.JSON(args))
		verdict = e.String()
		return err
	})
	return strings.TrimSpace(verdict), err
}

func (c *command) runInSandbox() *cobra.Command {
	var b boxed
	cmd := &cobra.Command{
		Use:   "run -- COMMAND",
		Short: "Run a command as an agent would, in the sandbox",
		Long: "Runs a command in the sandbox of the project and ends with its exit code. Several words are a program with its arguments;\n" +
			"one word is a line of shell. The output is shown as text; what the sandbox has to say follows on the error output.",
		Example: "  grapnel sandbox run -- go test ./...\n  grapnel sandbox run -- 'ls ~; touch /etc/x'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("say which command: `grapnel sandbox run -- go test ./...`")
			}
			return c.within(b, func(s *sandbox.Sandbox, g sandbox.Grant) error {
				code, err := confine.Run(cmd.Context(), &c.Console, s, g, args)
				if err == nil && code != 0 {
					return &failed{code, nil}
				}
				return err
			})
		},
	}
	b.flags(cmd)
	return cmd
}

// within calls do with the sandbox of the project and the grant of the flags.
func (c *command) within(b boxed, do func(*sandbox.Sandbox, sandbox.Grant) error) (err error) {
	paths, err := c.paths(b.place)
	if err != nil {
		return err
	}
	s, err := paths.Sandbox(b.mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g, err := s.Granted(b.needs)
	if err != nil {
		return err
	}
	return do(s, g)
}
