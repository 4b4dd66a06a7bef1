package approval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// maxRemarks limits the remarks of a request.
const maxRemarks = 20

// remarks returns what a person may overlook or misread in the arguments: sentences with the name
// of the argument in front.
func remarks(args message.JSON) []string {
	var out []string
	if len(args) > maxShown {
		out = append(out, fmt.Sprintf("the arguments have %d bytes, which nobody reads whole: the answer counts for this call only", len(args)))
	}
	var in map[string]any
	if json.Unmarshal([]byte(args), &in) != nil {
		return append(out, character.Remarks(string(args))...)
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		said := map[string]bool{}
		for text := range texts(in[name]) {
			for _, remark := range character.Remarks(text) {
				if remark = plain(name) + ": " + remark; !said[remark] {
					said[remark] = true
					out = append(out, remark)
				}
			}
		}
		for _, remark := range character.Remarks(name) {
			out = append(out, "the name "+plain(name)+": "+remark)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { // what hides something goes first
		switch odd := character.HidesNothing(a); {
		case odd == character.HidesNothing(b):
			return 0
		case odd:
			return 1
		}
		return -1
	})
	if n := len(out) - maxRemarks; n > 0 {
		out = append(out[:maxRemarks], fmt.Sprintf("%d more remarks", n))
	}
	return out
}

// texts returns all texts in a value, names of members included.
func texts(v any) func(yield func(string) bool) {
	var walk func(v any, yield func(string) bool) bool
	walk = func(v any, yield func(string) bool) bool {
		switch v := v.(type) {
		case string:
			return yield(v)
		case []any:
			for _, e := range v {
				if !walk(e, yield) {
					return false
				}
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if !yield(name) || !walk(v[name], yield) {
					return false
				}
			}
		}
		return true
	}
	return func(yield func(string) bool) { walk(v, yield) }
}
