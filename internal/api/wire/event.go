package wire

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// DecodeEvent reads an event as hook.Event writes it; unknown members are passed
// over. A result comes back as its text, which is all that the wire has of it.
func DecodeEvent(data []byte) (ev hook.Event, err error) {
	if err = json.Unmarshal(data, &ev); err != nil {
		err = fmt.Errorf("decode an event: %w", err)
	}
	return ev, err
}
