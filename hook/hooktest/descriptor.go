package hooktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// descriptor returns a text for code reviews: the hook's type, its author's options, its
// points with their rules, and its tools.
func descriptor(s *subject) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "type %s\n", typeName(s.hook))
	if d, ok := s.hook.(interface{ HookDefaults() string }); ok {
		fmt.Fprintf(&sb, "defaults %s\n", d.HookDefaults())
	}
	if m, ok := s.hook.(*composite.Composite); ok {
		for path, member := range m.Members() {
			fmt.Fprintf(&sb, "member %s %s\n", path, typeName(member))
		}
	}
	for at := range point.Of(s.hook).All() {
		info := point.InfoOf(at)
		fmt.Fprintf(&sb, "point %s %s %s\n", info.Name, info.Kind, info.Combine)
	}
	for _, t := range s.tools {
		fmt.Fprintf(&sb, "tool %s%s\n\tinput %s\n", t.Name, claims(t), t.Input)
		if t.Output != "" {
			fmt.Fprintf(&sb, "\toutput %s\n", t.Output)
		}
	}
	return sb.String()
}

// typeName returns the type of a hook; of a composite the type that its author declared.
func typeName(h hook.Hook) string {
	if c, ok := h.(*composite.Composite); ok {
		return c.Name()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", h), "*")
}

// claims returns the tool's annotations and limits in words.
func claims(t message.Tool) string {
	var sb strings.Builder
	v := reflect.ValueOf(t.Annotations)
	for i := range v.NumField() {
		if v.Field(i).Bool() {
			sb.WriteString(" " + strings.ToLower(v.Type().Field(i).Name))
		}
	}
	if t.Waits {
		sb.WriteString(" waits")
	}
	if t.Exclusive != "" {
		sb.WriteString(" exclusive=" + t.Exclusive)
	}
	if t.Timeout > 0 {
		fmt.Fprintf(&sb, " timeout=%v", t.Timeout)
	}
	if t.MaxResult > 0 {
		fmt.Fprintf(&sb, " maxresult=%d", t.MaxResult)
	}
	return sb.String()
}

func checkDescriptor(p *probe) {
	var first string
	p.with(func(s *subject) {
		first = descriptor(s)
		if again := descriptor(s); again != first {
			p.failf("the hook's type, points or tools change between two reads: %s", difference(first, again))
		}
	})
	p.with(func(s *subject) {
		if other := descriptor(s); first != "" && other != first {
			p.failf("two hooks made in the same way differ: %s", difference(first, other))
		}
	})
	if p.o.Golden != "" && first != "" && len(p.found) == 0 {
		p.golden(first)
	}
}

// golden compares the descriptor with the one in the file, or writes it.
func (p *probe) golden(text string) {
	const mend = "if that is meant, write the file with Options.Update"
	if p.o.Update {
		err := os.MkdirAll(filepath.Dir(p.o.Golden), 0o755)
		if err == nil {
			err = os.WriteFile(p.o.Golden, []byte(text), 0o644)
		}
		if err != nil {
			p.failf("the descriptor cannot be written: %v", err)
		}
		return
	}
	want, err := os.ReadFile(p.o.Golden)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.failf("there is no descriptor in %s yet: write it with Options.Update", p.o.Golden)
	case err != nil:
		p.failf("the descriptor cannot be read: %v", err)
	case string(want) != text:
		p.failf("the hook is not what %s says: %s; %s", p.o.Golden, difference(string(want), text), mend)
	}
}

func difference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(a), len(b)) {
		if before, after := line(a, i), line(b, i); before != after {
			return fmt.Sprintf("line %d was %q and is %q", i+1, before, after)
		}
	}
	return "not at all"
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[i])
}
