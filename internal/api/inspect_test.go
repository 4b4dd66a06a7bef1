package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// section adds a section to the prompt of each turn.
type section struct{ hook.Nop }

func (section) PromptSections(context.Context, *hook.Turn) ([]hook.PromptSection, error) {
	return []hook.PromptSection{{ID: "style", Title: "Style", Text: "Be brief about swordfish."}}, nil
}

// TestThePromptInParts: each part has its contributor, and what may be a secret leaves in no way.
func TestThePromptInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{section: &section{}, api: api.Options{
		Mask: func(text string) string { return strings.ReplaceAll(text, "swordfish", "[masked]") },
		Inspect: api.Inspect{Prompt: func(_ context.Context, agent *runtime.Agent, p *wire.Prompt) error {
			for i := range p.Tools {
				p.Tools[i].Owner = "Box"
			}
			p.ToolTokens, p.Searched = 40, 2
			p.Sections["mcp"] = map[string]any{"define": map[string]any{"charts": map[string]any{
				"command": "charts", "url": "https://me:k0@charts.example/v1?token=k3", "args": []any{"--key", "k4"}, "env": map[string]any{"KEY": "k1"}, "headers": map[string]any{"X": "k2"},
			}}}
			p.Sections["env"] = "not a list of variables"
			p.Instructions = []wire.PromptFile{{Path: "AGENTS.md", Tokens: 7}, {Path: "more.md", ImportedBy: "AGENTS.md", Note: "swordfish is cut"}}
			p.InstructionsOff = agent.Name()
			return nil
		}},
	}})
	before, err := w.client.Prompt(t.Context(), "helper")
	require.NoError(t, err)
	assert.Equal(t, []wire.PromptPart{{Contributor: "agent", Point: "instructions", Text: "Help.", Tokens: 2}}, before.Parts)
	assert.Empty(t, before.Turn)

	events := w.turn(w.conversation("ann").ID, "hello")
	got, err := w.client.Prompt(t.Context(), "helper")
	require.NoError(t, err)
	assert.Equal(t, events[0].Turn, got.Turn)
	require.Len(t, got.Parts, 2)
	assert.Equal(t, wire.PromptPart{
		Contributor: "Section", Point: "PromptSections", ID: "style", Text: "## Style\n\nBe brief about [masked].", Tokens: 9,
	}, got.Parts[1])
	assert.Len(t, got.Tools, 7)
	assert.Equal(t, "Box", got.Tools[0].Owner)
	assert.Positive(t, got.Tools[0].Tokens)
	assert.Equal(t, got.Parts[0].Tokens+got.Parts[1].Tokens+40, got.Tokens, "what is told, and not what a search finds")
	assert.Equal(t, map[string]any{
		"env": "not a list of variables",
		"mcp": map[string]any{"define": map[string]any{"charts": map[string]any{
			"command": "charts", "url": "https://charts.example/v1 (hidden)", "args": []any{"(hidden)", "(hidden)"}, "env": map[string]any{"KEY": "(hidden)"}, "headers": map[string]any{"X": "(hidden)"},
		}}},
	}, got.Sections)
	assert.Equal(t, "[masked] is cut", got.Instructions[1].Note)

	_, err = w.client.CreateAgent(t.Context(), wire.NewAgent{Name: "other", Model: "script:x", Tools: []string{}})
	require.NoError(t, err)
	other, err := w.client.Prompt(t.Context(), "other")
	require.NoError(t, err)
	assert.Equal(t, "script:x", other.Model)
	assert.Empty(t, other.Tools)
}

func TestModels(t *testing.T) {
	t.Parallel()
	read := 0.5
	w := newWorld(t, &worldOptions{api: api.Options{Model: "own:m", Inspect: api.Inspect{Models: func(all bool) (wire.Models, error) {
		price := wire.Price{Input: 1, Output: 2.5, CacheRead: &read, CacheWrite: &read, From: "2026-01-01", Above: 100}
		m := wire.Models{Date: "2026-11-25", Models: []wire.Model{}, Vendors: []wire.Vendor{{Vendor: "own", Models: 1, Hint: "set OWN_KEY"}}}
		if all {
			m.Models = []wire.Model{{
				Model: "own:m", Name: "M", Aliases: []string{"mm"}, Window: 1000, Output: 10, Price: &price, Prices: []wire.Price{price},
				Accepts: []string{"tools"}, Source: "x", Date: "2026-11-25",
			}, {Model: "own:free", Source: "y"}}
		}
		return m, nil
	}}}})
	got, err := w.client.Models(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, got.Models)
	assert.Equal(t, "own:m", got.Default)
	got, err = w.client.Models(t.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, 2.5, got.Models[0].Price.Output)
	assert.Nil(t, got.Models[1].Price, "an unknown price is not 0")
	assert.Equal(t, http.StatusBadRequest, w.answer(http.MethodGet, "/v1/models?all=yes"))
}

