package chat

import (
	"cmp"
	"context"
)

// setModel lets another model answer from the next message on, in this conversation and in
// those that follow. Without a name it shows the present model and some others.
func (c *Chat) setModel(_ context.Context, name string) error {
	present := cmp.Or(c.model, c.agent.Config().Model.Name)
	if name != "" {
		id, err := c.o.App.FindModel(name)
		if err != nil {
			return err
		}
		c.model = id
		c.hint("From the next message on " + id + " answers.")
		return nil
	}
	var t table
	t.row(present, "the present one")
	for _, id := range c.o.App.Candidates(c.agent.Config()) {
		if id != present {
			t.row(id, "")
		}
	}
	c.show(t)
	c.hint("/model VENDOR:NAME lets another one answer.")
	return nil
}
