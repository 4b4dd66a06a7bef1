package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func jobRules() []rule {
	return []rule{
		{"A job is queued once for its kind and key", jobsAreQueuedOnce},
		{"What has succeeded is never queued or taken again", succeededJobsAreOver},
		{"What was given up is queued again with the new payload", failedJobsMayBeQueuedAgain},
		{"Only what is no job is refused", badJobsAreRefused},
		{"The job that has been due for longest is taken, of the kinds that are asked for", jobsAreTakenInOrder},
		{"A job that is taken is the taker's until the lease ends, and its late end is refused", jobsAreFenced},
		{"A lease that is prolonged ends later, and only its holder prolongs it", jobsAreHeld},
		{"What the dead have taken is taken over at once", jobsOfTheDead},
		{"An attempt can be taken back", attemptsAreTakenBack},
		{"Who takes at the same time gets different jobs", jobsAreTakenOnce},
		{"A job that is due later is not taken before", laterJobsWait},
		{"One job can be asked for", oneJobIsTaken},
		{"A job that is cancelled does not run, and the end of a running attempt is refused", cancelledJobsAreOver},
		{"A job that has failed or was cancelled can be retried or dropped", deadJobs},
		{"A change is refused that is not for the status of a job, or for the job of another project", badChangesAreRefused},
		{"A filter selects jobs, the newest first, of one project", jobsAreFiltered},
		{"Jobs outlive the process unless the store is volatile", jobsAreKept},
	}
}

func jobs(b *bench) store.Jobs { return b.Store.(store.Jobs) }

func job(kind, key string) store.Job {
	return store.Job{Job: hook.Job{Kind: kind, Key: key, Payload: `{"n":1}`, Version: 3}, Contract: 2, Conversation: "c", Turn: "t"}
}

func enqueue(t *testing.T, b *bench, j store.Job, want bool) {
	t.Helper()
	queued, err := jobs(b).Enqueue(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, want, queued)
}

func jobsOf(t *testing.T, b *bench, f store.JobFilter) []store.Job {
	t.Helper()
	out, err := jobs(b).Jobs(t.Context(), f)
	require.NoError(t, err)
	return out
}

func change(t *testing.T, b *bench, id int64, c store.JobChange) store.Job {
	t.Helper()
	j, err := jobs(b).ChangeJob(t.Context(), "", id, c)
	require.NoError(t, err)
	return j
}

func takeJob(t *testing.T, b *bench, kinds ...string) store.Job {
	t.Helper()
	j, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: kinds, Hold: time.Minute})
	require.NoError(t, err)
	return j
}

func jobsAreQueuedOnce(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	enqueue(t, b, job("a", "1"), false)
	enqueue(t, b, job("b", "1"), true)
	enqueue(t, b, job("a", "2"), true)
	all := jobsOf(t, b, store.JobFilter{})
	require.Len(t, all, 3)
	now := b.clock.Now()
	first := all[2]
	assert.True(t, now.Equal(first.Due) && now.Equal(first.Created) && now.Equal(first.Updated))
	first.Due, first.Created, first.Updated = time.Time{}, time.Time{}, time.Time{}
	want := job("a", "1")
	want.ID, want.Status = first.ID, store.JobQueued
	assert.Equal(t, want, first)
	assert.Empty(t, jobsOf(t, b, store.JobFilter{Statuses: []store.JobStatus{store.JobRunning, store.JobFailed}}))
}

func succeededJobsAreOver(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	j := takeJob(t, b, "a")
	require.NoError(t, jobs(b).EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: store.JobSucceeded}))
	enqueue(t, b, job("a", "1"), false)
	b.clock.pass(time.Hour)
	none, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"a"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)
	assert.True(t, none.Due.IsZero())
	all := jobsOf(t, b, store.JobFilter{Statuses: []store.JobStatus{store.JobSucceeded}})
	require.Len(t, all, 1)
	assert.Empty(t, all[0].Payload, "what is done needs no payload")
	assert.Equal(t, 1, all[0].Attempts)
	require.ErrorIs(t, jobs(b).EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: store.JobFailed}), store.ErrFenced)
}

