package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/quota"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// maxTenants is how many owners may have their program open at a time.
	maxTenants = 100
	// idleTime is how long the program of an owner stays open that nobody uses.
	idleTime = 10 * time.Minute
	// sweepTime is how often the programs of all owners are opened, so that what is interrupted goes on and old conversations go.
	sweepTime = 24 * time.Hour
	// retryTime is how long the error counts of a program that could not be opened.
	retryTime = 5 * time.Second
)

// tenants are the programs of the owners of tokens, each over its own state, with the server that answers for it. One is opened when
// its first request comes, and closed when nobody has used it for long. It is safe for concurrent use.
//
// tenants.mu is held for no call that may block.
type tenants struct {
	o        Options
	shared   sharing
	settings quota.Settings
	tokens   *access.Tokens
	idle     time.Duration
	own      *app.App // that of the daemon's user; set before run

	died chan struct{}

	mu      sync.Mutex
	closing bool
	members map[string]*member
}

// member is the program of one owner.
type member struct {
	owner string
	gate  *quota.Gate
	stop  context.CancelFunc
	// ready is closed when it is open or err says why not, ended when it is closed again.
	ready, ended chan struct{}
	*served
	err    error
	failed time.Time // when err was found out; zero if it is open
	// leaving: it is being closed, and takes no request. Guarded by tenants.mu.
	leaving bool
	closed  error // of its end, once ended is closed
}

// newTenants returns the tenants of a daemon. It is an error if there are tokens of owners who cannot be kept apart here.
func newTenants(o Options, shared sharing) (*tenants, error) {
	conf, err := o.App.Paths.Config()
	if err != nil {
		return nil, err
	}
	t := &tenants{o: o, shared: shared, tokens: o.App.Stores.Tokens(), idle: idleTime, died: make(chan struct{}, 1), members: map[string]*member{}}
	if t.settings, err = quota.Parse(conf.Tenants); err != nil {
		return nil, fmt.Errorf("~/.grapnel/config.yaml: %w", err)
	}
	owners, err := t.owners()
	if err != nil || len(owners) == 0 {
		return t, err
	}
	return t, isolates(o.App.Paths, o.App.Sandbox)
}

// isolates returns an error, with what to do, unless owners can share the system user: the sandbox keeps their commands from what is not
// theirs. mode is that of app.Options.Sandbox.
func isolates(paths app.Paths, mode string) error {
	box, err := paths.Sandbox(mode)
	if err != nil {
		return err
	}
	ok, why := box.Confines()
	remedy := box.Report().Remedy
	if err := box.Close(); err != nil || ok {
		return err
	}
	lines := []string{"the owners of tokens share the system user of the daemon, so their commands need the sandbox at its level full: " +
		cmp.Or(why, "it is turned off, by --sandbox or in ~/.grapnel/config.yaml")}
	lines = append(append(lines, remedy...), "Or revoke the tokens that have an owner (`grapnel token list`), and run a daemon of another system user for each of them.")
	return errors.New(strings.Join(lines, "\n"))
}

// owners returns the owners of tokens for the project of the daemon.
func (t *tenants) owners() ([]string, error) { return t.tokens.Owners(t.o.App.Paths.Root) }

