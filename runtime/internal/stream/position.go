package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a stream: behind the event of this sequence. The zero
// Position is before the first event.
type Position struct {
	// Epoch is the epoch of the lease under which the event happened. In the stream of
	// all events it is Options.Epoch.
	Epoch int64
	Seq   uint64
}

// String returns "epoch-sequence".
func (p Position) String() string {
	return strconv.FormatInt(p.Epoch, 10) + "-" + strconv.FormatUint(p.Seq, 10)
}

// ParsePosition reads the form of String.
func ParsePosition(s string) (Position, error) {
	epoch, seq, _ := strings.Cut(s, "-")
	e, err := strconv.ParseInt(epoch, 10, 64)
	n, err2 := strconv.ParseUint(seq, 10, 64)
	p := Position{Epoch: e, Seq: n}
	if err != nil || err2 != nil || p.String() != s {
		return Position{}, fmt.Errorf("%.80q is no event id: it is the id of an event that was received, epoch-sequence in digits", s)
	}
	return p, nil
}
