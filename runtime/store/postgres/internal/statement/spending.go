package statement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Locks returns a key for what each limit adds up, in the order in which all callers lock them.
func Locks(limits []store.SpendingLimit) []int64 {
	out := make([]int64, len(limits))
	for i, l := range limits {
		h := fnv.New64a()
		for _, part := range []*string{l.Project, l.Token} {
			if part != nil {
				h.Write([]byte{1})
				h.Write([]byte(*part))
			}
			h.Write([]byte{0})
		}
		out[i] = int64(h.Sum64()) //nolint:gosec // any number will do
	}
	slices.SortFunc(out, cmp.Compare[int64])
	return slices.Compact(out)
}

// Selected returns the condition of the filter, behind the arguments: one of few texts, each of which
// has its index.
func Selected(f store.SpendingFilter, args ...any) (where string, all []any) {
	add := func(condition string, v any) {
		args = append(args, v)
		where += fmt.Sprintf(condition, len(args))
	}
	add(` WHERE {project} AND day >= $%d`, f.Since)
	if f.Project != nil {
		add(` AND project = $%d::bytea`, []byte(*f.Project))
	}
	if f.Token != nil {
		add(` AND token = $%d::bytea`, []byte(*f.Token))
		if *f.Token != "" {
			where += ` AND token <> ''` // which lets PostgreSQL use the index
		}
	}
	return where, args
}
