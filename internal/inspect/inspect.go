// Package inspect shows what a project configures: its agents, their tools, and the
// instruction files that they get. It writes tables for people, or JSON for programs.
package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

// Tools shows the tools of an agent, those out of its scope, and the size of their schemas.
func Tools(c *console.Console, tools []app.Tool, sizes fmt.Stringer, asJSON bool) error {
	if asJSON {
		return c.JSON(tools)
	}
	in := [][]string{{"TOOL", "OWNER", "NOTES", "WHAT IT DOES"}}
	out := [][]string{{"OUT OF SCOPE", "OWNER", "NOTES", "WHY"}}
	for _, t := range tools {
		if t.OutOfScope != "" {
			out = append(out, []string{t.Name, t.Owner, t.Notes(), t.OutOfScope})
			continue
		}
		first, _, _ := strings.Cut(t.Description, "\n")
		in = append(in, []string{t.Name, t.Owner, t.Notes(), first})
	}
	return errors.Join(c.Tables(in, out), c.Say(sizes.String()))
}

// row is one agent, as JSON has it.
type row struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitzero"`
	Model       string   `json:"model,omitzero"`
	Tools       []string `json:"tools"` // null is all
	File        string   `json:"file,omitzero"`
}

func rowOf(p app.Paths, a app.Agent) row {
	return row{a.Config.Name, a.Config.Description, a.Config.Model.Name, a.Config.Tools, p.Short(a.File)}
}

// Agents shows the agents of the project.
func Agents(c *console.Console, p app.Paths, agents []app.Agent, asJSON bool) error {
	rows := make([]row, len(agents))
	table := [][]string{{"AGENT", "MODEL", "DEFINED IN", "WHAT FOR"}}
	for i, a := range agents {
		rows[i] = rowOf(p, a)
		table = append(table, []string{rows[i].Name, cmp.Or(rows[i].Model, "-"), cmp.Or(rows[i].File, "(built in)"), rows[i].Description})
	}
	if asJSON {
		return c.JSON(rows)
	}
	return c.Tables(table)
}

// file is one instruction file, as JSON has it.
type file struct {
	Path       string `json:"path"`
	ImportedBy string `json:"imported_by,omitzero"`
	Bytes      int    `json:"bytes"` // that the model gets
	Size       int    `json:"size"`
	Tokens     int64  `json:"tokens"`
	Note       string `json:"note,omitzero"`
}

// Agent shows one agent with its instruction files.
func Agent(c *console.Console, p app.Paths, d app.Description, asJSON bool) error {
	r := rowOf(p, d.Agent)
	files := make([]file, len(d.Files))
	for i, f := range d.Files {
		files[i] = file{f.Path, f.By, f.Kept, f.Size, f.Tokens(), f.Note}
	}
	if asJSON {
		return c.JSON(struct {
			row
			Instructions    []file `json:"instructions"`
			InstructionsOff string `json:"instructions_off,omitzero"`
		}{r, files, d.OffBy})
	}
	tools := "all"
	if r.Tools != nil {
		tools = cmp.Or(strings.Join(r.Tools, ", "), "none")
	}
	about := [][]string{
		{"AGENT", r.Name}, {"what for", cmp.Or(r.Description, "-")}, {"model", cmp.Or(r.Model, "-")},
		{"tools", tools}, {"defined in", cmp.Or(r.File, "(built in)")},
	}
	return c.Whole(about, instructions(files, d.OffBy)) // notes say at their end what to do
}

func instructions(files []file, offBy string) [][]string {
	table := [][]string{{"INSTRUCTIONS", "TOKENS", "IMPORTED BY", "NOTES"}}
	var total int64
	for _, f := range files {
		table = append(table, []string{f.Path, tokens(f.Tokens), cmp.Or(f.ImportedBy, "-"), cmp.Or(f.Note, "-")})
		total += f.Tokens
	}
	switch {
	case offBy != "":
		return append(table, []string{"(none)", tokens(0), "-", "turned off by " + offBy})
	case len(files) == 0:
		return append(table, []string{"(none)", tokens(0), "-", "the project has no instruction files"})
	case len(files) > 1:
		return append(table, []string{"(all)", tokens(total), "-", "-"})
	}
	return table
}

// tokens marks the number as an estimate.
func tokens(n int64) string { return fmt.Sprint("~", n) }
