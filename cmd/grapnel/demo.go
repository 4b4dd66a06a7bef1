package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/demo"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

func (c *command) demo() *cobra.Command {
	var p place
	var inspect bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: a scripted model, real tools, no key, no network",
		Long: "Plays a task with a scripted model over all subsystems, each doing real work in a directory of its own.\n" +
			"Run it twice: the second run recalls what the first one remembered.\n\n" +
			"With --inspect it goes on as a daemon, and prints a link to the page that shows what happened.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program's executable: %w", err)
			}
			paths, err := demo.Run(cmd.Context(), demo.Options{
				Dir: p.dir, Getenv: c.getenv, Executable: self, Out: c.Written, JSON: p.json, Color: term.Colored(c.Out), Hooks: inspect,
			})
			if err != nil || !inspect {
				return err
			}
			return c.inspect(cmd.Context(), paths)
		},
	}
	cmd.Flags().StringVar(&p.dir, "dir", "", "where to work: an empty directory or that of an earlier demo (default: a new temporary one, which is kept)")
	cmd.Flags().BoolVar(&p.json, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&inspect, "inspect", false, "then serve the page that shows it, on this machine only, until it is interrupted")
	return cmd
}

// inspect serves the project of the demo to browsers of this machine until ctx ends, and prints a link to the page.
func (c *command) inspect(ctx context.Context, paths app.Paths) (err error) {
	dir, err := os.MkdirTemp("", "grapnel-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the socket: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	said, err := daemon.NewLog(daemon.LogOptions{Note: c.Note, Mask: c.Mask, To: screen.New(c.Err), Form: daemon.LogPlain, Level: "info"})
	if err != nil {
		return err
	}
	d, err := daemon.Open(ctx, daemon.Options{
		Socket: filepath.Join(dir, "s"), Log: said, Listen: daemon.Listen{Address: "127.0.0.1:0"}, Resume: true, Grace: api.DefaultGrace,
		App: app.Options{Paths: paths, Note: said.Note, Trust: demo.Trust, TrustLater: demo.Trust, RecordHooks: true},
	})
	if err != nil {
		return err
	}
	running, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(running) }()
	link, err := client.New(filepath.Join(dir, "s"), nil).Link(ctx, wire.NewLink{})
	if err != nil {
		end()
		return errors.Join(err, <-ended)
	}
	err = screen.New(c.Written).Print(screen.Format("\nThe inspector, by a link that opens once:\n  %s\nAsk the skipper there what the notices to mariners say. Ctrl-C ends it.\n", strings.Join(link.URLs, "\n  ")))
	return errors.Join(err, <-ended)
}

// serveDemo is the demo's MCP server, which the demo starts as a child process.
func (c *command) serveDemo() *cobra.Command {
	return &cobra.Command{
		Use: demo.ServerCommand, Hidden: true, Args: noArgs, Annotations: map[string]string{outlives: "it talks to its client"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := demo.Serve(cmd.Context()); err != nil {
				return &failed{exitFailed, err}
			}
			return nil
		},
	}
}
