package chat

import (
	"cmp"
	"context"
)

// setModel lets another model answer from the next message on, in this conversation and in
// those that follow. Without a name it shows the present model and some others.
func (c *Chat) setModel(ctx context.Context, name string) error {
	present := cmp.Or(c.model, c.agent.Model)
	if name != "" {
		id, err := c.o.Host.Model(name)
		if err != nil {
			return err
		}
		c.model = id
		c.hint("From the next message on " + id + " answers.")
		return nil
	}
	others, err := c.o.Host.Candidates(ctx, c.agent.Name)
	if err != nil {
		return err
	}
	var t table
	t.row(present, "the present one")
	for _, id := range others {
		if id != present {
			t.row(id, "")
		}
	}
	c.show(t)
	c.hint("/model VENDOR:NAME lets another one answer.")
	return nil
}
