package contribution

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Policies are those that hold, heaviest first.
type Policies struct {
	Holding []hook.Policy
	// Recall is the plan that holds; Fallback says that it is a policy's fallback.
	Recall      hook.RecallPlan
	Fallback    bool
	Diagnostics []hook.Diagnostic
}

// named is what policies are told apart by.
type named struct{ domain, key string }

// MergePolicies returns the policies that hold. Of those with one domain and key
// that is the heaviest, and the first among equals; who says the same agrees with
// it, and only who says something else with the same weight is a conflict. A plan
// counts unless its policy was overruled by another value.
func MergePolicies(in []hook.Policy) Policies {
	var out Policies
	var fallback hook.RecallPlan
	at := map[named]int{}
	for _, p := range heaviest(in, func(p hook.Policy) int { return p.Weight }) {
		if id := (named{p.Domain, p.Key}); id != (named{}) {
			i, known := at[id]
			if known && out.Holding[i].Value != p.Value {
				if first := out.Holding[i]; first.Weight == p.Weight {
					out.Diagnostics = append(out.Diagnostics, remark(event.CodePolicyConflict, p.By,
						"policy%s says something else than that of %s, which has the same weight, comes first and holds", name(p.Domain, p.Key), who(first.By)))
				}
				continue
			}
			if !known {
				at[id] = len(out.Holding)
				held := p
				held.Attached = hook.Attached{}
				out.Holding = append(out.Holding, held)
			}
		}
		if out.Recall.IsZero() {
			out.Recall = p.Recall
		}
		if fallback.IsZero() {
			fallback = p.Fallback
		}
	}
	if out.Recall.IsZero() && !fallback.IsZero() {
		out.Recall, out.Fallback = fallback, true
	}
	return out
}
