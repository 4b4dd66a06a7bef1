package script

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/estimate"
)

type player struct {
	ctx   context.Context
	yield func(message.Chunk, error) bool
	timer *time.Timer
	// stopped: the consumer has stopped. err is any other reason for the cut.
	stopped bool
	err     error
	out     int64 // bytes sent
}

func (p *player) release() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// play sends the rule's answer; false if it was cut.
func (p *player) play(r *rule, v *view) bool {
	reason, err := r.reason.expand(v)
	if err != nil {
		return p.fail(r, err)
	}
	say, err := r.say.expand(v)
	if err != nil {
		return p.fail(r, err)
	}
	if !p.wait(r.Pace.Wait) || !p.text(message.ChunkReasoning, reason, r.Pace) || !p.text(message.ChunkText, say, r.Pace) {
		return false
	}
	for i := range r.Calls {
		if !p.call(r, v, i) {
			return false
		}
	}
	if r.Err != nil {
		p.err = r.Err
		return false
	}
	return r.Finish == FinishNone || p.finish(r, v)
}

func (p *player) fail(r *rule, err error) bool {
	p.err = fmt.Errorf("script: %s: %w", r.where, err)
	return false
}

func (p *player) finish(r *rule, v *view) bool {
	c := message.Chunk{Kind: message.ChunkFinish, Finish: r.Finish}
	switch {
	case r.Finish != "":
	case len(r.Calls) > 0:
		c.Finish = message.FinishTools
	default:
		c.Finish = message.FinishStop
	}
	if r.Usage != nil {
		c.Usage = *r.Usage
	} else {
		c.Usage = message.Usage{Input: estimate.Tokens(v.size()), Output: estimate.Tokens(p.out)}
	}
	return p.send(c)
}

func (p *player) send(c message.Chunk) bool {
	if p.err = p.ctx.Err(); p.err != nil {
		return false
	}
	p.stopped = !p.yield(c, nil)
	return !p.stopped
}

func (p *player) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return true
	case <-p.ctx.Done():
		p.err = p.ctx.Err()
		return false
	}
}

func (p *player) text(kind message.ChunkKind, s string, pace Pace) bool {
	p.out += int64(len(s))
	for first := true; s != ""; first = false {
		if !first && !p.wait(pace.Delta) {
			return false
		}
		n := cut(s, pace.Bytes)
		if !p.send(message.Chunk{Kind: kind, Text: s[:n]}) {
			return false
		}
		s = s[n:]
	}
	return true
}

func (p *player) call(r *rule, v *view, i int) bool {
	args, err := r.args[i].expand(v)
	if err != nil {
		return p.fail(r, err)
	}
	p.out += int64(len(args))
	id := r.Calls[i].ID
	if id == "" {
		id = v.callID(i)
	}
	if !p.send(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: id, Tool: r.Calls[i].Tool}) {
		return false
	}
	for n := 0; args != ""; args = args[n:] {
		n = len(args)
		if r.Pace.Bytes > 0 {
			n = cut(args, r.Pace.Bytes)
		}
		if !p.send(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args[:n]}) {
			return false
		}
	}
	return p.send(message.Chunk{Kind: message.ChunkCallEnd, Index: i})
}

// callID makes an id from the position in the conversation. It is unique as long as the
// history only grows.
func (v *view) callID(i int) string {
	var buf [32]byte
	id := append(buf[:0], "call_"...)
	id = strconv.AppendInt(id, int64(v.req.Messages.Len()), 10)
	id = append(id, '_')
	return string(strconv.AppendInt(id, int64(i), 10))
}

func (v *view) size() int64 {
	n := len(v.req.System)
	for _, t := range v.req.Tools.Tools().All() {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return int64(n) + v.req.Messages.Bytes()
}

// cut returns the length of the next piece of s: a word and the blanks after it,
// or bytes up to the next border of a character.
func cut(s string, bytes int) int {
	if bytes > 0 {
		n := min(bytes, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		return n
	}
	blank := false
	for i := range len(s) {
		is := s[i] == ' ' || s[i] == '\n' || s[i] == '\t'
		if blank && !is {
			return i
		}
		blank = is
	}
	return len(s)
}
