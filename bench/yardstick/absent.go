package main

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/bench"
)

// reasonFor is why a subject has no figure in a group, which is a scenario with its
// sizes: "Turn/tools=64". The table of reasons may name the scenario alone.
func reasonFor(group, subject string) string {
	for of := group; ; of = path.Dir(of) {
		if reason := bench.Lacks(of, subject); reason != "" || of == "." {
			return reason
		}
	}
}

// unexplained are the peers that were expected in a scenario, have no figure there
// and no reason. Scenarios of which nothing was measured are left out.
func (r *Results) unexplained() (all []string) {
	for _, s := range scenarios {
		for _, group := range r.groups(s.name) {
			for _, peer := range s.peers {
				if _, ok := r.find("bench." + group + "/" + peer); !ok && reasonFor(group, peer) == "" {
					all = append(all, group+"/"+peer)
				}
			}
		}
	}
	return all
}

// groups are the sizes at which a scenario was measured, in their order: "Turn/tools=1" and so on.
func (r *Results) groups(scenario string) (all []string) {
	for _, b := range r.Benchmarks {
		if p, ok := split(b.Name); ok && p.scenario == scenario && !slices.Contains(all, p.group) {
			all = append(all, p.group)
		}
	}
	slices.SortStableFunc(all, bySize)
	return all
}

// bySize compares groups by their numbers: "Turn/tools=8" is in front of "Turn/tools=64".
func bySize(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(a, b string) int {
		_, a, _ = strings.Cut(a, "=")
		_, b, _ = strings.Cut(b, "=")
		n, err := strconv.Atoi(a)
		m, err2 := strconv.Atoi(b)
		if err != nil || err2 != nil {
			return 0
		}
		return cmp.Compare(n, m)
	})
}
