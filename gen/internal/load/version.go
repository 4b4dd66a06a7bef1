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

// goVersion asks the go command which one it is in dir, where a go.mod may have made it another. It does so beside other work: the
// returned function waits for the answer, which is "" where there is none.
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

// WrongGo returns the problem of a generator that was built with an older Go than the one that the module is built with: it cannot
// read that one's export data and does not know its language. nil if there is none, or if one of them is no release.
func WrongGo(built, uses string) *diag.Problem {
	release, _, _ := strings.Cut(built, " ") // behind it are experiments
	mine, theirs := version.Lang(release), version.Lang(uses)
	if mine == "" || theirs == "" || version.Compare(mine, theirs) >= 0 {
		return nil
	}
	p := diag.New(diag.OldGo, token.Position{}, "", built, uses)
	return &p
}
