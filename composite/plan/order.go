package plan

import (
	"fmt"
	"slices"
	"strings"
)

// everyField stands in before= for all other fields: the field is the first one.
const everyField = "*"

// edge puts one spec before another, because of a word in a tag.
type edge struct {
	from, to int
	why      string
}

// sortSpecs returns the order of the specs: a topological order of their constraints, close
// to the order by order= and declaration. The field that states a constraint is the one that
// moves. A cycle is reported with all its constraints; its specs keep their declared order.
func sortSpecs(specs []Spec) ([]int, []Problem) {
	edges := edgesOf(specs)
	rank := make([]int, len(specs))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int {
		return specs[a].Options.order() - specs[b].Options.order()
	})
	hoist(rank, specs)
	blocked := make([]int, len(specs))
	for _, e := range edges {
		blocked[e.to]++
	}
	var out []int
	for len(rank) > 0 {
		k := slices.IndexFunc(rank, func(i int) bool { return blocked[i] == 0 })
		if k < 0 {
			cycle := findCycle(specs, edges, rank)
			return append(out, rank...), []Problem{cycle}
		}
		i := rank[k]
		rank = slices.Delete(rank, k, k+1)
		out = append(out, i)
		for _, e := range edges {
			if e.from == i {
				blocked[e.to]--
			}
		}
	}
	return out, nil
}

// hoist moves every field with a constraint before=F directly before F, until nothing
// changes. It bounds the rounds, because a cycle, which is reported later, would never end.
func hoist(rank []int, specs []Spec) {
	at := index(specs)
	for range rank {
		moved := false
		for _, i := range slices.Clone(rank) {
			from := slices.Index(rank, i)
			to := from
			for _, f := range specs[i].Options.Before {
				if f == everyField {
					to = 0
				} else if j, ok := at[f]; ok {
					to = min(to, slices.Index(rank, j))
				}
			}
			if to < from {
				copy(rank[to+1:from+1], rank[to:from])
				rank[to], moved = i, true
			}
		}
		if !moved {
			return
		}
	}
}

func edgesOf(specs []Spec) []edge {
	at := index(specs)
	var out []edge
	for i, s := range specs {
		for _, f := range s.Options.Before {
			for j := range specs {
				if j != i && (f == everyField || f == specs[j].Field) {
					out = append(out, edge{i, j, fmt.Sprintf("%s before=%s", s.Field, f)})
				}
			}
		}
		for _, f := range s.Options.After {
			if j, ok := at[f]; ok && j != i {
				out = append(out, edge{j, i, fmt.Sprintf("%s after=%s", s.Field, f)})
			}
		}
	}
	return out
}

// findCycle follows edges backwards among the remaining specs until it meets one again.
func findCycle(specs []Spec, edges []edge, left []int) Problem {
	seen := map[int]int{}
	var path []edge
	at := left[0]
	for {
		seen[at] = len(path)
		k := slices.IndexFunc(edges, func(e edge) bool { return e.to == at && slices.Contains(left, e.from) })
		path = append(path, edges[k])
		at = edges[k].from
		if start, met := seen[at]; met {
			path = path[start:]
			break
		}
	}
	slices.Reverse(path)
	var names, why, fields []string
	for _, e := range path {
		names = append(names, specs[e.from].Field)
		why = append(why, e.why)
		fields = append(fields, specs[e.from].Field)
	}
	names = append(names, names[0])
	return Problem{Code: "HG026", Fields: fields,
		Message: fmt.Sprintf("order cycle: %s (%s)", strings.Join(names, " -> "), strings.Join(why, ", ")),
		Fix:     "drop one of these constraints"}
}
