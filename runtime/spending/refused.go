package spending

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// RefusedError says why a request to a model was not made. It is hook.ErrBudget for errors.Is.
type RefusedError struct {
	// Limit is the name of the limit: turn, day, project.day, project.total, token.day,
	// token.total, or unknown for a model without a price.
	Limit string
	// Spent is what was spent of Max, Reserved what requests that run may cost.
	Spent, Reserved, Max hook.Cost
	text                 string
}

// Error says which limit is reached, when there is room again, and what to change.
func (e *RefusedError) Error() string { return e.text }

// Is makes it hook.ErrBudget.
func (e *RefusedError) Is(target error) bool { return target == hook.ErrBudget }

// Figures returns the amounts in dollars as a JSON object, for programs.
func (e *RefusedError) Figures() message.JSON {
	text, err := json.Marshal(struct {
		Limit    string  `json:"limit"`
		Cost     float64 `json:"currentCost"`
		Reserved float64 `json:"reservedCost,omitzero"`
		Max      float64 `json:"maxCost,omitzero"`
	}{e.Limit, e.Spent.Dollars(), e.Reserved.Dollars(), e.Max.Dollars()})
	if err != nil {
		return "" // there are no other numbers than finite ones
	}
	return message.JSON(text)
}

// refused turns the error of a limit into a [*RefusedError].
func (l *Ledger) refused(err error) error {
	reached, ok := errors.AsType[*store.LimitError](err)
	if !ok {
		return fmt.Errorf("spending: the limits cannot be checked, so no model is asked: %w", err)
	}
	e := &RefusedError{Limit: reached.Limit.Name, Spent: reached.Spent, Reserved: reached.Reserved, Max: reached.Limit.Max}
	key := e.Limit
	token := ""
	if reached.Limit.Token != nil {
		token = *reached.Limit.Token
	}
	if _, named := l.o.Limits.Tokens[token]; named && token != "" {
		key = "tokens." + token + strings.TrimPrefix(key, "token")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "spending limit reached: %s spent", e.Spent)
	if e.Reserved > 0 {
		fmt.Fprintf(&text, " and up to %s in use by requests that run (%d)", e.Reserved, reached.Running)
	}
	fmt.Fprintf(&text, ", of %s for %s; %s; raise %s", e.Max, purpose(e.Limit, token), l.room(e), l.where(key))
	e.text = text.String()
	return e
}

// purpose says what the limit bounds.
func purpose(limit, token string) string {
	switch limit {
	case nameTurn:
		return "one turn"
	case nameDay:
		return "today in all projects"
	case nameProjectDay:
		return "today in this project"
	case nameProjectTotal:
		return "this project"
	case nameTokenDay:
		return fmt.Sprintf("today for the token %q", token)
	}
	return fmt.Sprintf("the token %q", token)
}

// room says when there is room again.
func (l *Ledger) room(e *RefusedError) string {
	switch {
	case e.Spent < e.Max:
		return "there may be room when these have ended"
	case e.Limit == nameTurn:
		return "the next turn begins at $0"
	case strings.HasSuffix(e.Limit, nameDay):
		now := l.o.Now()
		y, m, d := now.Date()
		return "it begins anew at " + time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Format("2006-01-02 15:04 MST")
	}
	return "it counts all time and does not begin anew"
}

// where says what to change.
func (l *Ledger) where(key string) string {
	if l.o.Limits.Source == "" {
		return key + " in spending.Limits"
	}
	return "spending." + key + " in " + l.o.Limits.Source
}

// unknownPrice refuses a model without a price.
func (l *Ledger) unknownPrice(model string) error {
	source := l.o.Limits.Source
	if source == "" {
		source = "spending.Limits"
	}
	return &RefusedError{Limit: nameUnknown, text: fmt.Sprintf(
		"there is no price for the model %q, and %s refuses such models; give it a price, or write `unknown: allow` there", model, source)}
}