func failedJobsMayBeQueuedAgain(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	j := takeJob(t, b, "a")
	require.NoError(t, jobs(b).EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "error"}))
	all := jobsOf(t, b, store.JobFilter{Statuses: []store.JobStatus{store.JobFailed}})
	require.Len(t, all, 1)
	assert.Equal(t, "error", all[0].Failure)
	again := job("a", "1")
	again.Payload = `{"n":2}`
	enqueue(t, b, again, true)
	second := takeJob(t, b, "a")
	assert.Equal(t, message.JSON(`{"n":2}`), second.Payload)
	assert.Equal(t, 1, second.Attempts)
	assert.Empty(t, second.Failure)
	assert.Greater(t, second.Epoch, j.Epoch, "its first taker cannot end it")
}

func badJobsAreRefused(t *testing.T, b *bench) {
	long := string(make([]byte, 300))
	for _, j := range []hook.Job{{Key: "1"}, {Kind: "a"}, {Kind: "a", Key: long}, {Kind: "a", Key: "1", Payload: "{"}, {Kind: "a", Key: "1", Payload: message.JSON(make([]byte, 1<<17))}} {
		_, err := jobs(b).Enqueue(t.Context(), store.Job{Job: j})
		require.Error(t, err)
	}
	_, err := jobs(b).TakeJob(t.Context(), store.JobTake{Kinds: []string{"a"}, Hold: time.Minute})
	require.Error(t, err)
	_, err = jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"a"}})
	require.NotErrorIs(t, err, store.ErrNoJob)
	require.ErrorIs(t, jobs(b).EndJob(t.Context(), 99, 1, store.JobEnd{Status: store.JobSucceeded}), store.ErrUnknown)
	enqueue(t, b, store.Job{Job: hook.Job{Kind: "a", Key: "1"}}, true)
}

func jobsAreTakenInOrder(t *testing.T, b *bench) {
	enqueue(t, b, job("other", "1"), true)
	enqueue(t, b, job("a", "1"), true)
	b.clock.pass(time.Second)
	enqueue(t, b, job("a", "2"), true)
	first := takeJob(t, b, "a")
	assert.Equal(t, "1", first.Key)
	due := b.clock.Now().Add(10 * time.Second)
	require.NoError(t, jobs(b).EndJob(t.Context(), first.ID, first.Epoch, store.JobEnd{Status: store.JobQueued, Due: due, Failure: "error"}))
	second := takeJob(t, b, "a")
	assert.Equal(t, "2", second.Key)
	none, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"a"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)
	assert.True(t, due.Equal(none.Due), "it says when to come again")
	b.clock.pass(10 * time.Second)
	again := takeJob(t, b, "a")
	assert.Equal(t, "1", again.Key)
	assert.Equal(t, 2, again.Attempts)
	none, err = jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)
	assert.True(t, none.Due.IsZero(), "who can do nothing gets nothing")
}

func jobsAreFenced(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	first := takeJob(t, b, "a")
	assert.Equal(t, store.JobRunning, first.Status)
	assert.Equal(t, "me", first.Owner)
	assert.True(t, b.clock.Now().Add(time.Minute).Equal(first.Due))
	_, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "you", Kinds: []string{"a"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)
	b.clock.pass(time.Minute)
	second, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "you", Kinds: []string{"a"}, Hold: time.Minute})
	require.NoError(t, err)
	assert.Equal(t, 2, second.Attempts)
	require.ErrorIs(t, jobs(b).EndJob(t.Context(), first.ID, first.Epoch, store.JobEnd{Status: store.JobSucceeded}), store.ErrFenced)
	require.NoError(t, jobs(b).EndJob(t.Context(), second.ID, second.Epoch, store.JobEnd{Status: store.JobSucceeded}))
}

func jobsOfTheDead(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	first := takeJob(t, b, "a")
	second, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "you", Kinds: []string{"a"}, Hold: time.Minute, Gone: []string{"nobody", "me"}})
	require.NoError(t, err)
	assert.Equal(t, first.ID, second.ID)
	assert.Equal(t, "you", second.Owner)
}

func attemptsAreTakenBack(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	j := takeJob(t, b, "a")
	require.NoError(t, jobs(b).EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: store.JobQueued, Due: b.clock.Now(), Uncounted: true}))
	assert.Equal(t, 1, takeJob(t, b, "a").Attempts)
}

