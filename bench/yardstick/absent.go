package main

import (
	"path"
	"slices"

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

// groups are the sizes at which a scenario was measured: "Turn/tools=1" and so on.
func (r *Results) groups(scenario string) (all []string) {
	for _, b := range r.Benchmarks {
		if p, ok := split(b.Name); ok && p.scenario == scenario && !slices.Contains(all, p.group) {
			all = append(all, p.group)
		}
	}
	return all
}
