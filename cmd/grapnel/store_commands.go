package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/transfer"
)

func (c *command) store() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Check where everything is kept, and move it to PostgreSQL or back",
		Long: "Everything is kept in files of the state directory, or in the PostgreSQL database of --store or $" + app.DatabaseVariable + ".\n" +
			"docs/scale/postgresql.md says more.",
		Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.storeCopy(), c.storeCheck(), c.storeMigrate())
	return cmd
}

func (c *command) storeCopy() *cobra.Command {
	var to, from string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "copy (--to DSN | --from DSN)",
		Short: "Copy everything from the files to a database, or back",
		Long: "Copies conversations, memories, schedules, tokens, remembered answers, agents of clients, spending and jobs of all\n" +
			"projects from the files of the state directory to a PostgreSQL database (--to), or from one to the files (--from). It\n" +
			"reads both again and compares the digests of all rows. Nothing is deleted.\n\n" +
			"Stop all daemons first. The target has to be empty. Each part comes in one step; if the copy breaks off, give the same\n" +
			"command again, and it goes on. Given once more, it compares.\n\n" +
			"The record of the audit stays where it is: each machine has a chain of its own, whose key is on its disk. So do the\n" +
			"snapshots of `grapnel undo`, and what you allowed a project. Tenants of owners cannot be copied.",
		Example: "  grapnel store copy --to 'postgres://grapnel@db.example/grapnel?sslmode=verify-full'",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := c.paths(place{})
			if err != nil {
				return err
			}
			files.Database = ""
			database, err := toOrFrom(files, to, from)
			if err != nil {
				return err
			}
			source, target := files, database
			if from != "" {
				source, target = database, files
			}
			return c.copyStores(cmd, source, target, asJSON)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the database to fill: postgres://USER@HOST/DATABASE?sslmode=verify-full; the password is in $PGPASSWORD or in the file $PGPASSFILE")
	cmd.Flags().StringVar(&from, "from", "", "the database to read, into the files")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.MarkFlagsMutuallyExclusive("to", "from")
	cmd.MarkFlagsOneRequired("to", "from")
	return cmd
}

// toOrFrom returns the paths with the database of the one flag that was given.
func toOrFrom(paths app.Paths, to, from string) (app.Paths, error) {
	if err := errors.Join(database(&paths, "--to", to), database(&paths, "--from", from)); err != nil {
		return paths, err
	}
	if paths.Database == "" {
		return paths, errors.New("name the database: --to postgres://USER@HOST/DATABASE?sslmode=verify-full, or --from")
	}
	return paths, nil
}

func (c *command) copyStores(cmd *cobra.Command, source, target app.Paths, asJSON bool) error {
	from, err := transfer.Open(cmd.Context(), source, false, c.Note)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := transfer.Open(cmd.Context(), target, true, c.Note)
	if err != nil {
		return err
	}
	var parts []transfer.Part
	err = transfer.Copy(cmd.Context(), from, to, func(p transfer.Part) { parts = append(parts, p) })
	err = errors.Join(err, to.Close(), c.showParts(parts, asJSON))
	if err != nil {
		return &failed{exitFailed, err}
	}
	if asJSON {
		return nil
	}
	next := "start daemons with --store, or set $" + app.DatabaseVariable
	if target.Database == "" {
		next = "start the daemon without --store and $" + app.DatabaseVariable
	}
	return c.Say(to.String() + " and " + from.String() + " have the same, and nothing was deleted; " + next +
		". The record of the audit stays where it is: each machine has its own, with a key on its disk")
}

// showParts shows what parts of a store have.
func (c *command) showParts(parts []transfer.Part, asJSON bool) error {
	if asJSON {
		return c.JSON(parts)
	}
	table := [][]string{{"PART", "TABLE", "ROWS", "SHA-256", ""}}
	for _, p := range parts {
		note := ""
		if p.Before {
			note = "was there"
		}
		for _, t := range p.Tables {
			table = append(table, []string{p.Name, t.Name, strconv.FormatInt(t.Rows, 10), t.SHA256[:16], note})
		}
	}
	if len(table) == 1 {
		return nil
	}
	return c.Tables(table)
}

func (c *command) storeCheck() *cobra.Command {
	var dsn string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read everything that is kept, and name what is damaged",
		Long: "Reads every row of every table, conversations as a turn reads them, and shows how many there are, with a digest of\n" +
			"each table: two stores with the same digests have the same rows. It names damaged rows, and exits with 1 if there are\n" +
			"some. Daemons may go on meanwhile; a row that they change between two looks may then be named though it is sound.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := c.paths(place{})
			if err == nil {
				err = database(&paths, "--store", dsn)
			}
			if err != nil {
				return err
			}
			p, err := transfer.Open(cmd.Context(), paths, false, c.Note)
			if err != nil {
				return &failed{exitFailed, err}
			}
			defer p.Close() //nolint:errcheck // it was only read
			var parts []transfer.Part
			sound := transfer.Check(cmd.Context(), p, func(p transfer.Part) { parts = append(parts, p) })
			if err := c.showParts(parts, asJSON); err != nil {
				return err
			}
			if sound {
				return c.sound(p, asJSON)
			}
			var damaged []string
			for _, p := range parts {
				damaged = append(damaged, p.Damaged...)
			}
			return &failed{exitFailed, errors.New(p.String() + " is damaged:\n" + strings.Join(damaged, "\n"))}
		},
	}
	storeFlag(cmd, &dsn)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func (c *command) sound(p *transfer.Place, asJSON bool) error {
	if asJSON {
		return nil
	}
	return c.Say("nothing is damaged in " + p.String())
}

func storeFlag(cmd *cobra.Command, dsn *string) {
	cmd.Flags().StringVar(dsn, "store", "", "the PostgreSQL database: postgres://USER@HOST/DATABASE?sslmode=verify-full (default: $"+app.DatabaseVariable+")")
}

func (c *command) storeMigrate() *cobra.Command {
	var dsn string
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make or upgrade the tables of the database",
		Long: "Makes the tables of the PostgreSQL database, or upgrades them to the version of this program, in one transaction, and\n" +
			"then those of the job engine. A daemon does the same when it starts. A step only adds, so daemons of an older version go\n" +
			"on meanwhile. Files need no such command: each is upgraded when it is opened.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := c.paths(place{})
			if err == nil {
				err = database(&paths, "--store", dsn)
			}
			if err != nil {
				return err
			}
			if paths.Database == "" {
				return errors.New("name the database with --store or $" + app.DatabaseVariable + "; files are upgraded when they are opened")
			}
			v, err := transfer.Migrate(cmd.Context(), paths.Database, dry)
			if err != nil {
				return &failed{exitFailed, err}
			}
			if asJSON {
				return c.JSON(v)
			}
			return c.Say(migrated(v, dry))
		},
	}
	storeFlag(cmd, &dsn)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// migrated says what Migrate has done.
func migrated(v transfer.Versions, dry bool) string {
	from, to := "schema version "+strconv.Itoa(v.Before), strconv.Itoa(v.After)
	switch {
	case v.Before > v.Known:
		return "the database has " + from + ", made by a newer program; this one knows " + strconv.Itoa(v.Known) + ", and can use it"
	case v.Before == v.After:
		return "the database has " + from + " already"
	case dry:
		return "the database has " + from + ", and would have " + to
	}
	return "the database had " + from + ", and has " + to
}
