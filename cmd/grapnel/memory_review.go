package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// theMemory returns the one memory with the name, of the owner if it is not "".
func theMemory(ctx context.Context, m *memory.Memory, name, of string) (memory.Remembered, error) {
	all, err := m.List(ctx)
	if err != nil {
		return memory.Remembered{}, err
	}
	all = slices.DeleteFunc(all, func(r memory.Remembered) bool { return !r.Named(name) || of != "" && owner(&r) != of })
	switch len(all) {
	case 0:
		return memory.Remembered{}, fmt.Errorf("there is no memory %q in this project; `grapnel memory list` lists them", name)
	case 1:
		return all[0], nil
	}
	text := fmt.Sprintf("there are %d memories %q; choose one:", len(all), name)
	for _, r := range all {
		text += fmt.Sprintf(" --of %q", owner(&r))
	}
	return memory.Remembered{}, errors.New(text)
}

// owner names whose the memory is, as a column and a flag do.
func owner(r *memory.Remembered) string {
	if r.User {
		return r.Of + ", in all projects"
	}
	return r.Of
}

// oneName refuses all but the name of one thing.
func oneName(of string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes the name of one %s, but got %d arguments; quote a name with blanks", cmd.CommandPath(), of, len(args))
		}
		return nil
	}
}

func ofFlag(cmd *cobra.Command, of *string) {
	cmd.Flags().StringVar(of, "of", "", `the owner, as list shows it, if several have a memory of that name: "agent grapnel"`)
}

func (c *command) showMemory() *cobra.Command {
	var of string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show one memory with where it is from", Args: oneName("memory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				r, err := theMemory(cmd.Context(), m, args[0], of)
				switch {
				case err != nil:
					return err
				case asJSON:
					return c.JSON(r)
				}
				text := fmt.Sprintf("%s (%s of %s)\n\n%s\n\n%s", r.Name, r.Kind, owner(&r), r.Content, origin(&r))
				if !r.Used.IsZero() {
					text += fmt.Sprintf("\nused %d times, last %s", r.Uses, r.Used.Local().Format("2006-01-02 15:04"))
				}
				for _, s := range r.Sources {
					text += "\nsource: conversation " + s.Conversation
					if s.Turn != "" {
						text += ", turn " + s.Turn
					}
				}
				return c.Say(text)
			})
		},
	}
	ofFlag(cmd, &of)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// origin says where the memory is from.
func origin(r *memory.Remembered) string {
	said := map[memory.Origin]string{
		memory.OriginUser: "the user has said it", memory.OriginModel: "a model has concluded it",
		memory.OriginTool: "a model wrote it after it had read results of tools", memory.OriginPage: "a model wrote it after it had read something from elsewhere",
	}[r.Origin]
	return fmt.Sprintf("origin: %s (%s, trust %s), confidence %.2f, since %s", r.Origin, said, r.Trust, r.Confidence, r.Updated.Local().Format("2006-01-02 15:04"))
}

func (c *command) forgetMemory() *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use: "forget NAME", Short: "Remove a memory for good, from all files of the memories", Args: oneName("memory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				r, err := theMemory(cmd.Context(), m, args[0], of)
				if err != nil {
					return err
				}
				found, err := m.Remove(cmd.Context(), r)
				switch {
				case err != nil:
					return err
				case !found:
					return errors.New("somebody else has just forgotten it")
				}
				return c.Say("forgot " + r.Name + " of " + owner(&r) + "; conversations in which it was said still have it")
			})
		},
	}
	ofFlag(cmd, &of)
	return cmd
}

func (c *command) exportMemories() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Write the memories of this project and of the user to standard output, as JSON", Args: noArgs,
		Long: "Writes the memories of the project in the working directory and those of the user as JSON: text, kind, origin, trust,\n" +
			"sources and uses of each. What was forgotten is not among them, nor what waits for review.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				all, err := m.List(cmd.Context())
				if err != nil {
					return err
				}
				return c.JSON(append([]memory.Remembered{}, all...))
			})
		},
	}
}

