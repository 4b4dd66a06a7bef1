package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quota"
)

func limitOf(t *testing.T, err error) string {
	t.Helper()
	var e *quota.LimitError
	require.ErrorAs(t, err, &e)
	assert.Positive(t, e.After)
	assert.ErrorContains(t, err, "tenants."+e.Limit+" in config.yaml")
	return e.Limit
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := quota.Parse(`{"turns": 4, "waiting": 20, "connections": 100, "tokens": 2000000, "spending": {"day": 5},
		"owners": {"alice": {"turns": 8, "spending": {"turn": 1}}, "bob": {}}}`)
	require.NoError(t, err)
	assert.Equal(t, quota.Limits{}, s.Of(""), "the daemon's own user has no limits")
	carol := s.Of("carol")
	assert.Equal(t, 5*hook.Dollar, carol.Spending.Day)
	carol.Spending = quota.Limits{}.Spending
	assert.Equal(t, quota.Limits{Turns: 4, Waiting: 20, Connections: 100, Tokens: 2_000_000}, carol)
	assert.Equal(t, s.Of("carol"), s.Of("bob"))
	alice := s.Of("alice")
	assert.Equal(t, 8, alice.Turns)
	assert.Equal(t, 20, alice.Waiting)
	assert.Equal(t, hook.Dollar, alice.Spending.Turn)
	assert.Zero(t, alice.Spending.Day, "a section spending is one whole")

	none, err := quota.Parse("")
	require.NoError(t, err)
	assert.Equal(t, quota.Limits{}, none.Of("alice"))
	for text, says := range map[string]string{
		`{"turns": 0}`:                              "tenants.turns: 0 is no limit",
		`{"tokens": -1}`:                            "tenants.tokens: -1 is no limit",
		`{"turn": 1}`:                               "turn: unknown key",
		`{"owners": {"Alice": {}}}`:                 "tenants.owners: the owner",
		`{"owners": {"alice": {"waiting": 0}}}`:     "tenants.owners.alice.waiting",
		`{"owners": {"alice": {"owners": {}}}}`:     "owners.alice.owners: unknown key",
		`{"spending": {"day": -1}}`:                 "tenants of ~/.grapnel/config.yaml: day",
		`{"connections": 2000000}`:                  "1 to 1000000",
		`{"owners": {"alice": {"spending": []}}}`:   "tenants.owners.alice",
		`{"owners": {"alice": {}, "alice": {}}}`:    "alice",
		`{"owners": {"a:b": {"turns": 1}}}`:         "small letters",
		`{"owners": {"alice": {"connections": 0}}}`: "tenants.owners.alice.connections",
	} {
		_, err := quota.Parse(message.JSON(text))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := quota.NewGate(quota.Limits{Connections: 2}, nil)
		time.Sleep(time.Minute)
		assert.Equal(t, time.Minute, g.Unused())
		one, err := g.Enter()
		require.NoError(t, err)
		two, err := g.Enter()
		require.NoError(t, err)
		_, err = g.Enter()
		assert.Equal(t, "connections", limitOf(t, err))
		one()
		three, err := g.Enter()
		require.NoError(t, err)
		time.Sleep(time.Minute)
		assert.Zero(t, g.Unused(), "requests are open")
		two()
		three()
		time.Sleep(time.Second)
		assert.Equal(t, time.Second, g.Unused())
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	g := quota.NewGate(quota.Limits{Turns: 2, Waiting: 1}, nil)
	begin := func(conversation string, running ...string) (func(), error) {
		return g.Turn(t.Context(), conversation, func() []string { return running })
	}

	a, err := begin("a")
	require.NoError(t, err)
	b, err := begin("b", "a") // the turn of a runs, and its request has not ended yet: it counts once
	require.NoError(t, err)
	_, err = begin("c", "a")
	assert.Equal(t, "turns", limitOf(t, err), "two requests at a time get no more turns than one after the other")
	a()
	b()
	_, err = begin("c", "a", "b")
	assert.Equal(t, "turns", limitOf(t, err))

	waits, err := begin("a", "a", "b")
	require.NoError(t, err, "it waits for the turn of its conversation")
	_, err = begin("b", "a", "b")
	assert.Equal(t, "waiting", limitOf(t, err))
	_, err = begin("c", "b")
	assert.Equal(t, "turns", limitOf(t, err), "who waits has the place of the turn before it")
	waits()
	c, err := begin("c", "b")
	require.NoError(t, err)
	c()
}

func none() []string { return nil }

// TestATurnThatBeginsWhileTokensAreCounted counts for who waits for the sum.
func TestATurnThatBeginsWhileTokensAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running []string
		counted := make(chan struct{})
		g := quota.NewGate(quota.Limits{Turns: 1, Tokens: 100}, func(context.Context) (int64, error) {
			<-counted
			return 0, nil
		})
		failed := make(chan error)
		go func() {
			_, err := g.Turn(t.Context(), "b", func() []string { return running })
			failed <- err
		}()
		synctest.Wait() // it waits for the database
		running = []string{"a"}
		close(counted)
		assert.Equal(t, "turns", limitOf(t, <-failed))
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	used, err := int64(99), error(nil)
	g := quota.NewGate(quota.Limits{Tokens: 100}, func(context.Context) (int64, error) { return used, err })
	done, failed := g.Turn(t.Context(), "a", none)
	require.NoError(t, failed)
	done()
	used = 100
	_, failed = g.Turn(t.Context(), "a", none)
	assert.Equal(t, "tokens", limitOf(t, failed))
	assert.ErrorContains(t, failed, "begins anew at")
	used, err = 0, errors.New("no database")
	_, failed = g.Turn(t.Context(), "a", none)
	assert.ErrorContains(t, failed, "so no turn begins: no database")
}
