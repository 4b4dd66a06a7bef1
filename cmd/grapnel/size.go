package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
)

// replyFlags adds the flags that bound one reply of a model.
func replyFlags(cmd *cobra.Command, to *app.ReplyLimits) {
	cmd.Flags().Var((*size)(&to.Text), "max-text", "how much text and reasoning one reply of a model may have, in bytes or as 8MiB; a longer one is cut off and the turn fails; 0 is 8MiB")
	cmd.Flags().Var((*size)(&to.Arguments), "max-arguments", "how long the arguments of the tool calls in one reply may be together, in bytes or as 8MiB; 0 is 8MiB")
}

// size is a number of bytes as a flag.
type size int

// maxSize is the largest size that a flag takes.
const maxSize = 1 << 30

// String implements pflag.Value.
func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.Itoa(int(*s))
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	for _, u := range []struct {
		suffix string
		shift  int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}} {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil || n > maxSize>>u.shift {
			break
		}
		*s = size(n << u.shift)
		return nil
	}
	return fmt.Errorf("%.20q is not a size up to 1GiB; write a number of bytes, or one followed by KiB, MiB or GiB, such as 16MiB", text)
}
