package limits

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(helperVariable); what != "" {
		os.Exit(help(what))
	}
	goleak.VerifyTestMain(m)
}
