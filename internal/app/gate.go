package app

import (
	"fmt"
	"strings"
	"time"
)

// gateName is the variable with the time that a hook may take that decides about a turn.
const gateName = "GRAPNEL_GATE_TIMEOUT"

// gateTimeout returns that time; 0 is the runtime's default.
func gateTimeout(getenv func(string) string) (time.Duration, error) {
	text := strings.TrimSpace(getenv(gateName))
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		return 0, fmt.Errorf("%s is %q; write a duration such as 90s, or -1s for no limit", gateName, text)
	}
	return d, nil
}
