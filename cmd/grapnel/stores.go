package main

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/app"
)

// inStores opens what is kept beside conversations, calls do and closes it.
func (c *command) inStores(ctx context.Context, p place, do func(s *app.Stores, paths app.Paths) error) error {
	paths, err := c.paths(p)
	if err != nil {
		return err
	}
	s, err := app.OpenStores(ctx, paths)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s, paths)
}
