package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// processes start the processes of all subsystems: commands in the sandbox, and what the user's own settings start without one.
type processes struct {
	commands *supervisor.Supervisor
	sandbox  *sandbox.Sandbox
}

// confinement is the section sandbox of config.yaml.
type confinement struct {
	// Mode is read-only, project or unrestricted.
	Mode sandbox.Mode `json:"mode"`
}

// mode returns the mode that the flag, or else the section sandbox of the user's settings says; "" is neither.
func mode(option string, section message.JSON) (sandbox.Mode, error) {
	switch option {
	case "off", string(sandbox.Unrestricted):
		return sandbox.Unrestricted, nil
	case string(sandbox.ReadOnly), string(sandbox.Project):
		return sandbox.Mode(option), nil
	case "":
	default:
		return "", fmt.Errorf("--sandbox: there is no mode %q; write read-only, project, or off", option)
	}
	all := hook.AgentConfig{}.WithSection("sandbox", section)
	if section == "" {
		return sandbox.Project, nil
	}
	s, _, err := hook.SectionOf[confinement](&all, "sandbox")
	switch {
	case err != nil:
		return "", fmt.Errorf("~/.grapnel/config.yaml: %w", err)
	case s.Mode == "", s.Mode == sandbox.ReadOnly, s.Mode == sandbox.Project, s.Mode == sandbox.Unrestricted:
		return s.Mode, nil
	}
	return "", fmt.Errorf("~/.grapnel/config.yaml: sandbox: there is no mode %q; write read-only, project, or unrestricted", s.Mode)
}

// confine makes the sandbox.
func (p *processes) confine(o Options, conf config.Config) (err error) {
	p.sandbox, err = o.Paths.sandbox(o.Sandbox, conf, p.commands, o.Note)
	if err == nil && p.sandbox.Mode() == sandbox.Unrestricted {
		o.Note("DANGEROUS: the sandbox is off: a command that runs can do whatever you can do")
	}
	return err
}

func (p Paths) sandbox(option string, conf config.Config, commands *supervisor.Supervisor, note func(string)) (*sandbox.Sandbox, error) {
	m, err := mode(option, conf.Sandbox)
	if err != nil {
		return nil, err
	}
	return sandbox.New(sandbox.Options{
		Project: p.Root, State: filepath.Join(p.State, "sandbox"), Hidden: []string{p.userState()}, Readable: p.skillDirs(), Environ: os.Environ(), Mode: m, Note: note,
		Supervisor: commands, Strict: p.Owner != "",
	})
}

// Sandbox returns the sandbox of the project, with a supervisor of its own. The caller closes it.
func (p Paths) Sandbox(option string) (*sandbox.Sandbox, error) {
	conf, err := p.Config()
	if err != nil {
		return nil, err
	}
	return p.sandbox(option, conf, nil, nil)
}

// Confinement says what commands of agents can change, read and reach.
func (a *App) Confinement() (sandbox.Explanation, error) {
	return a.processes.sandbox.Explain(sandbox.Grant{})
}

func (p *processes) close() error {
	if p.sandbox == nil {
		return p.commands.Close()
	}
	return errors.Join(p.sandbox.Close(), p.commands.Close())
}
