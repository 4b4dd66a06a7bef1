package hooktest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook/message"
)

// marker stands for a secret in garbage; no error may repeat it.
const marker = "hooktest-secret"

// garbage is one text that cannot be arguments of a tool.
type garbage struct{ name, args string }

// garbageFor returns texts that cannot be arguments of a tool with this schema. It makes
// some of them from the valid arguments.
func garbageFor(in *schema, valid message.JSON) []garbage {
	open := strings.TrimSuffix(strings.TrimSpace(string(valid)), "}")
	list := []garbage{
		{"null", `null`},
		{"an array", `[]`},
		{"a string", quote(marker)},
		{"a number", `1`},
		{"no JSON", `{` + marker + `}`},
		{"truncated arguments", open},
		{"a truncated string", `{"` + marker},
		{"trailing data", string(valid) + `{}`},
		{"trailing text", string(valid) + ` ` + marker},
		{"nesting 10,000 deep", strings.Repeat(`{"hooktest":`, 10_000) + "1" + strings.Repeat("}", 10_000)},
		{"unclosed nesting", strings.Repeat("[", 10_000)},
		{"invalid UTF-8", "{\"\xff\":1}"},
		{"a NUL", "{\"a\":\"\x00\"}"},
	}
	if in.closed() {
		list = append(list, garbage{"an unknown argument", open + comma(open) + `"__x":1}`})
	}
	for _, name := range in.Required {
		key := quote(name)
		p := in.Properties[name]
		list = append(list, garbage{"a repeated " + name, open + `,` + key + `:` + string(p.example()) + `}`})
		if variant := strings.ToUpper(name); variant != name && in.closed() {
			list = append(list, garbage{"a case variant of " + name, open + `,` + quote(variant) + `:` + string(p.example()) + `}`})
		}
		if len(p.Type) > 0 && p.Type[0] != "string" {
			list = append(list, garbage{"a string for " + name, `{` + key + `:` + quote(marker) + `}`})
		}
	}
	if len(in.Required) > 0 {
		list = append(list, garbage{"the empty text", ""}, garbage{"an empty object", "{}"})
	}
	return list
}

func comma(open string) string {
	if strings.TrimSpace(open) == "{" {
		return ""
	}
	return ","
}

func checkGarbage(p *probe) {
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		for _, g := range garbageFor(in, p.example(t, in)) {
			p.guard(fmt.Sprintf("Dispatch of %s with %s", t.Name, g.name), func() { p.refused(s, t, g) })
		}
		// The empty text may stand for "no arguments", but never for a panic.
		p.bind(s, t.Name, "")
	})
}

// refused checks that Dispatch answers the garbage with an error that a model can use.
func (p *probe) refused(s *subject, t message.Tool, g garbage) {
	inv, owned := s.hook.Dispatch(p.ctx, s.call(t.Name, message.JSON(g.args)))
	err := inv.Err()
	switch {
	case !owned: // the rule "dispatch-own" reports it
	case inv.Runner() != nil:
		p.failf("%s runs with %s", t.Name, g.name)
	case err == nil:
		p.failf("%s: %s is neither an error nor runs", t.Name, g.name)
	case err.Schema == "":
		p.failf("%s: the error about %s does not carry the schema", t.Name, g.name)
	case strings.Contains(err.Error(), marker):
		p.failf("%s: the error about %s repeats a value: %v", t.Name, g.name, err)
	}
}

func checkConcurrent(p *probe) {
	const callers, rounds = 8, 16
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		args := p.example(t, in)
		want := p.bind(s, t.Name, args)
		var wg sync.WaitGroup
		got := make([]string, callers)
		for i := range callers {
			wg.Go(func() {
				defer func() {
					if v := recover(); v != nil {
						got[i] = fmt.Sprintf("%s: Dispatch panicked when called concurrently: %v", t.Name, v)
					}
				}()
				for range rounds {
					if b := p.bind(s, t.Name, args); b != want {
						got[i] = fmt.Sprintf("%s: concurrently the call binds to %+v, alone to %+v", t.Name, b, want)
					}
				}
			})
		}
		wg.Wait()
		for _, found := range got {
			if found != "" {
				p.failf("%s", found)
				return
			}
		}
	})
}
