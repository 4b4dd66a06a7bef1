package providertest_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func TestConformance(t *testing.T) { providertest.Run(t, gateway()) }

// gateway describes the gateway's wire to the kit.
func gateway() providertest.Wire {
	return providertest.Wire{
		Name: wireName,
		Open: func(s providertest.Server) provider.Provider {
			return Gateway(s.URL+"/chat", s.Key, s.Client())
		},
		Answer: written, Failures: failures, ContentType: "application/x-ndjson",
	}
}

// written writes an answer as the gateway's server does.
func written(a providertest.Answer) (s providertest.Stream) {
	calls := 0
	write := func(v map[string]any) {
		data, _ := json.Marshal(v) // maps of strings and numbers
		s.Events = append(s.Events, string(data)+"\n")
	}
	for _, p := range a.Pieces {
		switch p.Kind {
		case providertest.PieceText, providertest.PieceReasoning, providertest.PieceSignature:
			write(map[string]any{string(p.Kind): p.Text})
		case providertest.PieceCall:
			calls++
			write(map[string]any{"call": map[string]any{"index": p.Call, "id": p.ID, "tool": p.Tool}})
		case providertest.PieceArguments:
			write(map[string]any{"args": map[string]any{"index": p.Call, "text": p.Text}})
		}
	}
	for i := range calls {
		write(map[string]any{"end": map[string]any{"index": i}})
	}
	s.Finish = len(s.Events)
	write(map[string]any{"finish": a.Finish, "usage": a.Usage})
	return s
}

// failures are the errors of the gateway's server.
func failures(text string) (all []providertest.Failure) {
	for _, f := range []struct {
		class  message.FailureClass
		status int
		code   string
		wait   int
	}{
		{message.FailureRateLimit, 429, "rate_limited", 7},
		{message.FailureRateLimit, 429, "rate_limited", 0},
		{message.FailureAuth, 401, "unauthenticated", 0},
		{message.FailureRequest, 400, "bad_request", 0},
		{message.FailureServer, 500, "internal", 0},
		{message.FailureOverloaded, 200, "overloaded", 3},
	} {
		all = append(all, providertest.Failure{
			Class: f.class, Status: f.status, RetryAfter: time.Duration(f.wait) * time.Second,
			Body: fmt.Sprintf(`{"error":{"code":%q,"message":"%s","wait":%d}}`+"\n", f.code, text, f.wait),
		})
	}
	return all
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
