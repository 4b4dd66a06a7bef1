package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// member is one member of a JSON object, in the order of the text.
type member struct {
	key   string
	value json.RawMessage
}

// members returns the members of an object; nil for anything else.
func members(args message.JSON) []member {
	dec := json.NewDecoder(strings.NewReader(string(args)))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var out []member
	for dec.More() {
		tok, err := dec.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			return nil
		}
		m := member{key: key}
		if dec.Decode(&m.value) != nil {
			return nil
		}
		out = append(out, m)
	}
	return out
}

// plain returns a JSON value for people: a string without its quotes.
func plain(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && bytes.HasPrefix(v, []byte(`"`)) {
		return s
	}
	return string(v)
}

// Summary returns a call's arguments on one line of at most width characters: a single
// argument as its value, several as "key=value".
func Summary(args message.JSON, width int) screen.Text {
	ms := members(args)
	if len(ms) == 1 {
		return line(plain(ms[0].value), width)
	}
	parts := make([]string, len(ms))
	for i, m := range ms {
		parts[i] = m.key + "=" + line(plain(m.value), 40).String()
	}
	if ms == nil && args != "" && args != "{}" {
		parts = []string{string(args)}
	}
	return line(strings.Join(parts, " "), width)
}

// Cause returns in one sentence why a turn ended without an answer; "" if it completed. It
// leaves out the text of a hook's failure, which may quote secrets.
func Cause(out hook.TurnOutcome) string {
	var failure *hook.Failure
	switch {
	case out.Stop == hook.StopCompleted:
		return ""
	case out.Stop == hook.StopNoAction:
		return "stopped: the model neither said nor did anything"
	case out.Stop == hook.StopCancelled, out.Stop == hook.StopUserRequested:
		return "cancelled; what had finished is kept in the conversation"
	case errors.As(out.Err, &failure):
		return "the turn failed: " + failure.Public()
	case out.Err != nil:
		return "the turn failed: " + out.Err.Error()
	}
	for _, s := range out.Signals.All() {
		if s.Reason == out.Stop && s.Text != "" {
			return fmt.Sprintf("stopped: %s", s.Text)
		}
	}
	return fmt.Sprintf("stopped: %s", out.Stop)
}
