package hooktest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

func (s *subject) scene(id, said string) *scene { return newScene(id, s.cfg, s.host, said) }

// scenes returns one about a foreign tool, and one for each tool of the hook.
func (p *probe) scenes(s *subject) []*scene {
	plain := s.scene("1", "hello")
	all := []*scene{plain}
	for _, t := range s.tools {
		if in, err := parseSchema(t.Input); err == nil {
			all = append(all, plain.with(t, p.example(t, in)))
		}
	}
	return all
}

func checkAnswers(p *probe) {
	p.with(func(s *subject) {
		for _, scene := range p.scenes(s) {
			for _, a := range askersOf(s.hook) {
				got := a.ask(p.ctx, s.hook, scene)
				switch {
				case a.point == point.Preprocess: // the rule "preprocess-plain" reports it
				case got.panicked != "":
					p.failf("%s panicked: %s", a.point, got.panicked)
				case got.err != nil:
					p.failf("%s fails in an ordinary turn: %v", a.point, got.err)
				default:
					for _, bad := range unusable(got.value) {
						p.failf("%s answers with %s", a.point, bad)
					}
				}
			}
		}
	})
}

// verdict is implemented by all decisions.
type verdict interface{ Verdict() hook.Verdict }

// unusable returns the parts of an answer that the runtime cannot use.
func unusable(value any) []string {
	var bad []string
	check := func(ok bool, part string) {
		if !ok {
			bad = append(bad, part)
		}
	}
	if d, ok := value.(verdict); ok {
		v := d.Verdict()
		switch v.Kind {
		case hook.AnswerDeny, hook.AnswerReject, hook.AnswerRefuse, hook.AnswerWithhold, hook.AnswerRetry, hook.AnswerContinue:
			_, failure := value.(hook.FailureDecision) // which has no reason
			check(v.Reason != "" || failure, fmt.Sprintf("%s and gives no reason", v.Kind))
		}
	}
	switch d := value.(type) {
	case hook.ApprovalDecision:
		check(d.Verdict().Kind != hook.AnswerModify || isJSON(d.Args()), "modified arguments that are no JSON")
	case hook.RepairDecision:
		check(d.Verdict().Kind != hook.AnswerRepair || isJSON(d.Args()), "repaired arguments that are no JSON")
		check(d.Verdict().Kind != hook.AnswerRename || message.ValidToolName(d.Name()), "a name that no tool can have")
	case hook.FailureDecision:
		check(d.Verdict().Kind != hook.AnswerFallback || d.Model() != "", "a fallback to no model")
	case hook.CompactionDecision:
		check(d.Verdict().Kind != hook.AnswerSupply || d.Summary() != "", "an empty summary")
	case hook.StepDecision:
		check(d.Context() == "" || isJSON(d.Context()), "figures that are no JSON")
	case message.JSON:
		check(isJSON(d), "arguments that are no JSON")
	case message.ModelRequest:
		check(d.Model.Name != "", "a request to no model")
	case ranTool:
		check(d.times <= 1, fmt.Sprintf("a tool that ran %d times and may be neither read-only nor idempotent", d.times))
	case streamed:
		n := len(d.chunks)
		check(d.err != nil || n > 0 && d.chunks[n-1].Kind == message.ChunkFinish, "a stream that ends without its finish")
	}
	return bad
}

func isJSON(text message.JSON) bool { return json.Valid([]byte(text)) }

func checkBare(p *probe) {
	p.with(func(s *subject) {
		for _, a := range askersOf(s.hook) {
			if got := a.ask(p.ctx, s.hook, bareScene()); got.panicked != "" {
				p.failf("%s panicked at a place with unset fields: %s", a.point, got.panicked)
			}
		}
	})
}

