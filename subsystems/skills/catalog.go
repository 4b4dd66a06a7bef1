package skills

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/grapnel-go/grapnel/internal/character"
)

const (
	// DefaultMaxList is the size in bytes of the list of skills in a prompt, about 4,000
	// tokens.
	DefaultMaxList = 16 << 10
	// maxListed limits a skill's description and when_to_use in the list, in characters.
	// Descriptions are cut down to minListed before skills are left out.
	maxListed = 1536
	minListed = 60
)

// catalog is the list of skills in a prompt. If it is too long, it leaves out the locations,
// which the tool returns anyway, and cuts all descriptions to one length. If it is still too
// long, it leaves out skills of later sources: the program's first, then the user's, then
// the project's.
type catalog struct {
	listed []Skill
	// left has the skills that are left out.
	left []Skill
	// most limits each description, in characters.
	most int
	// brief: leave out locations.
	brief bool
	limit int
}

func newCatalog(skills []Skill, limit int) catalog {
	c := catalog{listed: skills, most: maxListed, limit: limit}
	if len(c.entries()) <= limit {
		return c
	}
	c.brief = true
	// The longest length that fits.
	c.most = minListed - 1 + sort.Search(maxListed-minListed+1, func(i int) bool {
		longer := c
		longer.most = minListed + i
		return len(longer.entries()) > limit
	})
	if c.most >= minListed {
		return c
	}
	c.most = minListed
	byRank := slices.Clone(skills)
	slices.SortStableFunc(byRank, func(a, b Skill) int { return cmp.Compare(a.rank, b.rank) })
	room := limit
	n := slices.IndexFunc(byRank, func(k Skill) bool {
		room -= len(c.entry(k))
		return room < 0
	})
	byName := func(a, b Skill) int { return strings.Compare(a.Name, b.Name) }
	c.listed, c.left = byRank[:n:n], byRank[n:]
	slices.SortFunc(c.listed, byName)
	slices.SortFunc(c.left, byName)
	return c
}

func (c catalog) entries() string {
	var sb strings.Builder
	for _, k := range c.listed {
		sb.WriteString(c.entry(k))
	}
	return sb.String()
}

func (c catalog) entry(k Skill) string {
	if c.brief {
		return "- " + escape(k.Name) + ": " + escape(k.listed(c.most)) + "\n"
	}
	return fmt.Sprintf("  <skill>\n    <name>%s</name>\n    <description>%s</description>\n    <location>%s</location>\n  </skill>\n",
		escape(k.Name), escape(k.listed(c.most)), escape(k.location()))
}

// text returns the list for a prompt. tool is the name of the tool that loads a skill.
func (c catalog) text(tool string) string {
	text := "<available_skills>\n" + c.entries() + "</available_skills>"
	if len(c.left) > 0 {
		text += fmt.Sprintf("\n%d more skills are not listed. To find one, call %s with a word of the task as the name; what is like it is named then.", len(c.left), tool)
	}
	return text
}

// maxNamed is how many skills a note names.
const maxNamed = 10

// note tells the operator what the list leaves out; "" if it is complete.
func (c catalog) note() string {
	const fix = "give agents the skills that they need (skills: {names: […]}) or more room (skills: {max_list: BYTES})"
	switch {
	case len(c.left) > 0:
		names := namesOf(c.left[:min(len(c.left), maxNamed)])
		if len(c.left) > maxNamed {
			names = append(names, "…")
		}
		return fmt.Sprintf("%d skills are not listed in prompts, because the list has %d bytes at most: %s; %s", len(c.left), c.limit, strings.Join(names, ", "), fix)
	case c.most < maxListed:
		return fmt.Sprintf("the descriptions of %d skills are cut at %d characters in prompts, because the list has %d bytes at most; %s", len(c.listed), c.most, c.limit, fix)
	}
	return ""
}

// listed returns the description as one line of at most most characters.
func (k Skill) listed(most int) string {
	text, _ := character.Cut(strings.Join(strings.Fields(k.Description+" "+k.WhenToUse), " "), most)
	return text
}
