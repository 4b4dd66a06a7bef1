// Package golangci makes hookvet a linter of golangci-lint, which runs in most editors. golangci-lint has no plug-ins at run time.
// Build a golangci-lint with this package by "golangci-lint custom" and this .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/grapnel-go/grapnel
//	    import: github.com/grapnel-go/grapnel/gen/hookvet/golangci
//	    version: v0.1.0
//
// And in .golangci.yml:
//
//	linters:
//	  enable: [hookvet]
//	  settings:
//	    custom:
//	      hookvet:
//	        type: module
//	        settings: {info: false}
package golangci

import (
	"fmt"
	"strconv"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/grapnel-go/grapnel/gen/vet"
)

// Name is the name of the linter in the configuration of golangci-lint.
const Name = "hookvet"

// init registers the plug-in, because a custom golangci-lint only imports the package.
func init() { register.Plugin(Name, New) }

// Settings are the linter's in .golangci.yml.
type Settings struct {
	// Info also reports problems of severity info.
	Info bool `json:"info"`
}

// New makes the linter. conf is the decoded YAML of its settings, nil for none; an unknown key is an error.
func New(conf any) (register.LinterPlugin, error) {
	s := Settings{}
	if conf != nil {
		var err error
		if s, err = register.DecodeSettings[Settings](conf); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", Name, err)
		}
	}
	return linter{s}, nil
}

type linter struct{ settings Settings }

// BuildAnalyzers implements register.LinterPlugin.
func (l linter) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	a := vet.New()
	if err := a.Flags.Set("info", strconv.FormatBool(l.settings.Info)); err != nil {
		return nil, err
	}
	return []*analysis.Analyzer{a}, nil
}

// GetLoadMode implements register.LinterPlugin.
func (linter) GetLoadMode() string { return register.LoadModeTypesInfo }
