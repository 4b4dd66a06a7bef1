package event

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Digest returns the SHA-256, in hex, by which a hook run tells a value: of the
// text if it is JSON, else of what encoding/json writes; "" for a value that
// cannot be written.
func Digest[T any](v T) string {
	text, ok := any(v).(message.JSON)
	data := []byte(text)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			return ""
		}
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
