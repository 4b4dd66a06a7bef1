package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// memories are those of the project and of the user.
type memories struct{ *memory.Memory }

// waits is the prefix of the ids of what waits for review, before its number.
const waits = "w"

// List returns what waits for review, and then the memories.
func (m memories) List(ctx context.Context) ([]wire.Memory, error) {
	waiting, err := m.Candidates(ctx)
	if err != nil {
		return nil, err
	}
	all, err := m.Memory.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Memory, 0, len(waiting)+len(all))
	for _, c := range waiting {
		one := memoryOf(c.Remembered)
		one.ID, one.Waiting = waits+strconv.FormatInt(c.Number, 10), true
		if i := slices.IndexFunc(all, func(r memory.Remembered) bool { return under(r, c.Remembered, c.Name) }); i >= 0 {
			one.Replaces = all[i].Content
		}
		out = append(out, one)
	}
	for _, r := range all {
		out = append(out, memoryOf(r))
	}
	return out, nil
}

// under reports whether r has the name, and the owner of the other one.
func under(r, other memory.Remembered, name string) bool {
	return r.Project == other.Project && r.User == other.User && r.Of == other.Of && r.Named(name)
}

func memoryOf(r memory.Remembered) wire.Memory {
	out := wire.Memory{
		ID: r.ID, Of: r.Of, User: r.User, Name: r.Name, Content: r.Content, Kind: string(r.Kind), Origin: string(r.Origin), Trust: string(r.Trust),
		Confidence: r.Confidence, Uses: r.Uses, Updated: r.Updated.UTC(),
	}
	if !r.Used.IsZero() {
		out.Used = r.Used.UTC()
	}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, wire.MemorySource(s))
	}
	return out
}

// Change writes a memory anew, or approves one that waits.
func (m memories) Change(ctx context.Context, id string, change wire.MemoryChange) (wire.Memory, error) {
	number, waiting := numberOf(id)
	switch {
	case waiting && !change.Approve:
		return wire.Memory{}, api.Invalid(errors.New("it waits for review; approve it before you write it anew"))
	case waiting:
		return m.approve(ctx, number)
	case change.Approve:
		return wire.Memory{}, api.Invalid(errors.New("it does not wait for review; GET /v1/memories says what does"))
	}
	r, err := m.Rewrite(ctx, id, change.Content)
	return memoryOf(r), ofMemories(err)
}

func (m memories) approve(ctx context.Context, number int64) (wire.Memory, error) {
	all, err := m.Candidates(ctx)
	if err != nil {
		return wire.Memory{}, err
	}
	i := slices.IndexFunc(all, func(c memory.Candidate) bool { return c.Number == number })
	if i < 0 {
		return wire.Memory{}, ofMemories(memory.ErrNoCandidate)
	}
	name, err := m.Accept(ctx, number)
	if err != nil {
		return wire.Memory{}, ofMemories(err)
	}
	kept, err := m.Memory.List(ctx)
	for _, r := range kept {
		if under(r, all[i].Remembered, name) {
			return memoryOf(r), nil
		}
	}
	if err == nil {
		err = fmt.Errorf("it was approved, and forgotten since: %w", memory.ErrChanged)
	}
	return wire.Memory{}, ofMemories(err)
}

// Forget removes a memory, or rejects one that waits.
func (m memories) Forget(ctx context.Context, id string) error {
	if number, waiting := numberOf(id); waiting {
		return ofMemories(m.Reject(ctx, number))
	}
	return ofMemories(m.Discard(ctx, id))
}

// numberOf returns the number of what waits; false for other ids.
func numberOf(id string) (int64, bool) {
	text, waiting := strings.CutPrefix(id, waits)
	number, err := strconv.ParseInt(text, 10, 64)
	return number, waiting && err == nil
}

// ofMemories makes the errors of memories about what a client has sent those of the API.
func ofMemories(err error) error {
	switch {
	case errors.Is(err, memory.ErrChanged), errors.Is(err, memory.ErrNoCandidate):
		return api.NotFound(err)
	case errors.Is(err, memory.ErrContent):
		return api.Invalid(err)
	}
	return err
}
