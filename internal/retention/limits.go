package retention

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Limits are those of each project; zero fields limit nothing.
type Limits struct {
	// Age is how long a conversation stays that nobody uses.
	Age time.Duration
	// Bytes is how much the conversations of one project may take, without the index of words.
	Bytes int64
}

// IsZero reports whether there is no limit.
func (l Limits) IsZero() bool { return l == Limits{} }

// ParseAge parses an age: a whole number of days, weeks or years such as 90d, 12w or 1y, or a
// duration of Go that is at least an hour, such as 36h.
func ParseAge(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	wrong := fmt.Errorf("the age %q is none; write a number of days, weeks or years such as 90d, 12w or 1y", text)
	for suffix, unit := range map[string]time.Duration{"d": day, "w": 7 * day, "y": 365 * day} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > 100*365 {
				return 0, wrong
			}
			return time.Duration(n) * unit, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Hour {
		return 0, wrong
	}
	return d, nil
}

// ParseSize parses a size: a whole number of MiB, GiB or TiB, such as 2GiB.
func ParseSize(text string) (int64, error) {
	for suffix, unit := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err == nil && n > 0 && n < 1<<20 {
				return n * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("the size %q is none; write a number of MiB, GiB or TiB, such as 2GiB", text)
}

// interval is how often Run looks.
const interval = 24 * time.Hour

// Run goes on with interrupted deletions and applies the limits: at once, and once a day until ctx
// ends. Failures go to Options.Note.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if err := k.Resume(ctx); err != nil && ctx.Err() == nil {
			k.o.Note(fmt.Sprintf("interrupted deletions do not go on: %v", err))
		}
		if err := k.Sweep(ctx); err != nil && ctx.Err() == nil {
			k.o.Note(fmt.Sprintf("the limits of the section retention are not kept: %v", err))
		}
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Sweep deletes the conversations that are beyond the limits of their projects, the oldest first:
// those whose last message is older than the age, and then as many as are too large together. It
// never deletes one whose turn runs, waits or was interrupted, nor one that is in use in any other
// way: these are looked at the next time.
func (k *Keeper) Sweep(ctx context.Context) error {
	if k.o.Limits.IsZero() {
		return nil
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	all, err := k.o.Store.List(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b store.Record) int { return a.Updated.Compare(b.Updated) })
	projects := map[string][]store.Record{}
	for _, rec := range all {
		projects[rec.Key.Project] = append(projects[rec.Key.Project], rec)
	}
	for project, recs := range projects {
		roots, err := k.beyond(ctx, recs)
		if err != nil {
			return err
		}
		if err := k.expire(ctx, project, roots); err != nil {
			return err
		}
	}
	return nil
}

// beyond returns what has to go of a project's conversations, which are ordered by age. What is larger than the limit by itself goes before
// all others, of which none would make room for it.
func (k *Keeper) beyond(ctx context.Context, recs []store.Record) (out []root, err error) {
	sizes := make([]int64, len(recs))
	var sum int64
	if k.o.Limits.Bytes > 0 {
		for i, rec := range recs {
			if sizes[i], err = k.o.Store.Weigh(ctx, rec.ID); err != nil {
				return nil, err
			}
			sum += sizes[i]
		}
	}
	now := time.Now()
	order := make([]int, len(recs))
	for i := range recs {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		huge := func(i int) int {
			if k.o.Limits.Bytes > 0 && sizes[i] > k.o.Limits.Bytes {
				return 0
			}
			return 1
		}
		return huge(a) - huge(b)
	})
	for _, i := range order {
		rec := recs[i]
		old := k.o.Limits.Age > 0 && now.Sub(rec.Updated) > k.o.Limits.Age
		large := k.o.Limits.Bytes > 0 && sum > k.o.Limits.Bytes
		if !old && !large || rec.Journaled || rec.Lease.Until.After(now) {
			continue
		}
		sum -= sizes[i]
		out = append(out, root{ID: rec.ID, Project: rec.Key.Project, Version: rec.Version})
	}
	return out, nil
}

// expire deletes the roots one by one, so that one in use keeps none of the others.
func (k *Keeper) expire(ctx context.Context, project string, roots []root) error {
	var gone int
	var freed int64
	for _, r := range roots {
		p := pending{Subject: Subject{expired, r.ID}, Started: time.Now(), Roots: []root{r}}
		if err := k.complete(ctx, &p); err != nil {
			return err
		}
		out, err := k.begin(ctx, p)
		if err != nil {
			k.o.Note(fmt.Sprintf("conversation %s is beyond the limits of the section retention and stays for now: %v", r.ID, err))
			continue
		}
		gone += int(min(1, out.Parts[0].Deleted))
		freed += out.Parts[0].Bytes
	}
	if gone > 0 {
		if _, err := k.o.Store.Shrink(ctx); err != nil {
			return err
		}
		k.o.Note(fmt.Sprintf("retention: deleted %d conversations of %s with %d KiB: they were beyond the limits of config.yaml",
			gone, name(project), (freed+1023)>>10))
	}
	return nil
}

func name(project string) string {
	if project == "" {
		return "the time before projects"
	}
	return project
}
