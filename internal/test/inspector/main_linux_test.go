package inspector_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

var (
	programFlag = flag.String("inspector.program", "", "the program; \"\" compiles that of this module")
	updateFlag  = flag.Bool("update", false, "write docs/inspector.png")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if dir, err := made(); err == nil {
		_ = os.RemoveAll(dir)
	}
	if err := goleak.Find(goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
