package conn

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressMost bounds one line of progress in bytes.
const progressMost = 200

// reports routes a server's progress notifications to their calls. The zero value is ready;
// it is safe for concurrent use.
type reports struct {
	mu   sync.Mutex
	last int
	to   map[string]*listener
}

// listener is a call that gets progress. Its mutex is held during a notification, so that
// none comes after the call has returned.
type listener struct {
	mu     sync.Mutex
	report func(string)
}

// begin returns the token of a call. The call ends with done.
func (r *reports) begin(report func(string)) (token string, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	token = strconv.Itoa(r.last)
	if r.to == nil {
		r.to = map[string]*listener{}
	}
	l := &listener{report: report}
	r.to[token] = l
	return token, func() {
		r.mu.Lock()
		delete(r.to, token)
		r.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.report = nil
	}
}

func (r *reports) handle(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	r.mu.Lock()
	l := r.to[token]
	r.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.report != nil {
		l.report(progressLine(req.Params))
	}
}

// progressLine returns "reading: 3 of 10", or the parts of it that the server sent.
func progressLine(p *sdk.ProgressNotificationParams) string {
	line := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		line += fmt.Sprintf(" of %v", p.Total)
	}
	if p.Message != "" {
		line = p.Message + ": " + line
	}
	return Clip(line, progressMost)
}

// Clip cuts text to at most n bytes, at the border of a rune.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
