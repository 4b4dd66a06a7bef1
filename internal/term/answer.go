package term

import (
	"encoding/json"
	"io"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// AnswerPrinter is a [Shower] of an answer that is JSON: it prints the answer and nothing else.
// Why there is none goes elsewhere.
type AnswerPrinter struct{ out, why io.Writer }

// NewAnswerPrinter returns a printer of the answer to out, and of a failure to why.
func NewAnswerPrinter(out, why io.Writer) *AnswerPrinter { return &AnswerPrinter{out, why} }

// OnEvent implements Shower.
func (*AnswerPrinter) OnEvent(hook.Event) {}

// Outcome implements Shower.
func (p *AnswerPrinter) Outcome(out hook.TurnOutcome) {
	cause := Cause(out)
	if cause == "" {
		enc := json.NewEncoder(screen.JSONWriter(p.out))
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(json.RawMessage(out.Text()))
		if err == nil {
			return
		}
		cause = "the answer cannot be written: " + err.Error()
	}
	_ = screen.New(p.why).Print(screen.Format("grapnel: %s\n", screen.Rows(cause))) // if that fails, nobody can read it
}