func (c *command) reviewMemories() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "review", Short: "List what was found in conversations and waits for your answer", Args: noArgs,
		Long: "Lists what was found in conversations of this project and is no memory yet. `grapnel memory approve NUMBER` makes it one,\n" +
			"and `grapnel memory reject NUMBER` removes it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				all, err := m.Candidates(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return c.JSON(append([]memory.Candidate{}, all...))
				}
				if len(all) == 0 {
					c.Note("nothing waits for review in this project")
				}
				rows := [][]string{{"NUMBER", "NAME", "KIND", "ORIGIN", "OF", "WHAT"}}
				for _, r := range all {
					rows = append(rows, []string{strconv.FormatInt(r.Number, 10), r.Name, string(r.Kind), string(r.Origin), owner(&r.Remembered), r.Content})
				}
				return c.Whole(rows) // what is approved is what was seen
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// answerCandidate is `memory approve` or `memory reject`.
func (c *command) answerCandidate(use, short string, answer func(ctx context.Context, m *memory.Memory, number int64) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " NUMBER", Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one number, but got %d; `grapnel memory review` lists them", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return fmt.Errorf("%q is no number; `grapnel memory review` lists them", args[0])
			}
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				here, err := m.Candidates(cmd.Context())
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(here, func(r memory.Candidate) bool { return r.Number == number }) {
					return fmt.Errorf("no memory of this project with the number %d waits; `grapnel memory review` lists them", number)
				}
				said, err := answer(cmd.Context(), m, number)
				if err != nil {
					return err
				}
				return c.Say(said)
			})
		},
	}
}

func (c *command) approveMemory() *cobra.Command {
	return c.answerCandidate("approve", "Make what waits for review a memory", func(ctx context.Context, m *memory.Memory, number int64) (string, error) {
		before, err := replacedBy(ctx, m, number)
		if err != nil {
			return "", err
		}
		name, err := m.Accept(ctx, number)
		return "remembered " + name + before, err
	})
}

// replacedBy says which text the candidate will replace; "" if there is none of its name.
func replacedBy(ctx context.Context, m *memory.Memory, number int64) (string, error) {
	waiting, err := m.Candidates(ctx)
	if err != nil {
		return "", err
	}
	kept, err := m.List(ctx)
	for _, w := range waiting {
		for _, r := range kept {
			if w.Number == number && r.Project == w.Project && r.User == w.User && r.Of == w.Of && r.Named(w.Name) {
				return fmt.Sprintf(", in the place of what %s had said: %s", r.Origin, r.Content), nil
			}
		}
	}
	return "", err
}

func (c *command) rejectMemory() *cobra.Command {
	return c.answerCandidate("reject", "Remove what waits for review", func(ctx context.Context, m *memory.Memory, number int64) (string, error) {
		return fmt.Sprintf("rejected %d", number), m.Reject(ctx, number)
	})
}

func (c *command) evaluateMemories() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "eval [FILE]", Short: "Measure how often recall finds what a question needs", Args: cobra.MaximumNArgs(1),
		Long: "Plays a small set of conversations against memories in a file of its own, and prints how often the memory that answers\n" +
			"a question is among the first five that recall gives by itself: with the first search alone, and with active recall. It\n" +
			"asks no model and no network. FILE is a set of your own; docs/memory.md explains its format.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var set []byte
			if len(args) == 1 {
				from, err := c.openFile(args[0])
				if err != nil {
					return err
				}
				set, err = io.ReadAll(io.LimitReader(from, maxSet))
				if err = errors.Join(err, from.Close()); err != nil {
					return fmt.Errorf("read %s: %w", args[0], err)
				}
			}
			r, err := memory.Evaluate(cmd.Context(), set)
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.JSON(r)
			}
			if err := c.Tables([][]string{
				{"RECALL", "QUESTIONS", "HIT@5", "MRR", "WRONGLY"},
				row("first search", r.Questions, r.Scoped), row("with active recall", r.Questions, r.Active),
			}); err != nil {
				return err
			}
			for _, miss := range r.Missed {
				c.Note("not found: " + miss)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func row(what string, questions int, s memory.Score) []string {
	return []string{what, strconv.Itoa(questions), fmt.Sprintf("%.2f", s.Hit), fmt.Sprintf("%.2f", s.MRR), strconv.Itoa(s.Wrongly)}
}

// maxSet bounds the file of `memory eval`, in bytes.
const maxSet = 8 << 20
