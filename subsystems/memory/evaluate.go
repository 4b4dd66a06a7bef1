package memory

import (
	"context"
	_ "embed" // the bundled set
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

//go:embed evaluation.json
var bundledSet []byte

// evaluationSet has memories and conversations with questions about them.
type evaluationSet struct {
	Memories []struct {
		Name    string   `json:"name"`
		Content string   `json:"content"`
		Aliases []string `json:"aliases,omitempty"`
	} `json:"memories"`
	Conversations []struct {
		Name  string `json:"name"`
		Turns []struct {
			User string `json:"user"`
			// Wants are the names of memories of which one answers; without any the turn is no
			// question. Nothing: no memory answers, and none should be found.
			Wants   []string `json:"wants,omitempty"`
			Nothing bool     `json:"nothing,omitempty"`
		} `json:"turns"`
	} `json:"conversations"`
}

// Evaluation says how often recall has found what a question needs.
type Evaluation struct {
	Memories, Conversations, Questions int
	// Scoped is the first search alone, and Active with active recall behind it.
	Scoped, Active Score
	// Missed are the questions whose answer neither has found.
	Missed []string
}

// Score is the result of one way to recall.
type Score struct {
	// Hit is the share of the questions whose answer is among the first five; MRR is the mean of
	// the reciprocals of its place.
	Hit, MRR float64
	// Wrongly counts turns that no memory answers, and that got one all the same.
	Wrongly int
}

// Evaluate plays the set, or the bundled one for nil, against memories in a file of its own. It
// asks no model. The same set gives the same result.
func Evaluate(ctx context.Context, set []byte) (out Evaluation, err error) {
	if set == nil {
		set = bundledSet
	}
	data, err := message.DecodeStrict[evaluationSet](message.JSON(set))
	if err != nil {
		return out, fmt.Errorf("the set of conversations: %w", err)
	}
	dir, err := os.MkdirTemp("", "memory-eval")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.OnClose(context.WithoutCancel(ctx))) }()
	return m.evaluate(ctx, data)
}

// evaluate plays the set against new memories.
func (m *Memory) evaluate(ctx context.Context, data evaluationSet) (out Evaluation, err error) {
	s := m.fill(Section{Recall: RecallFull}, "eval")
	for _, e := range data.Memories {
		_, err := m.table.put(ctx, s.own(), entry{name: tidy(e.Name), content: e.Content, aliases: e.Aliases, kind: KindFact}, func(version) bool { return true })
		if err != nil {
			return out, err
		}
	}
	out.Memories, out.Conversations = len(data.Memories), len(data.Conversations)
	for _, c := range data.Conversations {
		var before []string
		for _, turn := range c.Turns {
			if err := m.judge(ctx, s, &out, turn.User, before, turn.Wants, turn.Nothing); err != nil {
				return out, err
			}
			before = append([]string{turn.User}, before[:min(len(before), lookBack-1)]...)
		}
	}
	if n := float64(max(1, out.Questions)); out.Questions > 0 {
		out.Scoped.Hit, out.Scoped.MRR, out.Active.Hit, out.Active.MRR = out.Scoped.Hit/n, out.Scoped.MRR/n, out.Active.Hit/n, out.Active.MRR/n
	}
	return out, nil
}

// judge recalls for one turn, as a turn with a full recall does, and adds to the evaluation.
func (m *Memory) judge(ctx context.Context, s *settings, out *Evaluation, text string, before, wants []string, nothing bool) error {
	facts, enough, err := m.table.fitting(ctx, s, text)
	if err != nil {
		return err
	}
	active := facts
	if !enough {
		queries, err := m.queries(ctx, hook.NoHost{}, s, hook.RecallPlan{}, text, before)
		if err != nil {
			return err
		}
		if active, err = m.table.further(ctx, s, queries, facts, maxHits); err != nil {
			return err
		}
	}
	switch {
	case nothing:
		out.Scoped.Wrongly += min(1, len(facts))
		out.Active.Wrongly += min(1, len(active))
	case len(wants) > 0:
		out.Questions++
		if a, b := out.Scoped.add(facts, wants), out.Active.add(active, wants); !a && !b {
			out.Missed = append(out.Missed, text)
		}
	}
	return nil
}

// add adds one question, and reports whether its answer was found.
func (sc *Score) add(found []hit, wants []string) bool {
	place := slices.IndexFunc(found, func(h hit) bool {
		return slices.ContainsFunc(wants, func(w string) bool { return key(w) == key(h.name) })
	})
	if place < 0 {
		return false
	}
	sc.Hit++
	sc.MRR += 1 / float64(place+1)
	return true
}
