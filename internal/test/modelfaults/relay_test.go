//go:build unix

package modelfaults_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Faults that the relay asks aimock for, by their names there, and one that it makes of a
// whole answer.
const (
	drop       = "drop"       // 500
	malformed  = "malformed"  // 200 with a body that is no stream
	rateLimit  = "ratelimit"  // 429 with Retry-After
	disconnect = "disconnect" // the connection closes before the answer
	cut        = "cut"        // within the answer, and as often with the end of a whole body as with a reset
)

// rate is how often each fault is drawn.
const rate = 0.3

// relay stands between the adapter and aimock and draws the fault of each request.
type relay struct {
	dialect dialect
	aimock  string
	client  *http.Client
	seed    uint64
	// faults are drawn one after the other; the first one counts.
	faults []string
	// forgives makes a known-bad relay: it ends a cut answer as if it were whole.
	forgives bool

	mu sync.Mutex
	// log has what each try of a call drew, in order; "" is none.
	log map[modelCall][]string
	// odd is what a test of this relay must not see: a request that the strict server
	// refuses, or an answer of aimock that is not what it was asked for.
	odd []string
}

func newRelay(t *testing.T, d dialect, aimock string, faults ...string) (*relay, *httptest.Server) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	r := &relay{dialect: d, aimock: aimock, client: &http.Client{Transport: tr}, seed: *seedFlag, faults: faults, log: map[modelCall][]string{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server
}

// ServeHTTP passes a request on, with its fault.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.wonder("a request without its end: %v", err)
		return
	}
	if no := r.dialect.check(r.dialect.model(), body); no != nil {
		r.wonder("a request is refused: %s: %s", no.Message, body)
	}
	fault, dice := r.draw(body)
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, r.aimock+req.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		r.wonder("%v", err)
		return
	}
	out.Header = req.Header.Clone()
	if fault != "" && fault != cut {
		out.Header.Set("X-Aimock-Chaos-"+fault, "1")
	}
	status, data, err := r.ask(out)
	if !r.asAsked(fault, status, data, err) {
		r.wonder("aimock answers a request with the fault %q with %d %q %v", fault, status, data, err)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After-Ms", "1") // aimock's second, on the clock of the test
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(status)
	if fault == cut {
		r.cut(w, data, dice)
		return
	}
	_, _ = io.WriteString(w, data)
}

func (r *relay) ask(req *http.Request) (status int, data string, err error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// asAsked reports whether aimock has done what it was asked for.
func (r *relay) asAsked(fault string, status int, data string, err error) bool {
	switch fault {
	case drop:
		return status == http.StatusInternalServerError
	case rateLimit:
		return status == http.StatusTooManyRequests
	case malformed:
		return status == http.StatusOK && strings.Contains(data, "<<<chaos>>>")
	case disconnect:
		return err != nil
	}
	return err == nil && status == http.StatusOK && strings.Contains(data, r.dialect.finish)
}

// cut writes a part of an answer that ends before its finish.
func (r *relay) cut(w http.ResponseWriter, data string, dice *rand.Rand) {
	part := data[:dice.IntN(strings.LastIndex(data, r.dialect.finish))]
	if r.forgives {
		part = part[:strings.LastIndex("\n\n"+part, "\n\n")]
		end := r.dialect.last(script{})
		_, _ = io.WriteString(w, part+strings.Join(end.Events[end.Finish:], ""))
		return
	}
	_, _ = io.WriteString(w, part)
	if dice.IntN(2) == 0 {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// draw draws the fault of a request from the seed, its turn, its call and its try, and
// writes it down.
func (r *relay) draw(body []byte) (fault string, dice *rand.Rand) {
	c, err := callOf(body)
	if err != nil {
		r.wonder("%v: %s", err, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	dice = diceOf(r.seed, r.dialect.name, r.faults, c, len(r.log[c]))
	for _, f := range r.faults {
		if dice.Float64() < rate && fault == "" {
			fault = f
		}
	}
	r.log[c] = append(r.log[c], fault)
	return fault, dice
}

func (r *relay) wonder(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.odd = append(r.odd, fmt.Sprintf(format, args...))
}
