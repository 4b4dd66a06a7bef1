package wire

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// DecodeEvent decodes the JSON of a hook.Event and ignores unknown members. A result has
// only its text, because the JSON has no more of it.
func DecodeEvent(data []byte) (ev hook.Event, err error) {
	if err = json.Unmarshal(data, &ev); err != nil {
		err = fmt.Errorf("decode an event: %w", err)
	}
	return ev, err
}