// server returns the server of an owner, which answers until done is called. The error may be that of a limit.
func (t *tenants) server(ctx context.Context, owner string) (of *api.Server, done func(), err error) {
	for {
		m, err := t.member(owner)
		if err != nil {
			return nil, nil, err
		}
		select {
		case <-m.ready:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if m.err != nil {
			return nil, nil, unavailable(fmt.Sprintf("the daemon cannot serve the owner %s: %v", owner, m.err))
		}
		done, err, leaving := t.enter(m)
		if !leaving {
			return m.server, done, err
		}
		select {
		case <-m.ended:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func unavailable(text string) error {
	return &access.Refused{Status: http.StatusServiceUnavailable, Text: text}
}

// enter counts a request to a member, unless it is leaving.
func (t *tenants) enter(m *member) (done func(), err error, leaving bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.leaving {
		return nil, nil, true
	}
	done, err = m.gate.Enter()
	return done, refused(err), false
}

// member returns the member of an owner. It begins to open it if it is not open.
func (t *tenants) member(owner string) (*member, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, unavailable("the daemon is shutting down; send again when it runs again")
	}
	m := t.members[owner]
	if m != nil && (m.failed.IsZero() || time.Since(m.failed) < retryTime) {
		return m, nil
	}
	if m == nil && len(t.members) >= maxTenants {
		return nil, unavailable(fmt.Sprintf("the programs of %d owners are open, which is the limit; wait until one has been idle for %s", maxTenants, t.idle))
	}
	limits := t.settings.Of(owner)
	ctx, stop := context.WithCancel(context.Background())
	m = &member{owner: owner, stop: stop, ready: make(chan struct{}), ended: make(chan struct{})}
	m.gate = quota.NewGate(limits, func(ctx context.Context) (int64, error) {
		spent, err := m.today(ctx)
		return spent.Usage.Total(), err
	})
	t.members[owner] = m
	go t.live(ctx, m, limits)
	return m, nil
}

// live opens a member, serves until ctx ends, and closes it.
func (t *tenants) live(ctx context.Context, m *member, limits quota.Limits) {
	defer close(m.ended)
	defer m.stop()
	opened, err := t.open(ctx, m, limits)
	t.mu.Lock()
	if m.served, m.err = opened, err; err != nil {
		m.failed = time.Now()
	}
	t.mu.Unlock()
	close(m.ready)
	if err != nil {
		t.o.App.Note(fmt.Sprintf("the owner %s is not served: %v", m.owner, err))
		return
	}
	var kept sync.WaitGroup
	kept.Go(func() { m.keep(ctx) })
	m.closed = m.server.RunBehind(ctx, func(ctx context.Context) error {
		kept.Wait()
		return m.end(ctx)
	})
	t.mu.Lock()
	delete(t.members, m.owner)
	t.mu.Unlock()
}

// open opens the program of an owner. Nobody is there to be asked about what the project wants, so only what the user has approved
// counts.
func (t *tenants) open(ctx context.Context, m *member, limits quota.Limits) (*served, error) {
	o, shared := t.o, t.shared
	var err error
	if o.App.Paths, err = o.App.Paths.Of(m.owner); err != nil {
		return nil, err
	}
	o.App.Stores = o.App.Stores.Of(o.App.Paths)
	if err := isolates(o.App.Paths, o.App.Sandbox); err != nil {
		return nil, err
	}
	said := o.App.Note
	o.App.Note = func(text string) { said("owner " + m.owner + ": " + text) }
	o.App.Trust, o.App.Schedules, o.App.Spending, o.App.Of = o.App.TrustLater, false, limits.Spending, t.own
	shared.tenants, shared.reloaded = api.Tenants{Owner: m.owner, Admit: m.admit}, nil
	return serve(ctx, o, shared)
}

// admit asks the gate about a turn of a conversation.
func (m *member) admit(ctx context.Context, conversation string) (done func(), err error) {
	done, err = m.gate.Turn(ctx, conversation, m.running)
	return done, refused(err)
}

// running returns the conversations whose turns run.
func (m *member) running() (ids []string) {
	for _, turn := range m.app.Runtime.Running() {
		ids = append(ids, turn.Conversation().ID())
	}
	return ids
}

// refused is the error of a limit for clients.
func refused(err error) error {
	if beyond, ok := errors.AsType[*quota.LimitError](err); ok {
		return &access.Refused{Status: http.StatusTooManyRequests, Text: beyond.Error(), After: beyond.After}
	}
	return err
}

// today returns what models have used for the owner since midnight.
func (m *member) today(ctx context.Context) (sum store.Spent, err error) {
	project := m.app.Project()
	rows, err := m.app.Store.Spent(ctx, store.SpendingFilter{Since: time.Now().Format(time.DateOnly), Project: &project})
	for _, row := range rows {
		sum = sum.Add(row)
	}
	return sum, err
}

// unused reports whether nobody has used the member for so long, and nothing is left to do in it.
func (m *member) unused(ctx context.Context, long time.Duration) bool {
	rt := m.app.Runtime
	if m.gate.Unused() < long || len(rt.Running())+len(rt.Pending())+len(rt.Abandoned()) > 0 {
		return false
	}
	jobs, err := rt.Jobs(ctx, store.JobFilter{Statuses: []store.JobStatus{store.JobQueued, store.JobRunning}, Limit: 1})
	return err == nil && len(jobs) == 0
}

// takeOver makes run look for what owners were doing on a node that has died. It does not block.
func (t *tenants) takeOver() {
	select {
	case t.died <- struct{}{}:
	default: // it will look anyway
	}
}

// unfinished returns the owners who have a turn or a job that has not ended, in the database that this daemon shares with others. The
// servers of those that are open look themselves.
func (t *tenants) unfinished(ctx context.Context) (left []string) {
	root := t.o.App.Paths.Root
	recs, err := t.own.Unfinished(ctx)
	for _, rec := range recs {
		if id := tenant.Parse(rec.Key.Project); id.Owner != "" && id.Root == root {
			left = append(left, id.Owner)
		}
	}
	owners, failed := t.owners()
	err = errors.Join(err, failed)
	for _, owner := range owners {
		n, failed := t.own.Store.CountJobs(ctx, store.JobFilter{
			Project: tenant.ID{Owner: owner, Root: root}.String(), Statuses: []store.JobStatus{store.JobQueued, store.JobRunning},
		})
		err = errors.Join(err, failed)
		if n > 0 {
			left = append(left, owner)
		}
	}
	if err != nil {
		t.o.App.Note(fmt.Sprintf("what owners have left to do does not go on: %v", err))
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// run opens the programs of all owners at the start and once a day, and closes those that nobody uses, until ctx ends.
func (t *tenants) run(ctx context.Context) {
	look, sweep := time.NewTicker(max(t.idle/10, time.Millisecond)), time.NewTicker(sweepTime)
	defer look.Stop()
	defer sweep.Stop()
	due := t.sweep(ctx, nil)
	for {
		select {
		case <-look.C:
			t.closeUnused(ctx)
			due = t.sweep(ctx, due)
		case <-t.died:
			due = t.sweep(ctx, append(due, t.unfinished(ctx)...))
		case <-sweep.C:
			due = t.sweep(ctx, nil)
		case <-ctx.Done():
			return
		}
	}
}

// sweep opens the programs of the owners who are due; nil is all. It returns those for whom there is no room yet, never nil.
func (t *tenants) sweep(ctx context.Context, due []string) []string {
	if due == nil {
		var err error
		if due, err = t.owners(); err != nil {
			t.o.App.Note(fmt.Sprintf("what owners have left to do does not go on: %v", err))
		}
	}
	for i, owner := range due {
		if ctx.Err() != nil {
			return []string{}
		}
		m, err := t.member(owner)
		if err != nil {
			return due[i:]
		}
		select {
		case <-m.ready: // one after the other, because opening one takes the processor
		case <-ctx.Done():
		}
	}
	return []string{}
}

// closeUnused begins to close what nobody has used for long.
func (t *tenants) closeUnused(ctx context.Context) {
	for _, m := range t.all() {
		if !m.unused(ctx, t.idle) {
			continue
		}
		t.mu.Lock()
		if m.gate.Unused() >= t.idle { // a request may have come meanwhile
			m.leaving = true
			m.stop()
		}
		t.mu.Unlock()
	}
}

// all returns the members that are open, by their owners. It forgets those whose opening has failed.
func (t *tenants) all() (out []*member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, owner := range slices.Sorted(maps.Keys(t.members)) {
		switch m := t.members[owner]; {
		case m.served != nil:
			out = append(out, m)
		case !m.failed.IsZero() && time.Since(m.failed) > retryTime:
			delete(t.members, owner)
		}
	}
	return out
}

// close closes all members and waits for them. No other is opened any more.
func (t *tenants) close() error {
	t.mu.Lock()
	t.closing = true
	members := slices.Collect(maps.Values(t.members))
	t.mu.Unlock()
	for _, m := range members {
		m.stop()
	}
	var errs []error
	for _, m := range members {
		<-m.ended
		if m.closed != nil {
			errs = append(errs, fmt.Errorf("owner %s: %w", m.owner, m.closed))
		}
	}
	return errors.Join(errs...)
}

// reload reloads the agents of all members that are open.
func (t *tenants) reload(ctx context.Context) {
	for _, m := range t.all() {
		if _, err := m.reload(ctx); err != nil {
			t.o.App.Note(fmt.Sprintf("the agents of the owner %s are not reloaded: %v", m.owner, err))
		}
	}
}

// active returns what the members do, for who runs the daemon.
func (t *tenants) active(ctx context.Context) []wire.ActiveTenant {
	out := []wire.ActiveTenant{}
	for _, m := range t.all() {
		a := m.server.Activity(ctx)
		requests, waiting := m.gate.Open()
		out = append(out, wire.ActiveTenant{Owner: m.owner, Turns: len(a.Turns), Requests: requests, Waiting: waiting, Today: a.Today})
	}
	return out
}

// activity returns what the daemon does right now for all tenants together, for its metrics.
func (d *Daemon) activity(ctx context.Context) wire.Activity {
	sum := d.own.server.Activity(ctx)
	for _, m := range d.tenants.all() {
		a := m.server.Activity(ctx)
		sum.Turns = append(sum.Turns, a.Turns...)
		sum.Abandoned = append(sum.Abandoned, a.Abandoned...)
		sum.Approvals += a.Approvals
		sum.Questions += a.Questions
		sum.ClientCalls += a.ClientCalls
		sum.QueuedMessages += a.QueuedMessages
		sum.LateHooks += a.LateHooks
		sum.Streams += a.Streams
		sum.Lagging += a.Lagging
		sum.Missed += a.Missed
		if sum.QueuedJobs != nil && a.QueuedJobs != nil {
			jobs := *sum.QueuedJobs + *a.QueuedJobs
			sum.QueuedJobs = &jobs
		}
	}
	return sum
}
