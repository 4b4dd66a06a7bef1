package hooktest

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

func checkNames(p *probe) {
	p.with(func(s *subject) {
		seen := map[string]bool{}
		for _, t := range s.tools {
			if !message.ValidToolName(t.Name) {
				p.failf("the name %q does not match ^[a-zA-Z0-9_-]{1,64}$", t.Name)
			}
			if seen[t.Name] {
				p.failf("two tools are named %q", t.Name)
			}
			seen[t.Name] = true
		}
	})
}

func checkValid(p *probe) {
	p.with(func(s *subject) {
		for _, t := range s.tools {
			if _, err := parseSchema(t.Input); err != nil {
				p.failf("%s: the input schema %v", t.Name, err)
			}
			if t.Output != "" {
				if _, err := readSchema(t.Output); err != nil {
					p.failf("%s: the output schema %v", t.Name, err)
				}
			}
		}
	})
}

func checkSubset(p *probe) {
	p.with(func(s *subject) {
		for _, t := range s.tools {
			in, err := parseSchema(t.Input)
			if err != nil || !p.own(t) {
				continue
			}
			for _, bad := range in.subset("") {
				p.failf("%s: %s", t.Name, bad)
			}
		}
	})
}

func checkDescribed(p *probe) {
	p.with(func(s *subject) {
		for _, t := range s.tools {
			if !p.own(t) {
				continue
			}
			if strings.TrimSpace(t.Description) == "" {
				p.failf("%s has no description", t.Name)
			}
			in, err := parseSchema(t.Input)
			if err != nil {
				continue
			}
			for _, where := range in.undescribed("") {
				p.failf("%s: %s has no description", t.Name, where)
			}
		}
	})
}

func checkOwn(p *probe) {
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		args := p.example(t, in)
		inv, owned := s.hook.Dispatch(p.ctx, s.call(t.Name, args))
		switch {
		case !owned:
			p.failf("Dispatch refuses %s as foreign, but Schema lists it", t.Name)
		case inv.Err() != nil:
			p.failf("valid arguments %s are refused (if they are not valid, set others in Options.Args): %v", args, inv.Err())
		case inv.Runner() == nil:
			p.failf("%s is bound without an error and without a runner", t.Name)
		}
	})
}

func checkForeign(p *probe) {
	p.with(func(s *subject) {
		names := []string{"", "hooktest_nobody_owns_this", "\x00"}
		for _, t := range s.tools {
			names = append(names, t.Name+"_hooktest", strings.ToUpper(t.Name), " "+t.Name)
		}
		for _, name := range names {
			if _, own := find(s.tools, name); own {
				continue
			}
			p.guard("Dispatch of "+quote(name), func() {
				if _, owned := s.hook.Dispatch(p.ctx, s.call(name, "{}")); owned {
					p.failf("Dispatch binds a call to %q, but Schema does not list it", name)
				}
			})
		}
	})
}

// binding has the comparable parts of an Invocation.
type binding struct {
	owned, runs bool
	args        message.JSON
	err         string
}

func (p *probe) bind(s *subject, tool string, args message.JSON) binding {
	inv, owned := s.hook.Dispatch(p.ctx, s.call(tool, args))
	b := binding{owned: owned, runs: inv.Runner() != nil, args: inv.Args()}
	if err := inv.Err(); err != nil {
		b.err = err.Error()
	}
	return b
}

func checkCanonical(p *probe) {
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		args := p.example(t, in)
		plain := p.bind(s, t.Name, args)
		if !plain.runs {
			return // the rule "dispatch-own" reports it
		}
		if again := p.bind(s, t.Name, plain.args); again != plain {
			p.failf("%s: canonical arguments %s bind to %s the second time", t.Name, plain.args, again.args)
		}
		blanks := message.JSON(" \n" + strings.Replace(string(args), "{", "{ ", 1) + "\t")
		if spaced := p.bind(s, t.Name, blanks); spaced != plain {
			p.failf("%s: %q binds to %q (%s), but without the blanks to %q", t.Name, blanks, spaced.args, spaced.err, plain.args)
		}
	})
}

func checkMissing(p *probe) {
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		var whole map[string]message.JSON
		if json.Unmarshal([]byte(p.example(t, in)), &whole) != nil {
			return
		}
		for _, name := range in.Required {
			rest := map[string]message.JSON{}
			for k, v := range whole {
				if k != name {
					rest[k] = v
				}
			}
			args, err := json.Marshal(rest)
			if err != nil {
				continue
			}
			inv, owned := s.hook.Dispatch(p.ctx, s.call(t.Name, message.JSON(args)))
			switch {
			case !owned: // the rule "dispatch-own" reports it
			case inv.Err() == nil:
				p.failf("%s: arguments without the required %q are accepted", t.Name, name)
			case !strings.Contains(inv.Err().Path+" "+inv.Err().Reason, name):
				p.failf("%s: the error about the missing %q does not name it: %v", t.Name, name, inv.Err())
			}
		}
	})
}

func checkPure(p *probe) {
	p.eachTool(func(s *subject, t message.Tool, in *schema) {
		args := p.example(t, in)
		events := len(s.host.Events())
		first := p.bind(s, t.Name, args)
		if second := p.bind(s, t.Name, args); second != first {
			p.failf("%s: the same call binds to %+v, then to %+v", t.Name, first, second)
		}
		if n := len(s.host.Events()) - events; n > 0 {
			p.failf("%s: Dispatch emitted %d events", t.Name, n)
		}
		if !reflect.DeepEqual(s.hook.Schema(), s.tools) {
			p.failf("%s: Schema answers differently after Dispatch", t.Name)
		}
	})
}
