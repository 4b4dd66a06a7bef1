package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Part is what a place has in one of its stores.
type Part struct {
	Name string `json:"name"`
	// Tables are those with rows.
	Tables []Table `json:"tables"`
	// Damaged has a sentence for each damaged row, and for what cannot be read at all.
	Damaged []string `json:"damaged,omitzero"`
	// Before: Copy has found it in the target, the same as in the source.
	Before bool `json:"before,omitzero"`
}

// Table is a table with the digest of its rows. Two places with the same digest have the same rows.
type Table struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

func newPart(name string, all []store.Digest) Part {
	p := Part{Name: name, Tables: make([]Table, len(all))}
	for i, d := range all {
		p.Tables[i] = Table{d.Table, d.Rows, d.SHA256}
	}
	return p
}

// ErrDiffers: the target has something else than the source.
var ErrDiffers = errors.New("it is not the same")

// Copy copies everything to a place that has nothing, and calls done with each part once it was read again
// there and is the same. A part comes in one step: after an error Copy can be called again, and goes on
// behind the parts that are there. store.ErrNotEmpty if the target has something else; nothing is changed
// then. It is an error while another process runs agents in either place.
func Copy(ctx context.Context, from, to *Place, done func(Part)) error {
	for _, p := range []*Place{from, to} {
		if err := p.idle(ctx); err != nil {
			return err
		}
	}
	var same []Part
	var missing []part
	for _, source := range from.parts {
		want, have, err := both(ctx, source, to.part(source.name))
		switch {
		case err != nil:
			return err
		case slices.Equal(want, have):
			p := newPart(source.name, want)
			p.Before = len(want) > 0
			same = append(same, p)
		case len(have) > 0 && source.name != documentsPart:
			return fmt.Errorf("%w: %s has other %s than %s (%s); nothing was changed now. Copy to an empty place", store.ErrNotEmpty, to, source.name, from, difference(want, have))
		default:
			missing = append(missing, source)
		}
	}
	for _, p := range same {
		done(p)
	}
	for _, source := range missing {
		p, err := copyPart(ctx, source, to.part(source.name))
		if err != nil {
			return fmt.Errorf("copy the %s to %s: %w", source.name, to, err)
		}
		done(p)
	}
	return nil
}

func (p *Place) part(name string) part {
	return p.parts[slices.IndexFunc(p.parts, func(other part) bool { return other.name == name })]
}

func both(ctx context.Context, source, target part) (want, have []store.Digest, err error) {
	if want, err = store.Digests(ctx, source); err == nil {
		have, err = store.Digests(ctx, target)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", source.name, err)
	}
	return want, have, err
}

func copyPart(ctx context.Context, source, target part) (Part, error) {
	if err := target.Load(ctx, alone(source)); err != nil {
		return Part{}, err
	}
	want, have, err := both(ctx, source, target)
	if err == nil && !slices.Equal(want, have) {
		err = fmt.Errorf("%w after the copy (%s): something has written meanwhile, or a disk is failing; empty the target, and begin again", ErrDiffers, difference(want, have))
	}
	return newPart(source.name, have), err
}

// difference names the first table that differs.
func difference(want, have []store.Digest) string {
	for i := 0; ; i++ {
		switch {
		case i == len(have) && i == len(want):
			return "no table"
		case i == len(have):
			return "the table " + want[i].Table + " is missing"
		case i == len(want):
			return "the table " + have[i].Table + " is too much"
		case want[i] != have[i]:
			return fmt.Sprintf("the table %s: %d rows here, %d there, SHA-256 %.12s and %.12s", want[i].Table, want[i].Rows, have[i].Rows, want[i].SHA256, have[i].SHA256)
		}
	}
}

// Check reads everything, and calls done with each part. It reports whether nothing is damaged. Other
// processes may use the place meanwhile.
func Check(ctx context.Context, p *Place, done func(Part)) (sound bool) {
	sound = true
	for _, part := range p.parts {
		all, err := store.Digests(ctx, part)
		found := newPart(part.name, all)
		if err == nil {
			found.Damaged, err = part.damaged(ctx)
		}
		if err != nil {
			found.Damaged = append(found.Damaged, err.Error())
		}
		sound = sound && len(found.Damaged) == 0
		done(found)
	}
	return sound
}
