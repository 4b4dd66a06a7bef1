package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// profiled is a benchmark whose time is split.
type profiled struct{ unit, name, title string }

// profiles are those of the chart, with the package they are in.
var profiles = []profiled{
	{"runtime", "runtime.Turn/tools=1/calls=1/history=1", "one subsystem, 1 call"},
	{"runtime", "runtime.Turn/tools=1/calls=8/history=1", "one subsystem, 8 calls"},
	{"internal/test/composites", "composites.Whole/calls=1", "all of the daemon, 1 call"},
}

// The classes of what takes time.
const (
	classModel   = "model and provider"
	classStore   = "history and store"
	classEvents  = "events"
	classHooks   = "hooks at their points"
	classTools   = "binding and running tools"
	classLoop    = "the loop itself"
	classRuntime = "Go: collector and scheduler"
	classOther   = "other"
)

// classes in their order in the chart, from below.
func classes() []string {
	return []string{classModel, classStore, classEvents, classHooks, classTools, classLoop, classRuntime, classOther}
}

// ours is how the names of this module's functions and files begin.
const ours = "github.com/grapnel-go/grapnel/"

// prefixes say what belongs to which class: the beginning of a function's name or
// of its file, less that of this module. The longest that fits counts. What the Go
// runtime does for a function, its allocations above all, is part of that function.
var prefixes = map[string]string{
	"runtime_test.(*loop)": classModel, "runtime_test.newLoop": classModel, "internal/test/rig.": classModel,
	"internal/test/composites_test.(*caller)": classModel, "internal/test/composites_test.newCaller": classModel, "internal/test/composites_test.stream": classModel,
	"runtime/provider": classModel, "runtime/internal/loop/model.go": classModel, "runtime/internal/loop/attempt.go": classModel, "hook/message/model.go": classModel,

	"runtime/store": classStore, "internal/history": classStore, "runtime/internal/loop/journal.go": classStore, "runtime/lease.go": classStore,
	"runtime/internal/durable": classStore, "runtime/states.go": classStore, "runtime/internal/loop.(*transcript)": classStore, "hook/message": classStore,

	"runtime/internal/loop/emit.go": classEvents, "runtime/host.go": classEvents, "runtime/internal/stream": classEvents,
	"runtime/subscribe.go": classEvents, "hook/event.go": classEvents, "runtime_test.turns.func2": classEvents,

	"runtime/internal/loop/foreign.go": classHooks, "runtime/internal/loop/contribute.go": classHooks, "runtime/internal/contribution": classHooks,
	"runtime_test.(*fast).OnEvent": classHooks, "composite": classHooks, "subsystems": classHooks, "internal/app": classHooks,
	"internal/test/composites/": classHooks, "internal/test/composites.": classHooks, "hook/decide.go": classHooks,

	"composite/dispatch.go": classTools, "composite/args": classTools, "runtime/internal/loop/execute.go": classTools, "runtime/internal/loop/calls.go": classTools,
	"runtime/internal/scope/view.go": classTools, "runtime/internal/loop/repair.go": classTools, "runtime_test.(*fast).Dispatch": classTools,
	"runtime_test.fastRun": classTools, "internal/test/composites.(*Whole).Dispatch": classTools, "internal/test/composites.(*Free)": classTools, "hook/tool.go": classTools,

	"runtime/internal/loop/turn.go": classLoop, "runtime/internal/loop/step.go": classLoop, "runtime/internal/loop/ending.go": classLoop, "runtime/internal/loop/spend.go": classLoop,
	"runtime/internal/loop/session.go": classLoop, "runtime/internal/loop/steer.go": classLoop, "runtime/conversation.go": classLoop, "runtime/internal/scope/prompt.go": classLoop, "runtime/internal/loop": classLoop, "runtime/": classLoop,
}

// frame is one function of a stack.
type frame struct{ function, file string }

// classOf is the class of a stack whose deepest frame comes first: that of the
// deepest frame that any prefix fits. A stack of the Go runtime alone is its
// own; the rest is other.
func classOf(stack []frame) string {
	alone := true
	for _, f := range stack {
		if class := classOfFrame(f); class != "" {
			return class
		}
		alone = alone && (strings.HasPrefix(f.function, "runtime.") || strings.HasPrefix(f.function, "internal/runtime/"))
	}
	if alone {
		return classRuntime
	}
	return classOther
}

func classOfFrame(f frame) (class string) {
	longest := 0
	for _, name := range []string{f.function, f.file} {
		name, ok := strings.CutPrefix(name, ours)
		if !ok {
			continue
		}
		for prefix, c := range prefixes {
			if len(prefix) > longest && strings.HasPrefix(name, prefix) {
				longest, class = len(prefix), c
			}
		}
	}
	return class
}

// shareOut splits a profile of the processor's time.
func shareOut(p *profile.Profile) (parts []Part, samples int64) {
	by := map[string]int64{}
	total := int64(0)
	for _, s := range p.Sample {
		var stack []frame
		for _, l := range s.Location {
			for _, in := range l.Line { // the deepest first, also of those that are inlined
				stack = append(stack, frame{in.Function.Name, in.Function.Filename})
			}
		}
		by[classOf(stack)] += s.Value[0]
		total += s.Value[0]
	}
	for _, class := range classes() {
		if total > 0 {
			parts = append(parts, Part{class, float64(by[class]) / float64(total)})
		}
	}
	return parts, total
}

// of is the share of a class.
func (s Share) of(class string) float64 {
	i := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Class == class })
	if i < 0 {
		return 0
	}
	return s.Parts[i].Share
}

// shares profiles our turns, each for the length of a run.
func (m *measurer) shares(ctx context.Context, length string) (all []Share, err error) {
	for _, of := range profiles {
		if !m.wanted.takes(of.name) {
			continue
		}
		fmt.Fprintf(m.out, "profiling %s\n", of.name)
		path := filepath.Join(m.dir, "cpu.profile")
		j := job{unit: &unit{dir: of.unit}, program: m.built[of.unit], pattern: exactly(of.name)}
		if _, err := m.execute(ctx, j, length, "-test.cpuprofile", path); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := profile.ParseData(text)
		if err != nil {
			return nil, fmt.Errorf("read the profile of %s: %w", of.name, err)
		}
		s := Share{Name: of.name, Title: of.title}
		s.Parts, s.Samples = shareOut(p)
		all = append(all, s)
	}
	return all, nil
}

// writeShares writes the shares of the chart in figures.
func (r *Results) writeShares(b *strings.Builder) {
	if len(r.Shares) == 0 {
		return
	}
	b.WriteString("Where a turn's time goes, by profiles of the processor: each sample belongs to the deepest function of ours on its stack, with what " +
		"the Go runtime does for it. `" + classRuntime + "` are stacks without any of ours; `" + classOther + "` is what no class takes, the benchmark's own loop among it.\n\n")
	head := []string{"cause"}
	for _, s := range r.Shares {
		head = append(head, fmt.Sprintf("%s (%d samples)", s.Title, s.Samples))
	}
	var rows [][]string
	for _, class := range classes() {
		row := []string{class}
		for _, s := range r.Shares {
			row = append(row, fmt.Sprintf("%.1f %%", 100*s.of(class)))
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
}
