package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// childEnv makes the test binary the process that is killed in the middle of its work.
const childEnv = "SNAPSHOT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child takes a snapshot of the project, and restores the pair if there is one. It says when it begins.
func child(project, store string, pair []string) error {
	s, err := snapshot.Open(project, store, nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if len(pair) == 0 {
		fmt.Println("begin")
		_, _, err = s.Take(ctx)
		return err
	}
	now, _, err := s.Take(ctx)
	if err != nil {
		return err
	}
	fmt.Println("begin")
	_, err = s.Restore(ctx, now, snapshot.Pair{Before: snapshot.ID(pair[0]), After: snapshot.ID(pair[1])})
	return err
}
