//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// host is a machine with a daemon of the project.
type host struct {
	t                      *testing.T
	project, socket, state string
	dsn                    string
	// inStore: commands are about the database too, and not about files.
	inStore bool
	cmd     *exec.Cmd
	out     bytes.Buffer
}

// newHost returns a machine on which an agent looks for memories behind every turn. The model does not answer about turns that
// hold matches, an expression; "" is none.
func newHost(t *testing.T, project, dsn, hold string) *host {
	t.Helper()
	h := &host{t: t, project: project, dsn: dsn, state: shortDir(t)}
	h.socket = filepath.Join(h.state, "s")
	putFile(t, filepath.Join(project, ".grapnel", "agents", "grapnel.md"), "---\nname: grapnel\nmemory: {recall: off, extraction: auto}\n---\nHelp.\n")
	const extract = "system: You find what an assistant should remember"
	held := ""
	if hold != "" {
		held = fmt.Sprintf("- {when: {%s, user: {matches: '%s'}}, pace: {wait: 1h}, say: '{\"memories\": []}'}\n", extract, hold)
	}
	putFile(t, filepath.Join(h.state, "model.yaml"), "format: true\nrules:\n"+held+fmt.Sprintf("- {when: {%s}, say: '{\"memories\": []}'}\n- {when: always, say: Hi.}\n", extract))
	return h
}

// serve starts the daemon and returns a client of it, once it serves.
func (h *host) serve() *client.Client {
	h.t.Helper()
	h.cmd = exec.CommandContext(h.t.Context(), "grapnel", "serve", "--dir", h.project, "--socket", h.socket, "--model", "script:"+filepath.Join(h.state, "model.yaml"),
		"--store", h.dsn, "--node-ttl", "1s", "--node-beat", "300ms")
	h.cmd.Env = h.env()
	h.cmd.Stdout, h.cmd.Stderr = &h.out, &h.out
	require.NoError(h.t, h.cmd.Start())
	c := client.New(h.socket, nil)
	serves := func() bool { _, err := c.Health(h.t.Context()); return err == nil }
	if !assert.Eventually(h.t, serves, time.Minute, 20*time.Millisecond, "it does not serve") {
		_ = h.cmd.Process.Signal(syscall.SIGQUIT) // it says where it hangs
		_ = h.cmd.Wait()
		require.FailNow(h.t, h.out.String())
	}
	return c
}

func (h *host) env() []string {
	env := append(os.Environ(), "HOME="+h.state, "GRAPNEL_HOME="+filepath.Join(h.state, "state"), "XDG_RUNTIME_DIR=")
	if h.inStore {
		env = append(env, app.DatabaseVariable+"="+h.dsn)
	}
	return env
}

// ends tells the daemon to end and waits for it.
func (h *host) ends() {
	h.t.Helper()
	require.NoError(h.t, h.cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(h.t, h.cmd.Wait(), "%s", &h.out)
}

// grapnel runs a command of the program in the project.
func (h *host) grapnel(args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "grapnel", args...)
	cmd.Dir, cmd.Env = h.project, h.env()
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	require.NoError(h.t, cmd.Run(), "grapnel %s: %s%s", strings.Join(args, " "), &out, &failed)
	return out.String()
}

