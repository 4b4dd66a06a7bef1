package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
)

func (c *command) showAgent() *cobra.Command {
	var p place
	var above app.Settings
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one agent, and the project's instruction files that it gets",
		Long: "Shows one agent: its file, its model, and the instruction files of the project (AGENTS.md, CLAUDE.md, …) that are in its\n" +
			"prompt, in their order there, each with its estimated tokens, who imports it, and what is cut; then the files that are\n" +
			"left out, and why. Nothing is started.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("agents show takes the name of one agent, but got %d arguments; `grapnel agents` lists them", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			return c.describe(cmd.Context(), app.Options{Paths: paths, Note: c.Note, Set: above}, args[0], p.json)
		},
	}
	p.flags(cmd)
	setFlag(cmd, &above)
	return cmd
}

// shownFile is one instruction file, as --json writes it.
type shownFile struct {
	Path       string `json:"path"`
	ImportedBy string `json:"imported_by,omitzero"`
	Bytes      int    `json:"bytes"`
	Size       int    `json:"size"`
	Tokens     int64  `json:"tokens"`
	Note       string `json:"note,omitzero"`
}

func (c *command) describe(ctx context.Context, o app.Options, name string, asJSON bool) error {
	d, err := app.Describe(ctx, o, name)
	if err != nil {
		return err
	}
	files := make([]shownFile, len(d.Files))
	var total int64
	for i, f := range d.Files {
		files[i] = shownFile{f.Path, f.By, f.Kept, f.Size, f.Tokens(), f.Note}
		total += f.Tokens()
	}
	cfg := d.Agent.Config
	if asJSON {
		return c.JSON(struct {
			Name            string      `json:"name"`
			Description     string      `json:"description,omitzero"`
			Model           string      `json:"model,omitzero"`
			Tools           []string    `json:"tools"` // null is all
			File            string      `json:"file,omitzero"`
			Instructions    []shownFile `json:"instructions"`
			InstructionsOff string      `json:"instructions_off,omitzero"`
		}{cfg.Name, cfg.Description, cfg.Model.Name, cfg.Tools, o.Paths.Short(d.Agent.File), files, d.OffBy})
	}
	tools := "all"
	if cfg.Tools != nil {
		tools = cmp.Or(strings.Join(cfg.Tools, ", "), "none")
	}
	about := [][]string{{"AGENT", cfg.Name}, {"what for", cmp.Or(cfg.Description, "-")}, {"model", cmp.Or(cfg.Model.Name, "-")},
		{"tools", tools}, {"defined in", cmp.Or(o.Paths.Short(d.Agent.File), "(built in)")}}
	table := [][]string{{"INSTRUCTIONS", "TOKENS", "IMPORTED BY", "NOTES"}}
	for _, f := range files {
		table = append(table, []string{f.Path, fmt.Sprint("~", f.Tokens), cmp.Or(f.ImportedBy, "-"), cmp.Or(f.Note, "-")})
	}
	switch {
	case d.OffBy != "":
		table = append(table, []string{"(none)", "~0", "-", "turned off by " + d.OffBy})
	case len(files) == 0:
		table = append(table, []string{"(none)", "~0", "-", "the project has no instruction files"})
	case len(files) > 1:
		table = append(table, []string{"(all)", fmt.Sprint("~", total), "-", "-"})
	}
	return c.Tables(about, table)
}
