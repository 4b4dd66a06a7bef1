package inspect

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

// Nodes shows the daemons that share a store.
func Nodes(c *console.Console, nodes []wire.Node, asJSON bool) error {
	if asJSON {
		return c.JSON(nodes)
	}
	if len(nodes) == 0 {
		return c.Say("the daemon shares its store with no other; docs/scale.md says how several do")
	}
	table, differ := [][]string{{"NODE", "STATE", "TURNS", "VERSION", "SEEN", "URL", "PROJECTS"}}, false
	for _, n := range nodes {
		state, turns := "alive", "no answer"
		switch {
		case !n.Alive:
			state, turns = "dead", "-"
		case n.Self:
			state = "alive, asked"
		}
		if n.Turns != nil {
			turns = strconv.Itoa(*n.Turns)
		}
		table = append(table, []string{n.ID, state, turns, cmp.Or(n.Version, "-"), n.Seen.UTC().Format(time.DateTime), cmp.Or(n.URL, "-"), projects(n.Projects)})
		for _, p := range n.Projects {
			differ = differ || p.Differs
		}
	}
	err := c.Tables(table)
	if differ {
		err = errors.Join(err, c.Say("projects with ! are not the same on all nodes: their agents, skills, rules, hooks.json, servers, default model or instruction files differ"))
	}
	return err
}

// projects are the roots of projects, with the beginnings of their fingerprints.
func projects(all []wire.NodeProject) string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.Root
		if p.Fingerprint != "" {
			out[i] += " " + p.Fingerprint[:min(len(p.Fingerprint), 8)]
		}
		if p.Differs {
			out[i] += " !"
		}
	}
	return cmp.Or(strings.Join(out, ", "), "-")
}
