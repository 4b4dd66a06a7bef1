package contribution

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Policies are the policies that apply, heaviest first.
type Policies struct {
	Holding []hook.Policy
	// Recall is the plan that applies. Fallback: it is a policy's fallback.
	Recall      hook.RecallPlan
	Fallback    bool
	Diagnostics []hook.Diagnostic
}

// named identifies a policy or a block.
type named struct{ domain, key string }

// MergePolicies returns the policies that apply. Of several with one domain and key, the
// heaviest applies, and among equal weights the first. Another value with the same weight
// is reported as a conflict. The heaviest recall plan applies whose policy was not
// overruled by another value.
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
						"policy%s differs from that of %s, which has the same weight and applies because it comes first", name(p.Domain, p.Key), who(first.By)))
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
