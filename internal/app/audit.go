package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

// newAudit records the agents with a section, and all of them if config.yaml says so.
func newAudit(o Options) (*audit.Audit, error) {
	settings := audit.Options{Log: o.Stores.Audit(), Project: o.Paths.Project(), Node: o.Stores.node}
	if o.audit != "" {
		all := hook.AgentConfig{}.WithSection("audit", o.audit)
		s, _, err := hook.SectionOf[audit.Section](&all, "audit")
		if err != nil {
			return nil, fmt.Errorf("~/.grapnel/config.yaml: %w", err)
		}
		settings.All = &s
	}
	return audit.New(settings), nil
}

// Audited are records of the project, without contents.
type Audited struct {
	// Records are the newest first.
	Records []audit.Record
	// Next is the place of the last one if there are older ones; "" if there are none.
	Next string
	// Problem says why not all records of the state were found as they were written; nil if they were.
	Problem error
	// Off: no agent is recorded now.
	Off bool
}

// ErrPlace is the error of a text that is no Next of Audited.
var ErrPlace = errors.New("no place in the audit")

// AuditRecords returns at most limit records of the project that are older than a place; "" is the end. It reads and checks the whole
// record.
func (a *App) AuditRecords(ctx context.Context, limit int, before string) (Audited, error) {
	out := Audited{Off: !a.audits()}
	end, err := placeOf(before)
	if err != nil {
		return out, err
	}
	older := false
	cut := func() {
		slices.SortFunc(out.Records, func(x, y audit.Record) int { return placed(y).compare(placed(x)) })
		if len(out.Records) > limit {
			out.Records, older = out.Records[:limit], true
		}
	}
	for data, err := range a.options.Stores.Audit().Records() {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Problem = err
			break
		}
		var r audit.Record
		if err := json.Unmarshal(data, &r); err != nil {
			out.Problem = err
			break
		}
		if r.Project != a.paths.Project() || before != "" && placed(r).compare(end) >= 0 {
			continue
		}
		r.Contents = audit.Contents{}
		if out.Records = append(out.Records, r); len(out.Records) >= 2*limit {
			cut()
		}
	}
	if cut(); older {
		out.Next = placed(out.Records[limit-1]).String()
	}
	return out, nil
}

// audits reports whether an agent is recorded now.
func (a *App) audits() bool {
	if a.conf.Audit != "" {
		return true
	}
	return slices.ContainsFunc(a.Runtime.Agents(), func(name string) bool {
		agent, err := a.Runtime.Agent(name)
		return err == nil && slices.Contains(agent.Config().Sections(), "audit")
	})
}

// place orders the records of all nodes.
type place struct {
	time time.Time
	n    int64
	node string
}

func placed(r audit.Record) place { return place{r.Time, r.N, r.Node} }

func (p place) compare(o place) int {
	return cmp.Or(p.time.Compare(o.time), cmp.Compare(p.n, o.n), cmp.Compare(p.node, o.node))
}

func (p place) String() string { return fmt.Sprintf("%d.%d.%s", p.time.UnixNano(), p.n, p.node) }

func placeOf(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 3 {
		return place{}, ErrPlace
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	n, err2 := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || err2 != nil {
		return place{}, ErrPlace
	}
	return place{time.Unix(0, at), n, parts[2]}, nil
}
