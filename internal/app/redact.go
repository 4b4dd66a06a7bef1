package app

import (
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/runtime"
)

// redaction is the section redact of config.yaml.
type redaction struct {
	// Secrets masks secrets, Personal also personal data.
	Secrets  bool `json:"secrets"`
	Personal bool `json:"personal"`
}

// redactor returns what masks secrets; nil if the user's settings do not say so.
func redactor(conf config.Config) (*redact.Redactor, error) {
	if conf.Redact == "" {
		return nil, nil
	}
	all := hook.AgentConfig{}.WithSection("redact", conf.Redact)
	s, _, err := hook.SectionOf[redaction](&all, "redact")
	switch {
	case err != nil:
		return nil, fmt.Errorf("~/.grapnel/config.yaml: %w", err)
	case s.Personal && !s.Secrets:
		return nil, errors.New("~/.grapnel/config.yaml: redact: personal data are masked together with secrets: write secrets: true as well")
	case !s.Secrets:
		return nil, nil
	}
	return redact.New(&redact.Options{Personal: s.Personal}), nil
}

// Redactor returns what masks secrets for people; nil if the user's settings do not say so. While
// the settings are wrong nothing is opened, since it is not known what to mask.
func (p Paths) Redactor() (*redact.Redactor, error) {
	conf, err := p.Config()
	if err != nil {
		return nil, err
	}
	return redactor(conf)
}

// masker is r for the runtime, which knows no nil redactor.
func masker(r *redact.Redactor) runtime.Masker {
	if r == nil {
		return nil
	}
	return r
}

// maskText is r for a subsystem; nil if nothing is masked.
func maskText(r *redact.Redactor) func(string) string {
	if r == nil {
		return nil
	}
	return r.Text
}
