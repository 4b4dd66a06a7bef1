package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// ErrKey: the [Key] is not valid.
var ErrKey = errors.New("store: no conversation can have that name")

// MaxSender is the maximum length of a sender, in bytes.
const MaxSender = 256

// Check returns an ErrKey unless a new conversation may have the key. Stores call it for new
// conversations; existing ones may have any key.
//
// The agent's name must be valid by message.ValidToolName. The sender has at most MaxSender
// bytes of UTF-8, no invisible character and no blank at its ends, because lists, questions
// and logs show it.
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
