package chat

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

// command is a command of the chat.
type command struct {
	name, argument, help string
	run                  func(c *Chat, ctx context.Context, rest string) error
}

// commands returns all commands, in the order of the help.
func commands() []command {
	return []command{
		{"help", "", "list the commands", alone(plain((*Chat).help))},
		{"tools", "", "list the tools of the agent", alone((*Chat).tools)},
		{"agents", "", "list the agents", alone((*Chat).agents)},
		{"model", "NAME", "let another model answer from now on, or show the present one", (*Chat).setModel},
		{"guest", "NAME TEXT", "let another agent answer this one message, in text and without tools", (*Chat).guest},
		{"clear", "", "begin a new conversation; this one is kept", alone(plain((*Chat).clear))},
		{"resume", "ID", "continue an earlier conversation, or list them", (*Chat).resume},
		{"continue", "", "resume the turn that was interrupted when its process died", (*Chat).resumeTurn},
		{"quit", "", "leave; also Ctrl-D, or Ctrl-C twice", alone(plain(func(*Chat) error { return errLeave }))},
	}
}

// alone returns the run function of a command without arguments.
func alone(run func(c *Chat, ctx context.Context) error) func(*Chat, context.Context, string) error {
	return func(c *Chat, ctx context.Context, rest string) error {
		if rest != "" {
			return fmt.Errorf("the command takes no argument, but got %q", rest)
		}
		return run(c, ctx)
	}
}

// plain returns the run function of a command that asks nobody.
func plain(run func(c *Chat) error) func(*Chat, context.Context) error {
	return func(c *Chat, _ context.Context) error { return run(c) }
}

func find(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// named matches a line that begins with the name of a command or a skill, but not with a
// path, as "/etc/hosts is odd" does.
var named = regexp.MustCompile(`^/([A-Za-z0-9_:.-]+)(?:\s+|$)`)

// slash returns the name and the rest of a line that begins like a command.
func slash(line string) (name, rest string, ok bool) {
	m := named.FindStringSubmatchIndex(line)
	if m == nil {
		return "", "", false
	}
	return line[m[2]:m[3]], strings.TrimSpace(line[m[1]:]), true
}

// meant returns the end of a sentence: a question with the closest name, or a full stop.
func (c *Chat) meant(name string) string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	for _, k := range c.commands() {
		names = append(names, k.Name)
	}
	if near := spell.Closest(name, names); near != "" {
		return "; did you mean /" + near + "?"
	}
	return "."
}

// commands returns what the agent's subsystems answer and its skills, except those with the name of a command of the chat.
func (c *Chat) commands() []talk.Command {
	return slices.DeleteFunc(c.o.Host.Commands(c.agent.Name), func(k talk.Command) bool {
		_, own := find(k.Name)
		return own
	})
}

// complete completes the name of a command or a skill.
func (c *Chat) complete(before string) (from int, words []edit.Word) {
	if !strings.HasPrefix(before, "/") || strings.ContainsAny(before, " \t\n") {
		return 0, nil
	}
	add := func(name, help string) {
		if strings.HasPrefix("/"+name, before) {
			words = append(words, edit.Word{Text: "/" + name, Help: help})
		}
	}
	for _, cmd := range commands() {
		add(cmd.name, cmd.help)
	}
	for _, cmd := range c.commands() {
		add(cmd.Name, cmd.Help)
	}
	return 0, words
}

func (c *Chat) help() error {
	var t table
	t.title("Commands")
	for _, cmd := range commands() {
		t.row(strings.TrimSpace("/"+cmd.name+" "+cmd.argument), cmd.help)
	}
	skills := false
	for _, cmd := range c.commands() {
		if cmd.Skill && !skills {
			t.title("Skills")
			skills = true
		}
		t.row(strings.TrimSpace("/"+cmd.Name+" "+cmd.Argument), cmd.Help)
	}
	t.title("Keys")
	t.row(`Alt-Enter, \ Enter`, "a line break; pasted text keeps its own")
	t.row("Up, Down", "earlier lines; a line that begins with a blank is not kept")
	t.row("Tab", "complete the name of a command or a skill")
	t.row("Ctrl-C", "interrupt the turn, or discard the line")
	c.show(t)
	return nil
}

func (c *Chat) tools(ctx context.Context) error {
	tools, err := c.o.Host.Tools(ctx, c.agent.Name)
	if err != nil {
		return err
	}
	var t table
	for _, tool := range tools {
		text, _, _ := strings.Cut(tool.Description, "\n")
		if tool.Asks {
			text = "(asks) " + text
		}
		t.row(tool.Name, text)
	}
	if len(t.rows) == 0 {
		c.say("The agent has no tools.")
	}
	c.show(t)
	return nil
}

func (c *Chat) agents(ctx context.Context) error {
	agents, err := c.o.Host.Agents(ctx)
	if err != nil {
		return err
	}
	var t table
	for _, a := range agents {
		name := a.Name
		if name == c.agent.Name {
			name += " (this one)"
		}
		t.row(name, a.Description)
	}
	c.show(t)
	c.hint("To talk to another agent: grapnel chat --agent NAME")
	return nil
}

func (c *Chat) clear() error {
	c.farewellTo()
	c.renew()
	c.hint("This is a new conversation.")
	return nil
}

// farewellTo shows how to return to the present conversation.
func (c *Chat) farewellTo() {
	if c.conv != nil {
		c.hint("/resume " + c.conv.ID() + " returns to the previous one.")
	}
}
