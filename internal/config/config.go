// Package config reads config.yaml: the user's default model, vendors, limits of spending, audit, redact, sandbox, retention
// and tenants.
//
//	model: anthropic:claude-sonnet
//	vendors:
//	  anthropic: {key: {command: [op, read, "op://private/anthropic/key"]}}
//	  openai: {key: {keyring: openai}, first_byte_timeout: 2m}
//	  lab: {preset: vllm, base_url: "http://127.0.0.1:8000/v1"}
//
// The file is the user's alone: whoever writes it says which commands run and where keys go.
// A project's file of that name has spending only.
package config

import (
	"errors"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// Config is what the file says. The zero value is an empty file.
type Config struct {
	// Model is the model, with its settings, of agents that name none.
	Model message.Model
	// Vendors are the settings of vendors by name.
	Vendors map[string]Vendor
	// Spending is the section of that name as JSON; "" is none.
	Spending message.JSON
	// Audit is the section of that name as JSON, of all agents; "" is none.
	Audit message.JSON
	// Redact is the section of that name as JSON: what is masked; "" is none.
	Redact message.JSON
	// Sandbox is the section of that name as JSON: what commands may do; "" is none.
	Sandbox message.JSON
	// Retention is the section of that name as JSON: how long conversations are kept; "" is for ever.
	Retention message.JSON
	// Tenants is the section of that name as JSON: what the owners of tokens may use; "" is no limits.
	Tenants message.JSON

	file string
	// at has the values of the file by their keys.
	at map[string]*yaml.Node
}

// Problem returns a problem with the value of a key that was found later. Its place is the
// line of the value, or else the whole file.
func (c *Config) Problem(key, what, fix string) agentfile.Problem {
	p := agentfile.Problem{File: c.file, What: what, Fix: fix}
	if n := c.at[key]; n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// Load reads the user's file; a file that does not exist, or "", is an empty one. known are
// the vendors of the program. It is an error if others than the user can write the file, and
// one with all mistakes in it if there are any.
func Load(file string, known []string) (Config, error) {
	if file == "" {
		return Config{}, nil
	}
	data, err := conffile.Read(file, &conffile.Options{Private: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Config{}, nil
	case err != nil:
		return Config{}, err
	}
	return Parse(file, data, known)
}

// Parse is Load for the text of the file, which is named so in messages.
func Parse(file string, data []byte, known []string) (Config, error) {
	r := &reader{known: known, Config: Config{file: file, at: map[string]*yaml.Node{}}}
	r.document(data, map[string]func(*yaml.Node){
		"model":    func(v *yaml.Node) { r.Model = agentfile.Model(&r.fields, v) },
		"vendors":  r.vendors,
		"spending": func(v *yaml.Node) { r.Spending = r.section("spending", v) },
		"audit":    func(v *yaml.Node) { r.Audit = r.section("audit", v) },
		"redact":   func(v *yaml.Node) { r.Redact = r.section("redact", v) },
		"sandbox":  func(v *yaml.Node) { r.Sandbox = r.section("sandbox", v) },

		"retention": func(v *yaml.Node) { r.Retention = r.section("retention", v) },
		"tenants":   func(v *yaml.Node) { r.Tenants = r.section("tenants", v) },
	})
	if err := r.wrong.Err(); err != nil {
		return Config{}, err
	}
	return r.Config, nil
}

// LoadProject reads a project's file, which lies within the project, and returns its section
// spending. It is an error if the file has a key that is only the user's.
func LoadProject(file, within string) (Config, error) {
	data, err := conffile.Read(file, &conffile.Options{Within: within})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Config{}, nil
	case err != nil:
		return Config{}, err
	}
	return ParseProject(file, data)
}

// ParseProject is LoadProject for the text of the file.
func ParseProject(file string, data []byte) (Config, error) {
	r := &reader{Config: Config{file: file, at: map[string]*yaml.Node{}}}
	mine := func(v *yaml.Node) {
		r.wrongAt(v, "a project cannot set this: its file has spending only", "write it in ~/.grapnel/config.yaml")
	}
	r.document(data, map[string]func(*yaml.Node){"model": mine, "vendors": mine, "audit": mine, "redact": mine, "sandbox": mine, "retention": mine, "tenants": mine, "spending": func(v *yaml.Node) { r.Spending = r.section("spending", v) }})
	if err := r.wrong.Err(); err != nil {
		return Config{}, err
	}
	return r.Config, nil
}

// reader collects the values and mistakes of one file.
type reader struct {
	Config
	known  []string
	fields yamldoc.Reader
	wrong  agentfile.Problems
}

func (r *reader) wrongAt(n *yaml.Node, what, fix string) {
	r.wrong = append(r.wrong, agentfile.Problem{File: r.file, Line: n.Line, Column: n.Column, What: what, Fix: fix})
}

func (r *reader) document(data []byte, keys map[string]func(*yaml.Node)) {
	r.fields.Wrong = r.wrongAt
	top, err := yamldoc.Parse(data)
	if e, bad := errors.AsType[*yamldoc.Error](err); bad {
		r.wrong = append(r.wrong, agentfile.Problem{File: r.file, Line: e.Line, Column: e.Column, What: "the file " + e.What, Fix: e.Fix})
		return
	}
	switch {
	case top == nil:
		return
	case top.Kind != yaml.MappingNode:
		r.wrongAt(top, "the file is no mapping", "write `key: value` lines")
		return
	}
	for name, read := range keys {
		keys[name] = func(v *yaml.Node) {
			r.at[name] = v
			read(v)
		}
	}
	r.fields.Members(top, "key", keys)
}

// section returns a section as JSON.
func (r *reader) section(name string, v *yaml.Node) message.JSON {
	if v.Kind != yaml.MappingNode {
		r.wrongAt(v, name+" is no mapping", "write `"+name+": {key: value}`")
		return ""
	}
	return message.JSON(r.fields.JSON(v))
}
