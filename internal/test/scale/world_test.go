package scale_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// plan says what a world is made of.
type plan struct {
	daemons, talks int
	// faults is how many there are, gap the mean time between two.
	faults int
	gap    time.Duration
	seed   uint64
	// only matches the names of the kinds that there are.
	only *regexp.Regexp
	// rewrite is the mistake of the daemons' statements; nil is none.
	rewrite *rewriting
	// ttl is that of the daemons; 0 is ttl.
	ttl time.Duration
	// pace is that of the model, and job how long it takes to answer a job.
	pace, job time.Duration
}

// beat and ttl are those of the daemons: a third of the defaults, for more faults in less time.
const (
	beat = 300 * time.Millisecond
	ttl  = time.Second
)

// world is a project with its daemons, their database and model, and those who talk.
type world struct {
	t       testing.TB
	plan    plan
	dir     string
	vendor  *vendor
	cluster *pgtest.Cluster
	disk    *disk // that of the cluster; nil: this user cannot make one
	// restarts is held while the database is down on purpose.
	restarts sync.Mutex
	daemons  []*daemon
	talks    []*talk
	log      faultLog
	// rest is how long it may take after the last fault until every turn has ended.
	rest time.Duration
}

// agent is the only one. Every turn that has ended well queues a job, which looks for what should be remembered.
const agent = "---\nname: grapnel\ntools: [bash]\nmemory: {recall: off, extraction: auto}\n---\nDo as you are told.\n"

