package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/limits"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// probe finds the level by trying: a process is started in each confinement, the strongest first.
func (s *Sandbox) probe() {
	version := jail.LandlockVersion()
	s.machine.landlock = version >= 4
	s.machine.means = limits.Find()
	if os.Getuid() == 0 {
		s.machine.secrets = tools.Secrets()
	}
	s.report = Report{Level: Full, Layers: true, Limits: s.limits.String() + ": " + s.machine.means.String()}
	err := s.attempt(Grant{})
	if err != nil && strings.Contains(err.Error(), "overlay") {
		s.report.Layers = false
		err = s.attempt(Grant{})
	}
	if err == nil {
		return
	}
	s.report = Report{Level: Reduced, Why: reason(err), Remedy: remedy(err), Open: reducedOpen(), Limits: s.report.Limits}
	if version < 4 {
		s.report.Level, s.report.Open = None, []string{"everything that the user may do"}
		s.report.Why += fmt.Sprintf("; Landlock has version %d and 4 is needed", version)
		return
	}
	if err := s.attempt(Grant{}); err != nil {
		s.report.Level, s.report.Open = None, []string{"everything that the user may do"}
		s.report.Why += "; " + reason(err)
	}
}

// attempt starts a process that ends at once, with the level and the layers that the report has.
func (s *Sandbox) attempt(g Grant) error {
	slot, err := s.dirs.take(false)
	if err != nil {
		return err
	}
	defer slot.free()
	if err := slot.makeLayers(); err != nil {
		return err
	}
	spec, err := s.spec(g, slot, nil)
	if err != nil {
		return err
	}
	p, err := s.commands.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "-c", ":"}, Dir: s.project, Jail: spec})
	if err != nil {
		return err
	}
	<-p.Done()
	if code := p.Status().Shell(); code != 0 {
		return fmt.Errorf("a process in it ended with %d", code)
	}
	return nil
}

// spec returns the confinement of a process at the machine's level.
func (s *Sandbox) spec(g Grant, slot *slot, fences []guard.Fence) (*jail.Spec, error) {
	if s.report.Level == Full {
		return s.full(g, slot, fences)
	}
	return s.reduced(g, slot)
}

// confine adds to a command what the machine's level confines it by.
func (s *Sandbox) confine(c *supervisor.Command, g Grant, slot *slot, fences []guard.Fence) (err error) {
	if c.Jail, err = s.spec(g, slot, fences); err != nil {
		return err
	}
	if s.report.Level == Full {
		c.Env = append(c.Env, "TMPDIR=/tmp", tools.GoFlags(s.env, s.home))
	} else {
		c.Env = append(c.Env, s.reducedEnvironment(slot)...)
	}
	if c.Jail.Door > 0 {
		c.Env = append(c.Env, proxy.Environment(c.Jail.Door)...)
	}
	return nil
}

// reason says in one line why a confinement could not be made.
func reason(err error) string {
	var j *supervisor.JailError
	switch {
	case errors.As(err, &j) && restrictedByAppArmor():
		return "AppArmor forbids this program to mount in a namespace of its own (" + j.Step + ": " + j.Err.Error() + ")"
	case errors.As(err, &j):
		return j.Step + ": " + j.Err.Error()
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return "this machine forbids user namespaces (" + err.Error() + ")"
	}
	return err.Error()
}

func restrictedByAppArmor() bool {
	return sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1"
}

func sysctl(name string) string {
	data, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// remedy returns the commands that give the full level.
func remedy(error) []string {
	program, err := os.Executable()
	if err != nil {
		program = "/usr/local/bin/grapnel"
	}
	switch {
	case restrictedByAppArmor():
		return []string{
			"# AppArmor restricts user namespaces here. This profile lets this program, and nothing else, make them:",
			"sudo tee /etc/apparmor.d/grapnel <<'EOF'",
			"abi <abi/4.0>,", "include <tunables/global>",
			fmt.Sprintf("profile grapnel %s flags=(unconfined) {", program), "  userns,", "}", "EOF",
			"sudo apparmor_parser -r /etc/apparmor.d/grapnel",
		}
	case inContainer():
		return []string{
			"# A container engine forbids them. Start the container with these options:",
			"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …",
		}
	case sysctl("kernel/unprivileged_userns_clone") == "0":
		return []string{"# The kernel is set to refuse user namespaces to ordinary users:", "sudo sysctl -w kernel.unprivileged_userns_clone=1"}
	case sysctl("user/max_user_namespaces") == "0":
		return []string{"# The kernel is set to allow no user namespaces:", "sudo sysctl -w user.max_user_namespaces=10000"}
	}
	return []string{"# Linux 5.12 or later with user namespaces is needed"}
}

func inContainer() bool {
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return os.Getenv("container") != ""
}

// rlimits are the limits of each process. In a namespace of users the number of processes counts those in it alone, threads included,
// unless the user is root.
func (s *Sandbox) rlimits() (out []jail.Limit) {
	for _, l := range limits.Rlimits(s.limits) {
		out = append(out, jail.Limit{Resource: l.Resource, Max: l.Max})
	}
	if s.report.Level == Full {
		out = append(out, jail.Limit{Resource: unix.RLIMIT_NPROC, Max: uint64(8 * s.limits.Processes)})
	}
	return out
}
