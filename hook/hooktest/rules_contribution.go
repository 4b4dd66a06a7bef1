package hooktest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// contributed is one contribution, whatever its kind.
type contributed struct {
	by   string
	with hook.Attached
	// empty: it has nothing but its hook.Attached.
	empty bool
	bad   []string
}

func (c *contributed) want(ok bool, bad string) {
	if !ok && !c.empty {
		c.bad = append(c.bad, bad)
	}
}

// contributions returns the contributions in value; nil if value is another point's answer.
func (p *probe) contributions(s *subject, value any) (all []contributed) {
	switch list := value.(type) {
	case []hook.Policy:
		for _, v := range list {
			c := contributed{by: v.By, with: v.Attached, empty: v.Domain+v.Key+v.Value == "" && v.Recall.IsZero() && v.Fallback.IsZero()}
			c.want(v.Domain != "" && v.Key != "", "a policy without a domain or a key")
			for _, plan := range []hook.RecallPlan{v.Recall, v.Fallback} {
				c.want(plan.Limit >= 0 && plan.Chars >= 0, "a recall plan with a negative bound")
				c.want(!slices.Contains(plan.Queries.Slice(), ""), "a recall plan with an empty query")
			}
			all = append(all, c)
		}
	case []hook.ContextBlock:
		for _, v := range list {
			c := contributed{by: v.By, with: v.Attached, empty: v.Domain+v.ID+v.Text == ""}
			c.want(v.ID == "" || v.Domain != "", "a block with an id and no domain")
			c.want(v.Text != "" && utf8.ValidString(v.Text), "a block without a text in UTF-8")
			c.want(v.Chars >= 0, "a block with a negative bound")
			all = append(all, c)
		}
	case []hook.ToolChange:
		for _, v := range list {
			all = append(all, p.toolChange(s, v))
		}
	case []hook.PromptSection:
		for _, v := range list {
			c := contributed{by: v.By, with: v.Attached, empty: v.ID+v.Title+v.Text == ""}
			c.want(v.Text != "" && utf8.ValidString(v.Text), "a section without a text in UTF-8")
			c.want(!strings.Contains(v.Title, "\n"), "a section whose title has several lines")
			all = append(all, c)
		}
	}
	return all
}

func (p *probe) toolChange(s *subject, v hook.ToolChange) contributed {
	c := contributed{by: v.By, with: v.Attached, empty: v.Hide.Len() == 0 && v.Add.Len() == 0}
	for _, name := range v.Hide.All() {
		c.want(message.ValidToolName(name), fmt.Sprintf("the hiding of %q, which is no name of a tool", name))
	}
	_, members := s.hook.(*composite.Composite)
	for _, add := range v.Add.All() {
		name := add.Tool.Name
		c.want(message.ValidToolName(name), fmt.Sprintf("a tool named %q, which does not match ^[a-zA-Z0-9_-]{1,64}$", name))
		c.want(!slices.Contains(strings.Fields(hook.ReservedTools), name), fmt.Sprintf("a tool named %q, which nobody may have", name))
		in, err := parseSchema(add.Tool.Input)
		c.want(err == nil, fmt.Sprintf("the tool %q, whose input schema is not valid", name))
		if err != nil || add.Owner != "" || members {
			continue
		}
		_, owned := s.hook.Dispatch(p.ctx, s.call(name, p.example(add.Tool, in)))
		c.want(owned, fmt.Sprintf("the tool %q, whose calls its Dispatch does not take", name))
	}
	return c
}

// code is the pattern of the codes of diagnostics.
const code = `^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`

// attached returns what is wrong with diagnostics and jobs.
func attached(a hook.Attached) (bad []string) {
	visibilities := []hook.Visibility{"", event.VisibleInternal, event.VisibleDebug, event.VisibleAudit, event.VisibleUser}
	for _, d := range a.Diagnostics.All() {
		if !regexp.MustCompile(code).MatchString(string(d.Code)) {
			bad = append(bad, fmt.Sprintf("a diagnostic whose code %q is not made of lower-case words separated by dots", d.Code))
		}
		if !slices.Contains(visibilities, d.Visibility) {
			bad = append(bad, fmt.Sprintf("a diagnostic with the unknown visibility %q", d.Visibility))
		}
	}
	for _, j := range a.Jobs.All() {
		if j.Kind == "" || j.Key == "" {
			bad = append(bad, "a job without a kind or a key")
		}
		if j.Payload != "" && !isJSON(j.Payload) {
			bad = append(bad, "a job whose payload is no JSON")
		}
	}
	return bad
}

func checkContributions(p *probe) {
	p.with(func(s *subject) {
		_, members := s.hook.(*composite.Composite)
		for _, a := range askersOf(s.hook) {
			got := a.ask(p.ctx, s.hook, s.scene("1", "hello"))
			for _, c := range p.contributions(s, got.value) {
				for _, bad := range append(c.bad, attached(c.with)...) {
					p.failf("%s contributes %s", a.point, bad)
				}
				if !members && c.by != "" {
					p.failf("%s sets By to %q; only the composite sets it", a.point, c.by)
				}
			}
		}
	})
}

func checkPrivate(p *probe) {
	p.with(func(s *subject) {
		for _, a := range askersOf(s.hook) {
			got := a.ask(p.ctx, s.hook, s.scene("1", marker))
			for _, c := range p.contributions(s, got.value) {
				for _, d := range c.with.Diagnostics.All() {
					if strings.Contains(string(d.Code)+d.Text, marker) {
						p.failf("a diagnostic of %s repeats a value of its arguments: %s %s", a.point, d.Code, d.Text)
					}
				}
			}
		}
		for _, ev := range s.host.Events() {
			if ev.Kind == event.Diagnostic || ev.Kind == event.HookFailed {
				if strings.Contains(ev.Text+string(ev.Detail().Code), marker) {
					p.failf("an event %s repeats a value that a hook was called with: %s", ev.Kind, ev.Text)
				}
			}
		}
	})
	p.secretSections()
}

func (p *probe) secretSections() {
	h, host, closing, ok := p.open()
	if !ok {
		return
	}
	defer closing()
	for _, name := range p.o.Agent.Sections() {
		for _, body := range []string{quote(marker), "[" + quote(marker) + "]"} {
			cfg := p.o.Agent.WithHost(host).WithSection(name, message.JSON(body))
			cfg.Name = "tester"
			p.guard("OnBuildAgent with a wrong section "+name, func() {
				if _, err := h.OnBuildAgent(p.ctx, cfg); err != nil && strings.Contains(err.Error(), marker) {
					p.failf("the error about the section %s repeats a value of it: %v", name, err)
				}
			})
		}
	}
}
