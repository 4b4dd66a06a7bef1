package load

import (
	"bytes"
	"context"
	"go/token"
	"go/version"
	"os/exec"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// goVersion asks the go command for its version in dir, where a go.mod may select another one. It runs concurrently; the returned
// function waits and returns "" if that failed.
func goVersion(ctx context.Context, dir string) (wait func() string) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout = dir, &out
	if err := cmd.Start(); err != nil {
		return func() string { return "" } // listing fails too, and says why
	}
	return func() string {
		if err := cmd.Wait(); err != nil {
			return ""
		}
		return strings.TrimSpace(out.String())
	}
}

// WrongGo returns the problem of a generator that was built with an older Go than the module uses: it can read neither its export
// data nor its language. It returns nil if there is none, or if one of them is no release.
func WrongGo(built, uses string) *diag.Problem {
	release, _, _ := strings.Cut(built, " ") // behind it are experiments
	mine, theirs := version.Lang(release), version.Lang(uses)
	if mine == "" || theirs == "" || version.Compare(mine, theirs) >= 0 {
		return nil
	}
	p := diag.New(diag.OldGo, token.Position{}, "", built, uses)
	return &p
}
