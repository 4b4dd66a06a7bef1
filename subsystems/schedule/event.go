package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// On selects the events that run an agent. An empty field selects all; patterns are those of
// [path.Match].
type On struct {
	// Kind is one of Kinds.
	Kind hook.EventKind `json:"kind"`
	// Agent is a pattern of the agent's name, Tool of the tool's.
	Agent string `json:"agent,omitzero"`
	Tool  string `json:"tool,omitzero"`
	// Stop is how the turn ended, for turn_end and subagent_end.
	Stop hook.StopReason `json:"stop,omitzero"`
	// Text is a part of the event's text: the name of a skill or server.
	Text string `json:"text,omitzero"`
}

// Kinds returns the kinds of event that a schedule can wait for. Deltas, progress and the parts
// of a step are not among them: there are too many of them.
func Kinds() []hook.EventKind {
	return []hook.EventKind{
		event.TurnStart, event.TurnEnd, event.Error, event.SubagentEnd, event.CallResult, event.ApprovalAsked, event.ApprovalTimedOut,
		event.QuestionAsked, event.SkillLoaded, event.ServerConnected, event.ServerLost, event.Compacted, event.HookFailed,
	}
}

// ParseOn reads an event as people write it: "turn_end agent=helper stop=error".
func ParseOn(text string) (On, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return On{}, errors.New(`name the kind of event, as in "turn_end agent=helper stop=error"`)
	}
	on := On{Kind: hook.EventKind(words[0])}
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		to := map[string]*string{"agent": &on.Agent, "tool": &on.Tool, "stop": (*string)(&on.Stop), "text": &on.Text}[key]
		switch {
		case to == nil || !found || value == "":
			return on, fmt.Errorf("%.60q says nothing about an event; write agent=NAME, tool=NAME, stop=REASON or text=PART", word)
		case *to != "":
			return on, fmt.Errorf("%s is given twice", key)
		}
		*to = value
	}
	return on, on.check()
}

// String returns what ParseOn reads.
func (o On) String() string {
	out := string(o.Kind)
	for _, f := range [][2]string{{"agent", o.Agent}, {"tool", o.Tool}, {"stop", string(o.Stop)}, {"text", o.Text}} {
		if f[1] != "" {
			out += " " + f[0] + "=" + f[1]
		}
	}
	return out
}

func (o On) check() error {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	if !slices.Contains(names, string(o.Kind)) {
		meant := ""
		if near := spell.Closest(string(o.Kind), names); near != "" {
			meant = fmt.Sprintf("did you mean %s? ", near)
		}
		return fmt.Errorf("no schedule can wait for the event %.60q; %sthere are %s", o.Kind, meant, strings.Join(names, ", "))
	}
	for _, pattern := range []string{o.Agent, o.Tool} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%.60q is no pattern; * stands for any characters, ? for one", pattern)
		}
	}
	if o.Stop != "" && o.Kind != event.TurnEnd && o.Kind != event.SubagentEnd {
		return fmt.Errorf("the event %s has no stop=; turn_end and subagent_end have", o.Kind)
	}
	if o.Tool != "" && slices.Contains([]hook.EventKind{event.TurnStart, event.TurnEnd, event.Error, event.Compacted, event.ServerConnected, event.ServerLost}, o.Kind) {
		return fmt.Errorf("the event %s has no tool=; call_result has", o.Kind)
	}
	if o.Stop != "" && o.Stop.Authority() == hook.StopReason("").Authority() {
		return fmt.Errorf("no turn ends with %.60q; stop reasons are error, cancelled, denied, completed and others, which docs/openapi.yaml lists", o.Stop)
	}
	return nil
}

func (o On) matches(ev *hook.Event) bool {
	if ev.Kind != o.Kind || !strings.Contains(ev.Text, o.Text) || !like(o.Agent, ev.Agent) {
		return false
	}
	if o.Tool == "" && o.Stop == "" {
		return true
	}
	d := ev.Detail()
	return like(o.Tool, d.Tool) && (o.Stop == "" || o.Stop == d.Stop)
}

func like(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// OnEvent takes an event that a schedule waits for. It never waits: when too many events are there,
// it drops the newest and counts them. Events of a schedule's own conversation begin nothing, or
// two schedules could keep each other busy for ever.
func (s *Schedule) OnEvent(_ context.Context, ev hook.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.own[ev.Conversation] {
		return
	}
	for _, r := range s.waiting {
		if !r.On.matches(&ev) {
			continue
		}
		select {
		case s.events <- arrival{r, fmt.Sprintf("event %s %s %d.%d %d", ev.Kind, ev.Conversation, ev.Epoch, ev.Seq, ev.Time.UnixNano()), describe(&ev)}:
		default:
			s.lost++
		}
	}
}

// noteLost tells of the events that were dropped.
func (s *Schedule) noteLost() {
	s.mu.Lock()
	lost := s.lost
	s.lost = 0
	s.mu.Unlock()
	if lost > 0 {
		s.o.Note(fmt.Sprintf("%d events that schedules wait for were dropped, because they came too fast", lost))
	}
}

// arrived begins the run that an event asks for.
func (s *Schedule) arrived(ctx, runs context.Context, a arrival) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	var c *claim
	var note string
	err = s.table.write(ctx, func(tx sqldb.Tx) (err error) {
		c, note, err = s.claimRun(tx, a.row, a.key, now, now)
		return err
	})
	if note != "" {
		s.o.Note(note)
	}
	if err == nil && c != nil {
		c.prompt = a.about + "\n\n" + c.Prompt
		s.spawn(runs, *c)
	}
	return err
}

// describe returns what the agent is told of the event. The event's text is left out: it comes
// from models, pages and tools, and nobody has asked for it. Names are quoted for the same reason.
func describe(ev *hook.Event) string {
	d := ev.Detail()
	parts := []string{fmt.Sprintf("event=%q", string(ev.Kind))}
	for _, f := range [][2]string{{"agent", ev.Agent}, {"conversation", ev.Conversation}, {"turn", ev.Turn}, {"tool", d.Tool}, {"stop", string(d.Stop)}} {
		if f[1] != "" {
			parts = append(parts, fmt.Sprintf("%s=%.200q", f[0], f[1]))
		}
	}
	return "[This run was begun by an event: " + strings.Join(parts, " ") + "]"
}

func (o On) encode() (string, error) {
	text, err := json.Marshal(o)
	return string(text), err
}
