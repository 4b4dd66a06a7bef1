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
	// maxDiagnostics limits the diagnostics of one point.
	maxDiagnostics = 64
	// maxText limits the text of a diagnostic, in characters.
	maxText = 500
)

// Collected has the diagnostics and jobs of all contributions of one point.
type Collected struct {
	Diagnostics []hook.Diagnostic
	Jobs        []hook.Job
}

// Collect collects diagnostics and jobs in plan order, also from contributions that lose
// in the merge.
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

// Bounded returns the first diagnostics. If there are too many, the last one returned
// counts those that are left out.
func Bounded(in []hook.Diagnostic) []hook.Diagnostic {
	if len(in) <= maxDiagnostics {
		return in
	}
	left := len(in) - maxDiagnostics + 1
	return append(slices.Clone(in[:maxDiagnostics-1]), hook.Diagnostic{
		Code: event.CodeDiagnosticsLost, Visibility: event.VisibleInternal, Text: fmt.Sprintf("%d more diagnostics are left out", left),
	})
}

func bounded(d hook.Diagnostic) hook.Diagnostic {
	code, _ := character.Cut(plain(string(d.Code)), 64)
	d.Code = hook.DiagnosticCode(code)
	d.Text, _ = character.Cut(plain(d.Text), maxText)
	d.Visibility = cmp.Or(d.Visibility, event.VisibleInternal)
	return d
}

// remark returns a diagnostic about the merge.
func remark(code hook.DiagnosticCode, by, format string, args ...any) hook.Diagnostic {
	return hook.Diagnostic{Code: code, Visibility: event.VisibleInternal, Text: who(by) + ": " + fmt.Sprintf(format, args...)}
}

func who(by string) string { return cmp.Or(by, "the hook") }

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_.:-]+$`)

// name joins the parts that look like names. It leaves out the others: they might be
// values in the wrong field.
func name(parts ...string) string {
	kept := make([]string, 0, len(parts))
	for _, p := range parts {
		if len(p) <= 64 && namePattern.MatchString(p) {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return " " + strings.Join(kept, "/")
}

func plain(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// heaviest sorts by weight, highest first. Equal weights stay in plan order.
func heaviest[T any](in []T, weight func(T) int) []T {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(weight(b), weight(a)) })
	return out
}
