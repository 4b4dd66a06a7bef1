package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// The exit statuses.
const (
	succeeded = 0
	differs   = 1
	failed    = 2
)

// command is one word that may follow hookgen.
type command struct {
	name string
	// args are the arguments in the help.
	args string
	// short is its description in the help.
	short string
	// run gets the arguments after the name and returns the exit status.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands returns all commands in the order of the help. The first one runs without a name.
func commands() []command {
	return []command{
		{"gen", "[flags] [packages]", "write hook_gen.go where there are //hook: directives; the default", generate},
		{"new", "NAME [flags]", "write the first version of a subsystem, with tests", scaffold},
		{"plan", "[flags] [packages]", "the members of a composite at each point: text, JSON, Markdown with a picture", showPlan},
		{"explain", "CODE…", "what the code of a problem means, with an example", explain},
		{"vet", "[flags] [packages]", "what gen would refuse, and hooks that are misused", vetPackages},
		{"help", "[command]", "this text, or the flags of a command", help},
	}
}

func commandOf(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// bareWord matches words that look like a command; package patterns hardly ever do.
var bareWord = regexp.MustCompile(`^[a-z]+$`)

// run is the program with explicit arguments and outputs.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return generate(ctx, nil, stdout, stderr)
	}
	if c, ok := commandOf(args[0]); ok {
		return c.run(ctx, args[1:], stdout, stderr)
	}
	switch word := args[0]; {
	case word == "-h" || word == "-help" || word == "--help":
		return help(ctx, nil, stdout, stderr)
	case bareWord.MatchString(word) && word != "all":
		fmt.Fprint(stderr, unknownCommand(word))
		return failed
	}
	return generate(ctx, args, stdout, stderr)
}

func unknownCommand(word string) string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	meant := ""
	if near := spell.Closest(word, names); near != "" {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("hookgen: unknown command %q%s\n\tthe commands are %s; a package is written ./%s\n",
		word, meant, strings.Join(names, ", "), word)
}

// help prints all commands, or the flags of one.
func help(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stdout, usage())
		return succeeded
	}
	c, ok := commandOf(args[0])
	switch {
	case !ok:
		fmt.Fprint(stderr, unknownCommand(args[0]))
		return failed
	case c.name == "help":
		fmt.Fprint(stdout, usage())
		return succeeded
	}
	return c.run(ctx, []string{"-h"}, stdout, stdout)
}

func usage() string {
	var sb strings.Builder
	for i, c := range commands() {
		head, name := "      ", c.name
		if i == 0 {
			head, name = "usage:", "["+c.name+"]"
		}
		fmt.Fprintf(&sb, "%s hookgen %-28s %s\n", head, name+" "+c.args, c.short)
	}
	sb.WriteString("\nExit status: 0 if all is succeeded, 1 if a check found something to do, 2 if something is wrong.\n")
	return sb.String()
}