func jobsAreTakenOnce(t *testing.T, b *bench) {
	const n = 20
	for i := range n {
		enqueue(t, b, job("a", string(rune('a'+i))), true)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	taken := map[int64]int{}
	for range 4 {
		wg.Go(func() {
			for {
				j, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"a"}, Hold: time.Minute})
				if err != nil {
					return
				}
				mu.Lock()
				taken[j.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for id, times := range taken {
		assert.Equal(t, 1, times, "job %d", id)
	}
	for range n - len(taken) { // one that lost every race has given up
		j := takeJob(t, b, "a")
		assert.Zero(t, taken[j.ID])
	}
}

func jobsAreKept(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	first := takeJob(t, b, "a")
	if b.reopen == nil {
		return
	}
	b.Store = b.reopen()
	all := jobsOf(t, b, store.JobFilter{Statuses: []store.JobStatus{store.JobRunning}})
	require.Len(t, all, 1)
	assert.Equal(t, first.Epoch, all[0].Epoch)
	b.clock.pass(time.Minute)
	assert.Equal(t, first.ID, takeJob(t, b, "a").ID)
}

func jobsAreHeld(t *testing.T, b *bench) {
	s := jobs(b)
	enqueue(t, b, job("a", "1"), true)
	j := takeJob(t, b, "a")
	b.clock.pass(50 * time.Second)
	require.NoError(t, s.HoldJob(t.Context(), j.ID, j.Epoch, time.Minute))
	b.clock.pass(50 * time.Second)
	_, err := s.TakeJob(t.Context(), store.JobTake{Owner: "other", Kinds: []string{"a"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob, "it is held")
	b.clock.pass(11 * time.Second)
	taken, err := s.TakeJob(t.Context(), store.JobTake{Owner: "other", Kinds: []string{"a"}, Hold: time.Minute})
	require.NoError(t, err)
	require.ErrorIs(t, s.HoldJob(t.Context(), j.ID, j.Epoch, time.Hour), store.ErrFenced)
	require.ErrorIs(t, s.HoldJob(t.Context(), 4711, 1, time.Hour), store.ErrUnknown)
	require.NoError(t, s.EndJob(t.Context(), taken.ID, taken.Epoch, store.JobEnd{Status: store.JobSucceeded}))
	require.ErrorIs(t, s.HoldJob(t.Context(), taken.ID, taken.Epoch, time.Hour), store.ErrFenced, "the attempt has ended")
}

func laterJobsWait(t *testing.T, b *bench) {
	later := job("a", "1")
	later.Due = b.clock.Now().Add(time.Minute)
	enqueue(t, b, later, true)
	none, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"a"}, Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrNoJob)
	assert.True(t, later.Due.Equal(none.Due))
	b.clock.pass(time.Minute)
	assert.Equal(t, "1", takeJob(t, b, "a").Key)
	past := job("a", "2")
	past.Due = b.clock.Now().Add(-time.Hour)
	enqueue(t, b, past, true)
	assert.True(t, b.clock.Now().Equal(jobsOf(t, b, store.JobFilter{})[0].Due), "it is due now")
}

func oneJobIsTaken(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	enqueue(t, b, job("a", "2"), true)
	id := jobsOf(t, b, store.JobFilter{})[0].ID
	take := store.JobTake{Owner: "me", Kinds: []string{"a"}, Hold: time.Minute, ID: id}
	j, err := jobs(b).TakeJob(t.Context(), take)
	require.NoError(t, err)
	assert.Equal(t, "2", j.Key)
	_, err = jobs(b).TakeJob(t.Context(), take)
	require.ErrorIs(t, err, store.ErrNoJob, "not another one instead")
	take.ID = 4711
	_, err = jobs(b).TakeJob(t.Context(), take)
	require.ErrorIs(t, err, store.ErrNoJob)
}

func cancelledJobsAreOver(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	first := takeJob(t, b, "a")
	enqueue(t, b, job("a", "2"), true)
	second := jobsOf(t, b, store.JobFilter{})[0]
	for _, id := range []int64{first.ID, second.ID} {
		got := change(t, b, id, store.JobCancel)
		assert.Equal(t, store.JobCancelled, got.Status)
		assert.Equal(t, "cancelled", got.Failure)
	}
	require.ErrorIs(t, jobs(b).HoldJob(t.Context(), first.ID, first.Epoch, time.Minute), store.ErrFenced)
	require.ErrorIs(t, jobs(b).EndJob(t.Context(), first.ID, first.Epoch, store.JobEnd{Status: store.JobSucceeded}), store.ErrFenced)
	b.clock.pass(time.Hour)
	_, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "you", Kinds: []string{"a"}, Hold: time.Minute, Gone: []string{"me"}})
	require.ErrorIs(t, err, store.ErrNoJob)
	enqueue(t, b, job("a", "2"), false)
	assert.Equal(t, job("a", "2").Payload, jobsOf(t, b, store.JobFilter{})[0].Payload, "it can be retried")
}

func deadJobs(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	first := takeJob(t, b, "a")
	require.NoError(t, jobs(b).EndJob(t.Context(), first.ID, first.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "error"}))
	b.clock.pass(time.Second)
	again := change(t, b, first.ID, store.JobRetry)
	assert.Equal(t, store.JobQueued, again.Status)
	assert.Empty(t, again.Failure)
	assert.True(t, b.clock.Now().Equal(again.Due))
	second := takeJob(t, b, "a")
	assert.Equal(t, 1, second.Attempts)
	assert.Greater(t, second.Epoch, first.Epoch)
	change(t, b, first.ID, store.JobCancel)
	change(t, b, first.ID, store.JobRetry)
	third := takeJob(t, b, "a")
	require.NoError(t, jobs(b).EndJob(t.Context(), third.ID, third.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "error"}))
	was := change(t, b, first.ID, store.JobDrop)
	assert.Equal(t, store.JobFailed, was.Status)
	assert.Empty(t, jobsOf(t, b, store.JobFilter{}))
	enqueue(t, b, job("a", "1"), true)
	require.Error(t, jobs(b).EndJob(t.Context(), third.ID, third.Epoch, store.JobEnd{Status: store.JobFailed}))
}

