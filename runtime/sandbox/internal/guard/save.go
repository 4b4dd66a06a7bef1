package guard

import (
	"encoding/json"
	"io/fs"
	"maps"
)

// saved is a View as JSON. Devices are left out: their numbers change when the machine starts again.
type saved struct {
	Worktrees, GitDirs []string
	Names              map[string]string
	Marks              map[string]savedMark
}

type savedMark struct {
	Number, Links, Led uint64
	Changed            int64
	Mode               fs.FileMode
	Target, Leads      string
}

// MarshalJSON is for a view that another process compares with, after this one was killed.
func (v *View) MarshalJSON() ([]byte, error) {
	s := saved{Worktrees: v.worktrees, GitDirs: v.gitDirs, Names: v.names, Marks: map[string]savedMark{}}
	for rel, m := range v.marks {
		s.Marks[rel] = savedMark{Number: m.stamp.id.number, Changed: m.stamp.changed, Mode: m.mode, Links: m.links, Target: m.target, Leads: m.leads, Led: m.led.number}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (v *View) UnmarshalJSON(data []byte) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*v = View{worktrees: s.Worktrees, gitDirs: s.GitDirs, names: s.Names, marks: map[string]mark{}}
	if v.names == nil {
		v.names = map[string]string{}
	}
	for rel, m := range maps.All(s.Marks) {
		v.marks[rel] = mark{stamp: stamp{identity{number: m.Number}, m.Changed}, mode: m.Mode, links: m.Links, target: m.Target, leads: m.Leads, led: identity{number: m.Led}}
	}
	return nil
}
