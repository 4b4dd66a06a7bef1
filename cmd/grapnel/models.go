package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/models"
)

func (c *command) models() *cobra.Command {
	var asJSON bool
	l := models.List{}
	cmd := &cobra.Command{
		Use:   "models [TEXT]",
		Short: "List the models that your keys can use, and what they cost",
		Long: "Lists the models of the vendors for which there is a key: what each takes and costs, as its vendor or another public\n" +
			"source says, and \"unknown\" where none does. With TEXT it lists those that have it in their name. Nothing is asked of\n" +
			"any server. The file ~/.grapnel/models.json adds and corrects models.",
		Example: "  grapnel models\n  grapnel models --all opus",
		Args:    atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			paths, err := c.paths(place{})
			if err != nil {
				return err
			}
			if l.Catalog, err = paths.Catalog(); err != nil {
				return err
			}
			conf, err := paths.Config()
			if err != nil {
				return err
			}
			known, err := paths.Models(conf, nil)
			if err != nil {
				return err
			}
			defer known.Close()
			l.Configured = known.Configured
			l.Filter, l.Now = strings.Join(args, ""), time.Now()
			return inspect.Models(&c.Console, l, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&l.All, "all", false, "list the models of vendors without a key as well")
	return cmd
}
