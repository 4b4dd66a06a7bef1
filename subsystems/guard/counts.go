package guard

import (
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// counts are the stored usage of a conversation.
type counts struct {
	Steps  int           `json:"steps,omitzero"`
	Tokens int64         `json:"tokens,omitzero"`
	Time   time.Duration `json:"time,omitzero"`
	Calls  []tally       `json:"calls,omitzero"`
}

// turnCounts are the usage of a turn, and its calls.
type turnCounts struct {
	counts
	// repeats has the calls by tool and arguments; most is the most frequent of them.
	repeats []repeat
	most    repeat
	// noted is the id of the call that was counted last.
	noted string
}

// tally is how often a tool was called.
type tally struct {
	Tool  string `json:"tool"`
	Times int    `json:"times"`
}

// repeat is how often a tool was called with the same arguments.
type repeat struct {
	tool  string
	args  message.JSON
	times int
	// last is the id of the call that was counted last.
	last string
}

func (c counts) add(o counts) counts {
	c.Steps += o.Steps
	c.Tokens += o.Tokens
	c.Time += o.Time
	return c
}

func (c counts) called(tool string) counts {
	c.Calls = slices.Clone(c.Calls) // other goroutines may read the old slice
	if i := c.callOf(tool); i >= 0 {
		c.Calls[i].Times++
	} else {
		c.Calls = append(c.Calls, tally{tool, 1})
	}
	return c
}

func (c counts) callOf(tool string) int {
	return slices.IndexFunc(c.Calls, func(t tally) bool { return t.Tool == tool })
}

func (c counts) calls(tool string) int {
	if i := c.callOf(tool); i >= 0 {
		return c.Calls[i].Times
	}
	return 0
}

// repeated returns the counts with one more call of the tool with the arguments, and the
// number of such calls. It counts a call once, even if BeforeTool sees it again.
func (c turnCounts) repeated(id, tool string, args message.JSON) (turnCounts, int) {
	c.repeats = slices.Clone(c.repeats)
	i := slices.IndexFunc(c.repeats, func(r repeat) bool { return r.tool == tool && r.args == args })
	if i < 0 {
		i = len(c.repeats)
		c.repeats = append(c.repeats, repeat{tool: tool, args: args})
	}
	if c.repeats[i].last == id {
		return c, c.repeats[i].times
	}
	c.repeats[i].times++
	c.repeats[i].last = id
	if c.repeats[i].times > c.most.times {
		c.most = c.repeats[i]
	}
	return c, c.repeats[i].times
}

// rates are the calls of the last minute, oldest first.
type rates []called

type called struct {
	Tool string    `json:"tool"`
	At   time.Time `json:"at"`
}

// within returns the calls that are not older than a minute.
func (r rates) within(now time.Time) rates {
	i := slices.IndexFunc(r, func(c called) bool { return now.Sub(c.At) < time.Minute })
	if i < 0 {
		return nil
	}
	return r[i:]
}

func (r rates) of(tool string) int {
	n := 0
	for _, c := range r {
		if c.Tool == tool {
			n++
		}
	}
	return n
}
