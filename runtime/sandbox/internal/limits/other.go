//go:build !linux

package limits

import (
	"context"
	"errors"
)

// watches: there is no watcher here.
const watches = false

func memory() int64 { return 8 << 30 }

// Rlimits returns none.
func Rlimits(Limits) []Rlimit { return nil }

// Find returns no means.
func Find() Means { return Means{} }

// Watch returns at once.
func Watch(context.Context, int, Limits, func(why string)) {}

// Group does not exist here.
type Group struct{}

// Group returns an error.
func (m Means) Group(Limits) (*Group, error) { return nil, errors.ErrUnsupported }

// FD returns -1.
func (g *Group) FD() int { return -1 }

// Add returns an error.
func (g *Group) Add(int) error { return errors.ErrUnsupported }

// Kill returns an error.
func (g *Group) Kill() error { return errors.ErrUnsupported }

// Why returns "".
func (g *Group) Why() string { return "" }

// Close does nothing.
func (g *Group) Close() error { return nil }
