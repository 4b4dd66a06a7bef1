package hook

import (
	"cmp"
	"errors"
	"strings"
	"unicode/utf8"
)

// Severity is how far an error of a hook reaches. It can make a failure weigh more than the fail
// policy says, and never less: no severity opens what a policy closes.
type Severity string

// The severities, the lightest first. An error without one is degraded.
const (
	// SeveritySilent: as degraded, but only hooks hear of it, such as an operator's log. Where the
	// policy is closed it is told like any other.
	SeveritySilent Severity = "silent"
	// SeverityDegraded: the fail policy of the point decides, and clients hear of it.
	SeverityDegraded Severity = "degraded"
	// SeverityConversation: the operation fails, also where the policy is open: a contributor or
	// a rewriter ends the turn, and a gate gives the answer of its closed policy.
	SeverityConversation Severity = "conversation"
	// SeverityFatal: as conversation, and the agent begins no more turns until it is updated or
	// registered again.
	SeverityFatal Severity = "fatal"
)

// Error is an error of a hook that says how far it reaches, and what everybody may read of it. A
// hook returns it like any error, also wrapped. Observers have no operation that could fail: of
// theirs only silent and fatal have an effect.
type Error struct {
	Severity Severity
	// Public is for clients, models and the log of events: it must not quote secrets. "" is the
	// place of the failure alone. At most 300 bytes in one line are shown.
	Public string
	// Err is the cause. Only hooks see it.
	Err error
}

// Error returns the cause, or the public text if there is none.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return cmp.Or(e.Public, "the hook failed")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// SeverityOf returns the severity of an error: that of the outermost Error in it. It is degraded
// without one, and with a severity that does not exist.
func SeverityOf(err error) Severity {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return SeverityDegraded
	}
	switch e.Severity {
	case SeveritySilent, SeverityConversation, SeverityFatal:
		return e.Severity
	}
	return SeverityDegraded
}

// Closes reports whether an operation fails with this severity whatever the fail policy is.
func (s Severity) Closes() bool { return s == SeverityConversation || s == SeverityFatal }

// maxPublic bounds the public text of an error.
const maxPublic = 300

// publicText returns the text that the error's hook gives to everybody, in one line.
func publicText(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	text := strings.Join(strings.Fields(strings.ToValidUTF8(e.Public, "\uFFFD")), " ")
	if len(text) <= maxPublic {
		return text
	}
	n := maxPublic
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