// TestSpending: costs are added up for the daemon's project alone.
func TestSpending(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{api: api.Options{Project: "/project"}})
	today := time.Now().Format(time.DateOnly)
	spend := func(key store.SpentKey, cost hook.Cost) {
		s := store.Spent{SpentKey: key, Calls: 2, Unpriced: 1, Estimated: 1, Usage: message.Usage{Input: 10, Output: 1}, Cost: cost}
		require.NoError(t, w.store.(store.Spending).Settle(t.Context(), 0, s))
	}
	spend(store.SpentKey{Day: "2026-01-01", Project: "/project", Agent: "a", Model: "m"}, 10)
	spend(store.SpentKey{Day: today, Project: "/project", Agent: "b", Model: "m", Token: "phone"}, 30)
	spend(store.SpentKey{Day: today, Project: "/elsewhere", Agent: "secret", Model: "n"}, 1000)

	got, err := w.client.Spending(t.Context(), "", "")
	require.NoError(t, err)
	assert.Equal(t, "model", got.By)
	assert.Equal(t, []wire.Spent{{Name: "m", Calls: 4, Unpriced: 2, Estimated: 2, Usage: message.Usage{Input: 20, Output: 2}, Cost: 40}}, got.Spent)
	got, err = w.client.Spending(t.Context(), "agent", "1d")
	require.NoError(t, err)
	assert.Equal(t, today, got.Since)
	require.Len(t, got.Spent, 1)
	assert.Equal(t, "b", got.Spent[0].Name)
	got, err = w.client.Spending(t.Context(), "day", "")
	require.NoError(t, err)
	assert.Equal(t, "2026-01-01", got.Spent[0].Name, "days are in their order")
	assert.Equal(t, hook.Cost(40), got.Total.Cost)

	_, err = w.client.Spending(t.Context(), "token", "")
	require.ErrorContains(t, err, `by is "token"; write one of model, agent, day`)
	_, err = w.client.Spending(t.Context(), "day", "yesterday")
	require.ErrorContains(t, err, "write a date such as 2026-11-25")
}

func TestTheAudit(t *testing.T) {
	t.Parallel()
	var asked []any
	w := newWorld(t, &worldOptions{api: api.Options{
		Mask: func(text string) string { return strings.ReplaceAll(text, "swordfish", "[masked]") },
		Inspect: api.Inspect{Audit: func(_ context.Context, limit int, before string) (wire.Audit, error) {
			asked = append(asked, limit, before)
			switch before {
			case "nowhere":
				return wire.Audit{}, api.ErrPlace
			case "broken":
				return wire.Audit{}, errors.New("the disk is gone")
			}
			return wire.Audit{Next: "7.1.", Problem: "record 2 was changed", Off: true, Entries: []wire.AuditEntry{{
				N: 1, Time: time.Now(), Kind: "gap", Node: "n", Agent: "a", Conversation: "c", Turn: "t", Step: 1, Depth: 1, Call: "x", Tool: "bash",
				Decision: "no disk: swordfish", By: "ann", Stop: hook.StopCompleted, Usage: message.Usage{Input: 1}, Cost: 1, SHA256: map[string]string{"text": "ab"},
			}}}, nil
		}},
	}})
	got, err := w.client.Audit(t.Context(), 5, "")
	require.NoError(t, err)
	assert.Equal(t, "no disk: [masked]", got.Entries[0].Decision)
	assert.False(t, got.Verified)
	assert.Equal(t, []any{5, ""}, asked)
	assert.Equal(t, http.StatusOK, w.answer(http.MethodGet, "/v1/audit"))
	assert.Equal(t, []any{5, "", 100, ""}, asked)
	for _, wrong := range []string{"limit=0", "limit=1001", "limit=x", "before=nowhere"} {
		assert.Equal(t, http.StatusBadRequest, w.answer(http.MethodGet, "/v1/audit?"+wrong), wrong)
	}
	assert.Equal(t, http.StatusInternalServerError, w.answer(http.MethodGet, "/v1/audit?before=broken"))

	none := newWorld(t, nil)
	got, err = none.client.Audit(t.Context(), 5, "")
	require.NoError(t, err)
	assert.Equal(t, wire.Audit{Entries: []wire.AuditEntry{}, Verified: true, Off: true}, got)
	models, err := none.client.Models(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, models.Vendors)
}
