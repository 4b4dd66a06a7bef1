package river_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childVariable); dsn != "" {
		runChild(dsn)
		return
	}
	goleak.VerifyTestMain(m)
}