// says runs a turn, and returns the job that it has queued.
func says(t *testing.T, c *client.Client, text string) (queued wire.Job) {
	t.Helper()
	conv, err := c.Conversation(t.Context(), "grapnel", "ann")
	require.NoError(t, err)
	turn, err := c.Send(t.Context(), conv.ID, text)
	require.NoError(t, err)
	for _, err := range c.Follow(t.Context(), turn) {
		require.NoError(t, err)
	}
	all, err := c.Jobs(t.Context(), wire.JobFilter{Limit: 1})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// becomes waits until the job has that status after so many attempts.
func becomes(t *testing.T, c *client.Client, id int64, status string, attempts int) {
	t.Helper()
	assert.EventuallyWithT(t, func(collect *assert.CollectT) {
		j, err := c.Job(t.Context(), id)
		assert.NoError(collect, err)
		assert.Equal(collect, fmt.Sprint(status, " ", attempts), fmt.Sprint(j.Status, " ", j.Attempts))
	}, 40*time.Second, 50*time.Millisecond)
}

// texts returns the texts that a query finds.
func texts(t *testing.T, dsn, query string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	rows, err := conn.Query(t.Context(), query)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// deliveries returns the states of River's jobs, each with the number of ours, in their order.
func deliveries(t *testing.T, dsn string) []string {
	t.Helper()
	return texts(t, dsn, `SELECT (args->>'job') || ' ' || state FROM grapnel_river.river_job ORDER BY id`)
}

// TestRiverDeliversTheJobsOfDaemonsOverOneDatabase: a job goes to another daemon when its own is killed, and is cancelled and retried
// from whichever is asked.
func TestRiverDeliversTheJobsOfDaemonsOverOneDatabase(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	dsn, project := pgtest.Database(t), t.TempDir()
	delivered := func(want ...string) {
		t.Helper()
		assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, deliveries(t, dsn)) }, 40*time.Second, 50*time.Millisecond)
	}
	first := newHost(t, project, dsn, "one")
	a := first.serve()
	one := says(t, a, "one")
	becomes(t, a, one.ID, "running", 1)
	second := newHost(t, project, dsn, "two")
	b := second.serve()
	delivered("1 running")
	require.NoError(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait()
	becomes(t, b, one.ID, "succeeded", 2)
	delivered("1 completed")

	two := says(t, b, "two")
	becomes(t, b, two.ID, "running", 1)
	third := newHost(t, project, dsn, "")
	c := third.serve()
	assert.Contains(t, third.grapnel("jobs", "cancel", "2", "--socket", third.socket), "cancelled")
	delivered("1 completed", "2 completed")
	becomes(t, b, two.ID, "cancelled", 1)
	second.ends()
	assert.Contains(t, third.grapnel("jobs", "retry", "2", "--socket", third.socket), "queued")
	becomes(t, c, two.ID, "succeeded", 1)
	delivered("1 completed", "2 completed", "2 completed")
	third.ends()
	assert.Contains(t, third.grapnel("store", "check", "--store", dsn), "nothing is damaged")

	t.Log("back in files there is nothing of River")
	third.grapnel("store", "copy", "--from", dsn)
	assert.Contains(t, third.grapnel("store", "check"), "nothing is damaged")
	assert.Contains(t, third.grapnel("jobs"), "succeeded")
}

// TestJobsThatAreCopiedToADatabaseAreDelivered: whether River's tables were there before or not.
func TestJobsThatAreCopiedToADatabaseAreDelivered(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for name, migrated := range map[string]bool{"an empty database": false, "a database that was migrated": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, t.TempDir(), pgtest.Database(t), "")
			putFile(t, filepath.Join(h.state, "broken.yaml"), "format: true\nrules:\n- {when: {system: You find what}, error: not now}\n- {when: always, say: Hi.}\n")
			h.grapnel("run", "--model", "script:"+filepath.Join(h.state, "broken.yaml"), "Remember")
			var before wire.Job
			require.NoError(t, json.Unmarshal([]byte(h.grapnel("jobs", "show", "1", "--json")), &before))
			assert.EqualValues(t, "queued", before.Status)
			if migrated {
				h.grapnel("store", "migrate", "--store", h.dsn)
				assert.Empty(t, deliveries(t, h.dsn))
			}
			h.grapnel("store", "copy", "--to", h.dsn)
			c := h.serve()
			becomes(t, c, before.ID, "succeeded", before.Attempts+1)
			assert.Contains(t, deliveries(t, h.dsn), "1 completed")
			h.ends()
		})
	}
}

// TestAScheduleRunsOnceWhoeverIsThere: three daemons over one database look at the same schedules, one of them is killed, and each time
// that comes has one run of one turn.
func TestAScheduleRunsOnceWhoeverIsThere(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	dsn, project := pgtest.Database(t), t.TempDir()
	var hosts []*host
	for range 3 {
		h := newHost(t, project, dsn, "")
		h.inStore = true
		h.serve()
		hosts = append(hosts, h)
	}
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		hosts[0].grapnel("schedule", "add", "@yearly", "What is new?", "--name", name)
	}
	const rounds = 5
	for round := range rounds {
		if round == 3 {
			require.NoError(t, hosts[0].cmd.Process.Kill())
			_ = hosts[0].cmd.Wait()
		}
		// A second has to pass, because a run is known by its second.
		texts(t, dsn, `WITH due AS (UPDATE schedule SET due = (extract(epoch FROM clock_timestamp()) * 1e9)::bigint RETURNING name) SELECT name FROM due, pg_sleep(1.1)`)
		want := fmt.Sprint((round+1)*len(names), " completed")
		assert.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.Equal(c, []string{want}, texts(t, dsn, `SELECT count(*) || ' ' || status FROM run GROUP BY status`))
		}, time.Minute, 50*time.Millisecond)
	}
	assert.Equal(t, []string{"a 5 5", "b 5 5", "c 5 5", "d 5 5"}, texts(t, dsn, `SELECT s.name || ' ' || count(DISTINCT r.turn) || ' ' || min(c.turns)
		FROM schedule s JOIN run r ON r.schedule = s.num JOIN conversation c ON c.id = r.conversation GROUP BY s.name ORDER BY 1`), "runs and turns of each")
	for _, h := range hosts[1:] {
		h.ends()
	}
}
