package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

func TestMain(m *testing.M) {
	if play := os.Getenv("SANDBOX_TEST_MACHINE"); play != "" {
		os.Exit(machine(play))
	}
	goleak.VerifyTestMain(m)
}

// seen is what a process on another machine finds.
type seen struct {
	Report   sandbox.Report
	Confined bool
	Why      string
	// Out is what a command printed, and Err why it did not run.
	Out, Err string
}

// machine makes this process, and all that it starts, one on a machine that forbids something, and prints what it finds.
func machine(forbids string) int {
	refuse := seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	var groups []seccomp.SyscallGroup
	newUser := seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_NEWUSER}}
	noUsers := []seccomp.SyscallGroup{
		{NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone", Conditions: newUser}, {Name: "unshare", Conditions: newUser}}, Action: refuse},
		{Names: []string{"clone3"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
	}
	switch forbids {
	case "users":
		groups = noUsers
	case "mounts":
		groups = []seccomp.SyscallGroup{{Names: []string{"mount", "fsopen", "fsmount", "open_tree", "move_mount"}, Action: refuse}}
	case "everything":
		groups = append(noUsers, seccomp.SyscallGroup{Names: []string{"landlock_create_ruleset"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)})
	}
	var err error
	if len(groups) > 0 {
		err = seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups}})
	}
	if err != nil {
		panic(err)
	}
	s, err := sandbox.New(sandbox.Options{Project: os.Getenv("PROJECT"), State: os.Getenv("STATE"), Environ: os.Environ()})
	if err != nil {
		panic(err)
	}
	var out seen
	out.Report = s.Report()
	out.Confined, out.Why = s.Confines()
	file, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	script := `cat ~/.ssh/id; echo x > ` + filepath.Join(os.Getenv("HOME"), "written") + `; echo inside > x && cat x; exec 3<>/dev/tcp/127.0.0.1/1`
	p, err := s.Start(sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Stdout: file, Stderr: file}, sandbox.Grant{})
	if err == nil {
		<-p.Done()
		text, _ := os.ReadFile(file.Name())
		out.Out = string(text)
	} else {
		out.Err = err.Error()
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
	return 0
}

// TestLevels forces each level, by a filter of system calls that forbids what machines forbid.
func TestLevels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		forbids string
		level   sandbox.Level
		why     string
	}{
		{"nothing", sandbox.Full, ""},
		{"users", sandbox.Reduced, "user namespaces"},
		{"mounts", sandbox.Reduced, "mount"},
		{"everything", sandbox.None, "Landlock has version 0"},
	} {
		t.Run(tt.forbids, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(t, filepath.Join(p.home, ".ssh", "id"), "KEY")
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "SANDBOX_TEST_MACHINE="+tt.forbids, "PROJECT="+p.project, "STATE="+filepath.Join(p.outside, "state"), "HOME="+p.home, "TMPDIR="+p.outside)
			text, err := cmd.Output()
			require.NoError(t, err)
			var got seen
			require.NoError(t, json.Unmarshal(text, &got), string(text))
			require.Equal(t, tt.level, got.Report.Level, got.Report)
			assert.Empty(t, got.Err)
			assert.Contains(t, got.Report.Why, tt.why)
			assert.Equal(t, tt.level == sandbox.Full, got.Confined)
			assert.Contains(t, got.Out, "inside\n")
			if tt.level == sandbox.Full {
				return
			}
			assert.NotEmpty(t, got.Report.Remedy)
			assert.NotEmpty(t, got.Report.Open)
			assert.Contains(t, got.Why, "grapnel sandbox explain")
			if tt.level == sandbox.Reduced {
				assert.NotContains(t, got.Out, "KEY")
				assert.NoFileExists(t, filepath.Join(p.home, "written"))
				assert.NotContains(t, got.Out, "refused", "a socket was made")
			} else {
				assert.Contains(t, got.Out, "KEY")
			}
		})
	}
}
