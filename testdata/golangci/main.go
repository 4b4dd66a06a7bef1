// Command golangci is golangci-lint with hookvet in it, as "golangci-lint custom" would build it.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	_ "github.com/grapnel-go/grapnel/gen/hookvet/golangci"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{GoVersion: runtime.Version(), Version: "custom"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitcodes.Failure)
	}
}
