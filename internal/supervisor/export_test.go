//go:build unix

package supervisor

import "time"

// NewImpatientForTest returns a supervisor that waits this long for an answer.
func NewImpatientForTest(patience time.Duration) *Supervisor { return &Supervisor{patience: patience} }
