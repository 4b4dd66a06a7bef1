package term

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// JSONPrinter writes each event as a JSON object on one line, and then the outcome of the
// turn. It escapes unseen characters. It is safe for concurrent use.
type JSONPrinter struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
	// hooks is the least visibility of the hook runs that are written; "" is all.
	hooks hook.Visibility
}

// NewJSONPrinter returns a printer to out.
func NewJSONPrinter(out io.Writer) *JSONPrinter {
	enc := json.NewEncoder(screen.JSONWriter(out))
	enc.SetEscapeHTML(false)
	return &JSONPrinter{enc: enc}
}

// ShowHooks makes the printer leave out hook runs that are less visible than level, and
// returns the printer; "" leaves out none. Call it before the first event.
func (p *JSONPrinter) ShowHooks(level hook.Visibility) *JSONPrinter {
	p.hooks = level
	return p
}

// OnEvent writes the event.
func (p *JSONPrinter) OnEvent(ev hook.Event) {
	if run, ok := ev.Run(); !ok || run.Visibility.Reaches(p.hooks) {
		p.write(ev)
	}
}

// Outcome writes how the turn ended, as {"kind":"outcome",…}.
func (p *JSONPrinter) Outcome(out hook.TurnOutcome) {
	p.write(struct {
		Kind       string                        `json:"kind"`
		Stop       hook.StopReason               `json:"stop"`
		Text       string                        `json:"text"`
		Error      string                        `json:"error,omitzero"`
		Steps      int                           `json:"steps"`
		Calls      int                           `json:"calls"`
		Usage      message.Usage                 `json:"usage"`
		Cost       hook.Cost                     `json:"cost,omitzero"`
		DurationMS float64                       `json:"duration_ms"`
		Signals    message.List[hook.StopSignal] `json:"signals,omitzero"`
	}{
		Kind: "outcome", Stop: out.Stop, Text: out.Text(), Error: Cause(out), Steps: out.Steps,
		Calls: out.Calls, Usage: out.Usage, Cost: out.Cost, DurationMS: float64(out.Duration.Microseconds()) / 1000,
		Signals: out.Signals,
	})
}

// Err returns the first error of writing.
func (p *JSONPrinter) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *JSONPrinter) write(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.enc.Encode(v)
	}
}
