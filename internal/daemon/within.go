package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/socket"
)

// Within serves as a daemon during the call of do, which gets a client. MCP servers are not
// started, and agents that require them are missing.
func Within(ctx context.Context, o app.Options, do func(d *client.Client) error) (err error) {
	dir, err := os.MkdirTemp("", "grapnel-")
	if err != nil {
		return fmt.Errorf("make a directory for a socket: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opened, err := app.Open(ctx, o)
	if err != nil {
		return err
	}
	agents, _ := app.Agents(o.Paths, nil) // Open has read them
	for _, a := range agents {
		_, _ = opened.Register(ctx, a.Config.Name, hook.AgentConfig{}) // a request that needs a missing agent fails and says so
	}
	served := apiOptions(opened, o.Paths)
	keeper, err := opened.Keeper()
	if err != nil {
		return errors.Join(err, opened.Close(context.WithoutCancel(ctx)))
	}
	served.Delete = deleting(keeper)
	path := filepath.Join(dir, "socket")
	ln, err := socket.Listen(ctx, path)
	if err != nil {
		return errors.Join(err, opened.Close(context.WithoutCancel(ctx)))
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- api.New(served).Run(serving, ln, opened.Close) }()
	err = do(client.New(path, nil))
	stop()
	return errors.Join(err, <-ended)
}
