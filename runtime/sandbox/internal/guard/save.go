package guard

import (
	"encoding/json"
	"io/fs"
)

// saved is a View as JSON. Devices are left out: their numbers change when the machine starts again. Paths may be any bytes.
type saved struct {
	Worktrees, GitDirs [][]byte
	Marks              []savedMark
	Configs            []savedConfig
	Taken              int64
}

type savedMark struct {
	Path, Target, Leads []byte
	Number, Links, Led  uint64
	Changed             int64
	Mode                uint32
}

type savedConfig struct {
	Path []byte
	All  [][2][]byte
}

// MarshalJSON is for a view that another process compares with, after this one was killed.
func (v *View) MarshalJSON() ([]byte, error) {
	s := saved{Worktrees: bytesOf(v.worktrees), GitDirs: bytesOf(v.gitDirs), Taken: v.taken}
	for rel, m := range v.marks {
		s.Marks = append(s.Marks, savedMark{Path: []byte(rel), Number: m.stamp.id.number, Changed: m.stamp.changed, Mode: uint32(m.mode), Links: m.links,
			Target: []byte(m.target), Leads: []byte(m.leads), Led: m.led.number})
	}
	for rel, all := range v.configs {
		c := savedConfig{Path: []byte(rel)}
		for _, kv := range all {
			c.All = append(c.All, [2][]byte{[]byte(kv.key), []byte(kv.value)})
		}
		s.Configs = append(s.Configs, c)
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (v *View) UnmarshalJSON(data []byte) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*v = View{worktrees: textsOf(s.Worktrees), gitDirs: textsOf(s.GitDirs), marks: map[string]mark{}, configs: map[string][]setting{}, names: map[string]namer{}, taken: s.Taken}
	for _, m := range s.Marks {
		v.marks[string(m.Path)] = mark{stamp: stamp{identity{number: m.Number}, m.Changed}, mode: fs.FileMode(m.Mode), links: m.Links,
			target: string(m.Target), leads: string(m.Leads), led: identity{number: m.Led}}
	}
	for _, c := range s.Configs {
		all := []setting{}
		for _, kv := range c.All {
			all = append(all, setting{string(kv[0]), string(kv[1])})
		}
		v.configs[string(c.Path)] = all
	}
	return nil
}

func bytesOf(texts []string) (out [][]byte) {
	for _, t := range texts {
		out = append(out, []byte(t))
	}
	return out
}

func textsOf(all [][]byte) (out []string) {
	for _, b := range all {
		out = append(out, string(b))
	}
	return out
}