func newWorld(t *testing.T, p plan) *world {
	t.Helper()
	binary, err := program()
	require.NoError(t, err)
	p.ttl = cmp.Or(p.ttl, ttl)
	dir, err := os.MkdirTemp("", "scale") // a path that leaves room for a socket
	require.NoError(t, err)
	w := &world{t: t, plan: p, dir: dir, rest: 30 * time.Second}
	if p.only.MatchString(fullDisk) {
		w.disk = mount(t)
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	w.cluster = startCluster(t, w.disk)
	for name, text := range map[string]string{
		"agents/grapnel.md": agent,
		"policy.json":       `{"ask": ["Bash(echo ask-*)"]}`,
	} {
		path := filepath.Join(w.project(), ".grapnel", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	w.vendor, err = newVendor(p.pace, p.job)
	require.NoError(t, err)
	t.Cleanup(w.vendor.close)
	for n := range p.daemons {
		d := &daemon{n: n, socket: filepath.Join(dir, fmt.Sprintf("s%d", n)), log: filepath.Join(dir, fmt.Sprintf("log%d", n))}
		d.relay, err = newRelay(socketOf(w.cluster), p.rewrite)
		require.NoError(t, err)
		t.Cleanup(d.relay.close)
		d.command = func(d *daemon) *exec.Cmd { return w.serve(binary, d) }
		w.daemons = append(w.daemons, d)
	}
	return w
}

func (w *world) project() string { return filepath.Join(w.dir, "project") }

// state is the state directory of a daemon: its own disk.
func (w *world) state(d *daemon) string { return filepath.Join(w.dir, fmt.Sprintf("state%d", d.n)) }

// serve is the command of a daemon.
func (w *world) serve(binary string, d *daemon) *exec.Cmd {
	args := []string{"serve", "--dir", w.project(), "--socket", d.socket, "--model", "anthropic:claude-sonnet-5-5", "--grace", "1s",
		"--store", d.relay.dsn(fmt.Sprintf("daemon%d", d.n)), "--node-ttl", w.plan.ttl.String(), "--node-beat", beat.String()}
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.project()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.project(), "GRAPNEL_HOME=" + w.state(d), "XDG_RUNTIME_DIR=",
		"ANTHROPIC_BASE_URL=" + w.vendor.address, "ANTHROPIC_API_KEY=none",
	}
	return cmd
}

// start starts the daemons and those who talk. What it returns ends the daemons, and waits.
func (w *world) start(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var clients []*client.Client
	for i, d := range w.daemons {
		require.NoError(w.t, os.MkdirAll(w.state(d), 0o700))
		d.supervise(ctx)
		var others []string
		for j := range w.daemons[1:] {
			others = append(others, w.daemons[(i+j+1)%len(w.daemons)].socket)
		}
		clients = append(clients, client.New(d.socket, &client.Options{Others: others, Retries: 1000, Wait: 20 * time.Millisecond}))
	}
	w.awaitAll(ctx)
	w.watch(ctx)
	for n := range w.plan.talks {
		k, err := newTalk(ctx, n, clients, w.plan.seed)
		require.NoError(w.t, err, "%s", w.logs())
		w.talks = append(w.talks, k)
	}
	return sync.OnceFunc(func() {
		for _, d := range w.daemons {
			d.signal(syscall.SIGTERM, time.Hour)
		}
		time.AfterFunc(5*time.Second, stop)
		for _, d := range w.daemons {
			d.awaitEnd(ctx)
		}
		stop()
		for _, d := range w.daemons {
			d.work.Wait()
		}
	})
}

// awaitAll returns when all daemons answer.
func (w *world) awaitAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, d := range w.daemons {
		d.awaitService(ctx)
		require.NoError(w.t, ctx.Err(), "a daemon does not serve: %s", w.logs())
	}
}

// logs are the ends of what the daemons have said.
func (w *world) logs() string {
	var b strings.Builder
	for _, d := range w.daemons {
		text, _ := os.ReadFile(d.log)
		fmt.Fprintf(&b, "\n%s:\n%s", d.log, text[max(0, len(text)-*logFlag):])
	}
	return b.String()
}

// play runs turns while faults happen, and returns what is known when all has come to rest.
func (w *world) play(ctx context.Context) evidence {
	end := w.start(ctx)
	defer end()
	talking, hush := context.WithCancel(ctx)
	var background, turns sync.WaitGroup
	stop := make(chan struct{})
	for _, k := range w.talks {
		background.Go(func() { k.follow(talking) })
		background.Go(func() { k.answer(talking) })
		turns.Go(func() { k.talk(talking, stop) })
	}
	began := time.Now()
	phase := func(name string) {
		w.t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	w.faults(ctx)
	phase("faults")
	w.heal(ctx)
	close(stop)
	phase("healed")
	stuck := w.settle(talking, &turns)
	phase("turns have ended")
	w.awaitJobs(ctx)
	phase("jobs have ended")
	w.awaitStreams(ctx)
	phase("streams have all")
	hush()
	turns.Wait()
	background.Wait()
	end()
	phase("daemons have ended")
	return w.evidence(ctx, stuck)
}

// settle waits until the turns have ended, runs one more in each conversation, and returns why that failed, by conversation.
func (w *world) settle(ctx context.Context, turns *sync.WaitGroup) map[string]string {
	ended := make(chan struct{})
	go func() {
		turns.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(w.rest):
	}
	ctx, cancel := context.WithTimeout(ctx, w.rest)
	defer cancel()
	var mu sync.Mutex
	stuck := map[string]string{}
	var last sync.WaitGroup
	for _, k := range w.talks {
		last.Go(func() {
			for ctx.Err() == nil && !k.turn(ctx, order{calls: 1}) {
			}
			if ctx.Err() != nil {
				mu.Lock()
				defer mu.Unlock()
				stuck[k.id] = fmt.Sprintf("no turn runs to its end within %s", w.rest)
			}
		})
	}
	last.Wait()
	return stuck
}

// awaitStreams waits until the streams have all that there is; who does not get it has a torn stream.
func (w *world) awaitStreams(ctx context.Context) {
	deadline := time.Now().Add(w.rest)
	for _, k := range w.talks {
		for time.Now().Before(deadline) {
			conv, err := k.client().ConversationByID(ctx, k.id)
			if err == nil && conv.LastEventID == k.snapshot().last {
				break
			}
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// open opens the store beside the daemons.
func (w *world) open(ctx context.Context) *postgres.Store {
	s, err := postgres.Open(ctx, w.cluster.DSN(""), nil)
	require.NoError(w.t, err)
	return s
}

// awaitJobs waits until no job is queued or runs; one that does is found by its oracle.
func (w *world) awaitJobs(ctx context.Context) {
	s := w.open(ctx)
	defer s.Close()
	for deadline := time.Now().Add(w.rest); time.Now().Before(deadline); pause(ctx, 100*time.Millisecond) {
		jobs, err := s.Jobs(ctx, store.JobFilter{Project: w.project(), Statuses: []store.JobStatus{store.JobQueued, store.JobRunning}})
		if err == nil && len(jobs) == 0 {
			return
		}
	}
}

// evidence reads what is stored.
func (w *world) evidence(ctx context.Context, stuck map[string]string) evidence {
	s := w.open(ctx)
	defer s.Close()
	e := evidence{refused: w.vendor.refused.Load()}
	var err error
	for _, k := range w.talks {
		one := told{id: k.id, seen: k.snapshot(), stuck: stuck[k.id]}
		one.messages, err = s.Messages(ctx, k.id)
		require.NoError(w.t, err)
		rows, err := s.Events(ctx, k.id, 0, 1<<30)
		require.NoError(w.t, err)
		for _, row := range rows {
			var ev hook.Event
			require.NoError(w.t, json.Unmarshal([]byte(row.Data), &ev))
			one.events = append(one.events, ev)
		}
		e.talks = append(e.talks, one)
	}
	e.jobs, err = s.Jobs(ctx, store.JobFilter{Project: w.project()})
	require.NoError(w.t, err)
	e.hasty, e.strange = w.noted(ctx, hastily, w.plan.ttl.String()), w.noted(ctx, strangely)
	text, err := os.ReadFile(filepath.Join(w.project(), effects))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(w.t, err)
	}
	e.effects = strings.Fields(string(text))
	return e
}

// judge prints a figure for each oracle, and returns all that they have found.
func (e evidence) judge(t testing.TB) (found []string) {
	for _, o := range oracles {
		bad := o.find(e)
		figure(t, o.name, len(bad), o.shows)
		for _, what := range bad[:min(len(bad), 20)] {
			t.Logf("%s: %s", o.name, what)
		}
		for _, what := range bad {
			found = append(found, o.name+": "+what)
		}
	}
	return found
}

// figure is a line that internal/test/prove reads.
func figure(t testing.TB, name string, value any, unit string) {
	t.Helper()
	t.Logf("FIGURE %s=%v %s", name, value, unit)
}

func needsAll(t testing.TB) {
	t.Helper()
	needs.Proof(t)
	pgtest.Programs(t)
}
