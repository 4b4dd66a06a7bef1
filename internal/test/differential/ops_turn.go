package differential

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// sessionOps are the calls about sessions, the end of turns and compactions.
func sessionOps() []Op {
	return []Op{
		{"OnSessionStart", func(w World, _ string) string {
			_, turn, _ := w.places()
			session := turn.Session()
			d, err := w.F.(hook.OnSessionStart).OnSessionStart(context.Background(), session)
			return show(d.Verdict(), err, d.Context().Slice())
		}},
		{"OnSessionEnd", func(w World, _ string) string {
			_, turn, _ := w.places()
			w.F.(hook.OnSessionEnd).OnSessionEnd(context.Background(), turn.Session())
			return ""
		}},
		{"BeforeTurn", func(w World, arg string) string {
			_, turn, _ := w.places()
			d, err := w.F.(hook.BeforeTurn).BeforeTurn(context.Background(), turn, message.TextInput(arg))
			return show(d.Verdict(), err, d.Text())
		}},
		{"OnStop", func(w World, arg string) string {
			_, turn, _ := w.places()
			d, err := w.F.(hook.OnStop).OnStop(context.Background(), turn, hook.Stopping{Continued: len(arg)})
			return show(d.Verdict(), err)
		}},
		{"OnTurnError", func(w World, _ string) string {
			_, turn, _ := w.places()
			d, err := w.F.(hook.OnTurnError).OnTurnError(context.Background(), turn, hook.TurnOutcome{})
			return show(d.Verdict(), err, d.Output())
		}},
		{"BeforeCompaction", func(w World, _ string) string {
			_, turn, _ := w.places()
			conversation := turn.Conversation()
			d, err := w.F.(hook.BeforeCompaction).BeforeCompaction(context.Background(), conversation, hook.Compaction{})
			return show(d.Verdict(), err, d.Hints().Slice(), d.Summary())
		}},
		{"AfterCompaction", func(w World, arg string) string {
			_, turn, _ := w.places()
			w.F.(hook.AfterCompaction).AfterCompaction(context.Background(), turn.Conversation(), hook.Compacted{Summary: arg})
			return ""
		}},
	}
}

// contributedOps are the calls at contributing points.
func contributedOps() []Op {
	return []Op{
		{"TurnPolicy", func(w World, _ string) string {
			_, turn, _ := w.places()
			all, err := w.F.(hook.TurnPolicy).TurnPolicy(context.Background(), turn)
			return contributed(all, err)
		}},
		{"TurnContext", func(w World, _ string) string {
			_, turn, _ := w.places()
			all, err := w.F.(hook.TurnContext).TurnContext(context.Background(), turn)
			return contributed(all, err)
		}},
		{"RefineContext", func(w World, _ string) string {
			_, turn, _ := w.places()
			all, err := w.F.(hook.RefineContext).RefineContext(context.Background(), turn)
			return contributed(all, err)
		}},
		{"TurnTools", func(w World, _ string) string {
			_, turn, _ := w.places()
			all, err := w.F.(hook.TurnTools).TurnTools(context.Background(), turn)
			return contributed(all, err)
		}},
		{"PromptSections", func(w World, _ string) string {
			_, turn, _ := w.places()
			all, err := w.F.(hook.PromptSections).PromptSections(context.Background(), turn)
			return contributed(all, err)
		}},
	}
}

func contributed[T any](all []T, err error) string {
	return fmt.Sprintf("%+v %v%s", all, err, failure(err))
}

// stepOps are the calls about steps and what goes wrong in them.
func stepOps() []Op {
	return []Op{
		{"BeforeStep", func(w World, _ string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.BeforeStep).BeforeStep(context.Background(), step)
			return show(d.Verdict(), err, d.Verdict().Stop)
		}},
		{"AfterStep", func(w World, _ string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.AfterStep).AfterStep(context.Background(), step, hook.StepOutcome{})
			return show(d.Verdict(), err, d.Verdict().Stop)
		}},
		{"OnModelError", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.OnModelError).OnModelError(context.Background(), step, message.ModelFailure{Model: arg})
			return show(d.Verdict(), err, d.After(), d.Model(), d.Reply().Model)
		}},
		{"OnInvalidTool", func(w World, arg string) string {
			_, _, step := w.places()
			d, err := w.F.(hook.OnInvalidTool).OnInvalidTool(context.Background(), step, hook.InvalidCall{Reason: arg})
			return show(d.Verdict(), err, d.Args(), d.Name())
		}},
	}
}
