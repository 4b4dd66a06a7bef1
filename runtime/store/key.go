package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// ErrKey: no conversation can have that [Key].
var ErrKey = errors.New("store: no conversation can have that name")

// MaxSender is the length of a sender at most, in bytes.
const MaxSender = 256

// Check returns an error that is ErrKey unless a conversation may begin under the key.
// Stores call it whenever one does, and so nobody else needs to. One that is there
// already stays whatever its key is.
//
// The agent's name is one that message.ValidToolName takes. The sender has at most MaxSender
// bytes of UTF-8, no character that a person cannot see and no blank at its ends: it stands
// in lists, in questions and in logs.
func (k Key) Check() error {
	switch odd := character.Odd(k.Sender); {
	case !message.ValidToolName(k.Agent):
		return fmt.Errorf("%w: the agent %.80q has to match ^[a-zA-Z0-9_-]{1,64}$", ErrKey, k.Agent)
	case len(k.Sender) > MaxSender:
		return fmt.Errorf("%w: the sender has %d bytes, and may have %d; give a shorter one", ErrKey, len(k.Sender), MaxSender)
	case odd != "":
		return fmt.Errorf("%w: the sender has the character %s, which cannot be seen; give one without it", ErrKey, odd)
	case strings.TrimSpace(k.Sender) != k.Sender:
		return fmt.Errorf("%w: the sender %q begins or ends with a blank, which a list does not show; give one without it", ErrKey, k.Sender)
	}
	return nil
}
