package gen

import (
	"context"

	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/scaffold"
)

// NewOptions describe the subsystem to write, and its place: Name, Tools, Dynamic, Dir, Below, Into and Check.
type NewOptions = scaffold.Options

// NewResult is the result of [New].
type NewResult = scaffold.Result

// NewFile is one file that [New] wrote; its What is one of the kinds below.
type NewFile = scaffold.Written

// The kinds of file that [New] writes.
const (
	Yours      = scaffold.Yours
	Test       = scaffold.Test
	Descriptor = scaffold.Descriptor
	Changed    = scaffold.Changed
)

// New writes the first version of a subsystem with its generated code, and adds it to a composite. It makes everything in memory and
// type-checks it together before it writes the first file. It overwrites nothing; if writing fails, it removes the files that it has
// written. It leaves an existing subsystem with the requested tools as it is.
//
// An error is a name or a place that is not allowed, or a failure of the environment; nothing is written then either.
func New(ctx context.Context, o NewOptions) (NewResult, error) {
	return scaffold.New(ctx, o, func(ctx context.Context, dir string, listing *load.Listing) (scaffold.Output, error) {
		r := run{dir: dir, listing: listing}
		texts, problems, err := r.generate(ctx)
		return scaffold.Output{Texts: texts, Model: r.model, Problems: problems}, err
	})
}