func badChangesAreRefused(t *testing.T, b *bench) {
	enqueue(t, b, job("a", "1"), true)
	id := jobsOf(t, b, store.JobFilter{})[0].ID
	refused := func(want store.JobStatus, changes ...store.JobChange) {
		t.Helper()
		for _, c := range changes {
			_, err := jobs(b).ChangeJob(t.Context(), "", id, c)
			var state *store.JobStateError
			require.ErrorAs(t, err, &state, "%s", c)
			assert.Equal(t, store.JobStateError{ID: id, Status: want, Change: c}, *state)
		}
	}
	refused(store.JobQueued, store.JobRetry, store.JobDrop, "", "delete")
	j := takeJob(t, b, "a")
	refused(store.JobRunning, store.JobRetry, store.JobDrop)
	require.NoError(t, jobs(b).EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: store.JobSucceeded}))
	refused(store.JobSucceeded, store.JobCancel, store.JobRetry, store.JobDrop)
	_, err := jobs(b).ChangeJob(t.Context(), "/other", id, store.JobCancel)
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = jobs(b).ChangeJob(t.Context(), "", id+1, store.JobCancel)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func jobsAreFiltered(t *testing.T, b *bench) {
	for _, key := range []string{"1", "2", "3"} {
		enqueue(t, b, job("a", key), true)
	}
	other := job("b", "4")
	other.Conversation = "d"
	enqueue(t, b, other, true)
	foreign := job("a", "5")
	foreign.Project = "/p"
	enqueue(t, b, foreign, true)
	takeJob(t, b, "b")
	keys := func(f store.JobFilter) (out string) {
		all := jobsOf(t, b, f)
		for _, j := range all {
			out += j.Key
		}
		n, err := jobs(b).CountJobs(t.Context(), f)
		require.NoError(t, err)
		if f.Limit == 0 {
			assert.Equal(t, len(all), n)
		}
		return out
	}
	assert.Equal(t, "4321", keys(store.JobFilter{}))
	assert.Equal(t, "5", keys(store.JobFilter{Project: "/p"}))
	assert.Equal(t, "321", keys(store.JobFilter{Kind: "a"}))
	assert.Equal(t, "4", keys(store.JobFilter{Conversation: "d"}))
	assert.Equal(t, "4", keys(store.JobFilter{Statuses: []store.JobStatus{store.JobRunning, store.JobFailed}}))
	assert.Equal(t, "43", keys(store.JobFilter{Limit: 2}))
	third := jobsOf(t, b, store.JobFilter{})[1].ID
	assert.Equal(t, "3", keys(store.JobFilter{ID: third}))
	assert.Equal(t, "21", keys(store.JobFilter{Before: third}))
	n, err := jobs(b).CountJobs(t.Context(), store.JobFilter{Limit: 1})
	require.NoError(t, err)
	assert.Equal(t, 4, n, "whatever the limit")
}
