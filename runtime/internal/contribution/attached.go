package contribution

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/character"
)

const (
	// maxDiagnostics is how many remarks of one point are told.
	maxDiagnostics = 64
	// maxRemark bounds the text of one in characters.
	maxRemark = 500
)

// Collected is what goes along with the contributions of one point.
type Collected struct {
	Diagnostics []hook.Diagnostic
	Jobs        []hook.Job
}

// Collect takes everything that goes along with the contributions, in plan order:
// with all of them, also those that do not hold.
func Collect[T any](in []T, attached func(T) hook.Attached) Collected {
	var out Collected
	for _, item := range in {
		a := attached(item)
		for _, d := range a.Diagnostics.All() {
			out.Diagnostics = append(out.Diagnostics, bounded(d))
		}
		for _, j := range a.Jobs.All() {
			out.Jobs = append(out.Jobs, j)
		}
	}
	return out
}

// Bounded returns the diagnostics, of which those over the bound are left out and
// counted.
func Bounded(in []hook.Diagnostic) []hook.Diagnostic {
	if len(in) <= maxDiagnostics {
		return in
	}
	left := len(in) - maxDiagnostics + 1
	return append(slices.Clone(in[:maxDiagnostics-1]), hook.Diagnostic{
		Code: event.CodeDiagnosticsLost, Visibility: event.VisibleInternal, Text: fmt.Sprintf("%d more remarks are not told", left),
	})
}

func bounded(d hook.Diagnostic) hook.Diagnostic {
	code, _ := character.Cut(plain(string(d.Code)), 64)
	d.Code = hook.DiagnosticCode(code)
	d.Text, _ = character.Cut(plain(d.Text), maxRemark)
	d.Visibility = cmp.Or(d.Visibility, event.VisibleInternal)
	return d
}

// remark is a diagnostic of the merging.
func remark(code hook.DiagnosticCode, by, format string, args ...any) hook.Diagnostic {
	return hook.Diagnostic{Code: code, Visibility: event.VisibleInternal, Text: who(by) + ": " + fmt.Sprintf(format, args...)}
}

func who(by string) string { return cmp.Or(by, "the hook") }

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`)

// name is what of names may stand in a remark: names that look like one, joined.
// Everything else might be a value that was put in the wrong field.
func name(parts ...string) string {
	kept := make([]string, 0, len(parts))
	for _, p := range parts {
		if namePattern.MatchString(p) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return " " + strings.Join(kept, "/")
}

// plain is the text without what is no text.
func plain(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// heaviest sorts by weight, high first; equals stay in plan order.
func heaviest[T any](in []T, weight func(T) int) []T {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(weight(b), weight(a)) })
	return out
}