func checkPromptly(p *probe) {
	over, cancel := context.WithCancel(p.ctx)
	cancel()
	late, stop := context.WithDeadline(p.ctx, time.Unix(0, 0))
	defer stop()
	bound := p.o.Patience
	if bound == 0 {
		bound = 5 * time.Second
	}
	p.with(func(s *subject) {
		for i, ctx := range []context.Context{over, late} {
			what := []string{"was cancelled", "had no time left"}[i]
			for _, a := range askersOf(s.hook) {
				got := make(chan response, 1)
				go func() { got <- a.ask(ctx, s.hook, s.scene("1", "hello")) }()
				timer := time.NewTimer(bound)
				select {
				case out := <-got:
					if out.panicked != "" {
						p.failf("%s panicked when its context %s: %s", a.point, what, out.panicked)
					}
				case <-timer.C:
					p.failf("%s did not return within %v, though its context %s before", a.point, bound, what)
				}
				timer.Stop()
			}
		}
	})
}

func checkCrowd(p *probe) {
	const turns = 8
	p.with(func(s *subject) {
		for _, a := range askersOf(s.hook) {
			if alone := a.ask(p.ctx, s.hook, s.scene("alone", "hello")); alone.panicked != "" || alone.err != nil {
				continue // the rule "points-answer" reports it
			}
			var wg sync.WaitGroup
			out := make([]response, turns)
			for i := range turns {
				scene := s.scene(fmt.Sprint(i), "hello")
				wg.Go(func() { out[i] = a.ask(p.ctx, s.hook, scene) })
			}
			wg.Wait()
			for _, got := range out {
				if got.panicked != "" || got.err != nil {
					p.failf("%s in %d concurrent turns: %s%s", a.point, turns, got.panicked, text(got.err))
					break
				}
			}
		}
	})
}

func checkViews(p *probe) {
	p.with(func(s *subject) {
		was, tools := *s.cfg, slices.Clone(s.cfg.Tools)
		schema := slices.Clone(s.tools)
		for _, scene := range p.scenes(s) {
			for _, a := range askersOf(s.hook) {
				a.ask(p.ctx, s.hook, scene)
				now := *s.cfg
				if !slices.Equal(now.Tools, tools) || !slices.Equal(now.Sections(), was.Sections()) {
					p.failf("%s changes the tools or sections of the agent's configuration", a.point)
					return
				}
				if now.Tools = was.Tools; !reflect.DeepEqual(now, was) {
					p.failf("%s changes the agent's configuration, which all hooks share", a.point)
					return
				}
				if !reflect.DeepEqual(schema, s.tools) {
					p.failf("%s changes a schema that Schema has returned", a.point)
					return
				}
			}
		}
	})
}

func checkOwnership(p *probe) {
	p.with(func(s *subject) {
		for _, a := range askersOf(s.hook) {
			first := a.ask(p.ctx, s.hook, s.scene("1", "hello"))
			list := reflect.ValueOf(first.value)
			if list.Kind() != reflect.Slice || list.Len() == 0 {
				continue
			}
			second := a.ask(p.ctx, s.hook, s.scene("1", "hello"))
			again := reflect.ValueOf(second.value)
			if again.Kind() == reflect.Slice && again.Len() > 0 && again.Pointer() == list.Pointer() {
				p.failf("%s returns a list that it keeps: a caller that changes the answer changes the next one", a.point)
			}
		}
	})
}

func checkIsolated(p *probe) {
	alone := p.aloneAt("b")
	again := p.aloneAt("b")
	p.with(func(s *subject) {
		other, done, ok := p.register(s.hook, s.host, "other")
		if !ok {
			return
		}
		defer done()
		a, b := newScene("a", other, s.host, "hello"), s.scene("b", "hello")
		for i, asker := range askersOf(s.hook) {
			asker.ask(p.ctx, s.hook, a)
			got := asker.ask(p.ctx, s.hook, b)
			asker.ask(p.ctx, s.hook, a)
			if i < len(alone) && i < len(again) && alone[i].same(again[i]) && !got.same(alone[i]) {
				p.failf("%s answers a turn differently while another agent's turn runs", asker.point)
			}
		}
	})
}

// aloneAt returns the responses of a fresh hook in one scene alone.
func (p *probe) aloneAt(id string) (all []response) {
	p.with(func(s *subject) {
		_, done, ok := p.register(s.hook, s.host, "other")
		if !ok {
			return
		}
		defer done()
		scene := s.scene(id, "hello")
		for _, a := range askersOf(s.hook) {
			all = append(all, a.ask(p.ctx, s.hook, scene))
		}
	})
	return all
}
