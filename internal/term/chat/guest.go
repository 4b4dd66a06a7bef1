package chat

import (
	"context"
	"errors"
	"strings"
)

// guest lets another agent of the project answer one message of this conversation.
func (c *Chat) guest(ctx context.Context, rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("write who answers, and what: /guest NAME TEXT; /agents lists the agents")
	}
	if _, err := c.o.Host.Agent(ctx, name); err != nil {
		return err
	}
	return c.send(ctx, text, name)
}
