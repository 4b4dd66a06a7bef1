package compact

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Tokens of a byte: the usual estimate, and the limits of what reports of usage may make of it.
const (
	usualScale = 0.25
	leastScale = 0.1
	mostScale  = 2
)

// step is what was done to make room in a step of the turn.
type step struct {
	number int
	// messages and bytes are those of the last request.
	messages message.Messages
	bytes    int64
	// summarised: older turns were summed up in this step. refused counts how often the
	// provider has refused a request for its length.
	summarised bool
	refused    int
	// failed: a summary of this turn has failed. Another one is asked for only if the request
	// has no room without it.
	failed bool
}

// leastNoted is the size of the requests that say something about the tokens of a byte. Nobody
// refuses shorter ones for their length.
const leastNoted = 4096

// size is how large a request is and may be, in tokens.
type size struct {
	used, limit int64
	// scale is the tokens of a byte.
	scale float64
}

// reaches reports whether the request has that share of the window.
func (s size) reaches(share float64) bool { return float64(s.used) > share*float64(s.limit) }

// bytes returns how many bytes a share of the window has.
func (s size) bytes(share float64) int { return int(share * float64(s.limit) / s.scale) }

// bytesOf returns the bytes of a request.
func bytesOf(req *message.ModelRequest) int64 {
	// Roles, ids and the form of the wire.
	form := 16*req.Messages.Len() + 60*req.Tools.Tools().Len()
	return req.Messages.Bytes() + int64(len(req.System)+form) + req.Tools.Bytes()
}

// measure returns the size of the request. What the answer may need is not part of the window.
func (c *Compact) measure(o Options, cfg *hook.AgentConfig, req *message.ModelRequest) size {
	c.mu.RLock()
	scale, learned := c.scale[req.Model.Name], c.learned[req.Model.Name]
	c.mu.RUnlock()
	if scale == 0 {
		scale = usualScale
	}
	window := int64(cmp.Or(req.Model.ContextWindow, o.Window))
	if learned > 0 && learned < window {
		window = learned
	}
	reserved := int64(cfg.Model.MaxTokens)
	if reserved == 0 || reserved > window/2 {
		reserved = window / 8
	}
	return size{used: int64(float64(bytesOf(req)) * scale), limit: window - reserved, scale: scale}
}

// RewriteRequest makes room in a request that fills the window.
func (c *Compact) RewriteRequest(ctx context.Context, s *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	if s.Turn().IsCompaction() {
		c.remember(s, req)
		return req, nil
	}
	o := c.of(s.Turn().Agent())
	before, cfg := s.Turn(), s.Turn().Agent()
	req.Messages = c.withoutCleared(before.Conversation(), req.Messages)
	now := c.measure(o, cfg, &req)
	if now.reaches(o.Clear) {
		if id := lastCleared(req.Messages, o.Results); id != "" {
			c.cleared.Update(before.Conversation(), func(string) string { return id })
			req.Messages = c.withoutCleared(before.Conversation(), req.Messages)
			now = c.measure(o, cfg, &req)
		}
	}
	if now.reaches(o.Share) && (!c.turn.Get(s.Turn()).failed || now.reaches(1)) && c.first(s) {
		why := fmt.Sprintf("the request has about %d of %d tokens", now.used, now.limit)
		failed := !c.summarise(ctx, s, o, now, why, o.Keep)
		c.turn.Update(s.Turn(), func(was step) step { was.failed = failed; return was })
	}
	if n := bytesOf(&req); n >= leastNoted {
		c.turn.Update(s.Turn(), func(was step) step {
			was.number, was.messages, was.bytes = s.Number(), req.Messages, n
			return was
		})
	}
	return req, nil
}

// first reports whether nothing was summarised in the step yet, and notes that it is now.
func (c *Compact) first(s *hook.Step) (first bool) {
	c.turn.Update(s.Turn(), func(was step) step {
		if was.number != s.Number() {
			was = step{number: s.Number(), failed: was.failed}
		}
		first, was.summarised = !was.summarised, true
		return was
	})
	return first
}

// summarise has older turns replaced by a summary. If no model can write it, the summary is
// made of what people have said. It reports whether there is one.
func (c *Compact) summarise(ctx context.Context, s *hook.Step, o Options, now size, why string, keep float64) bool {
	opts := hook.CompactOptions{
		KeepBytes: max(1, now.bytes(keep)), Model: o.Model,
		MaxSummary: min(maxSummary, max(4000, now.bytes(0.2))), MaxRequest: min(maxRequest, now.bytes(0.5)),
	}
	id := s.Turn().Conversation().ID()
	c.setRunning(id, running{max: opts.MaxSummary})
	defer c.setRunning(id, running{})
	_, err := s.Host().Compact(ctx, why, opts)
	if err == nil || ctx.Err() != nil || !now.reaches(1) {
		return err == nil
	}
	c.setRunning(id, running{max: opts.MaxSummary, mechanical: true})
	_, err = s.Host().Compact(ctx, why+", and no model can sum it up", opts)
	return err == nil
}

// Limits of a summary and of a request for one, in bytes, where the window allows more.
const (
	maxSummary = 16_000
	maxRequest = 400_000
)

// running is a compaction that this subsystem has asked for.
type running struct {
	// max is the limit of the summary in bytes.
	max int
	// mechanical: no model writes it.
	mechanical bool
}

// setRunning keeps what runs in the conversation; the zero value is nothing.
func (c *Compact) setRunning(id string, r running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == (running{}) {
		delete(c.running, id)
	} else {
		c.running[id] = r
	}
}

// runs returns what runs in the conversation. Another's compaction has the runtime's limit.
func (c *Compact) runs(id string) running {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r, ok := c.running[id]; ok {
		return r
	}
	return running{max: maxSummary}
}

// OnModelError makes room when the provider says that the request was too long, and asks again.
func (c *Compact) OnModelError(ctx context.Context, s *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	if f.Class != message.FailureContext || s.Turn().IsCompaction() {
		return hook.FailureDecision{}, nil
	}
	was := c.turn.Update(s.Turn(), func(was step) step { was.refused++; return was })
	if was.refused > 2 || was.number != s.Number() {
		return hook.FailureDecision{}, nil
	}
	o, conv := c.of(s.Turn().Agent()), s.Turn().Conversation()
	now := c.learn(o, f.Model, was.bytes)
	room := false
	if id := lastCleared(was.messages, 1); id != "" && id != c.cleared.Get(conv) {
		c.cleared.Update(conv, func(string) string { return id })
		room = true
	}
	if c.summarise(ctx, s, o, now, "the provider says that the request is longer than its window", o.Keep/float64(2*was.refused)) || room {
		return hook.RetryFailure(0), nil
	}
	return hook.FailureDecision{}, nil
}

// learn notes that the provider has refused a request of so many bytes, and returns its size.
func (c *Compact) learn(o Options, model string, bytes int64) size {
	c.mu.Lock()
	defer c.mu.Unlock()
	scale := c.scale[model]
	if scale == 0 {
		scale = usualScale
	}
	used := int64(float64(bytes) * scale)
	if len(c.learned) < maxModels && used > 1000 && (c.learned[model] == 0 || used < c.learned[model]) && used < int64(o.Window) {
		c.learned[model] = used
	}
	return size{used: used + 1, limit: max(used, 1), scale: scale}
}

// maxModels limits the models that figures are kept for.
const maxModels = 100

// note learns from the usage of a reply how many tokens a byte has.
func (c *Compact) note(s *hook.Step, reply message.ModelReply) {
	sent := c.turn.Get(s.Turn())
	if reply.Usage.Input < 100 || sent.bytes == 0 || sent.number != s.Number() {
		return
	}
	seen := min(max(float64(reply.Usage.Input)/float64(sent.bytes), leastScale), mostScale)
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, known := c.scale[reply.Model]; !known && len(c.scale) >= maxModels {
		return
	} else if known {
		seen = (was + seen) / 2
	}
	c.scale[reply.Model] = seen
}

// clearedText takes the place of a result.
const clearedText = "[The result of this call, %d bytes, is left out because the conversation has grown long. Call the tool again if you need it.]"

// leastCleared is the size of results that are not worth leaving out, in bytes.
const leastCleared = 400

// withoutCleared returns the messages without the results of calls that were cleared.
func (c *Compact) withoutCleared(conv *hook.Conversation, all message.Messages) message.Messages {
	id := c.cleared.Get(conv)
	if id == "" {
		return all
	}
	end := -1
	for i, m := range all.All() {
		if m.Role == message.RoleTool && m.CallID == id {
			end = i
		}
	}
	if end < 0 { // it was summed up
		return all
	}
	out := all.Slice()
	for i := range out[:end+1] {
		if n := sizeOf(&out[i]); n >= leastCleared {
			out[i].Result.Content = message.ListOf(message.TextBlock(fmt.Sprintf(clearedText, n)))
		}
	}
	return message.MessagesOf(out...)
}

// lastCleared returns the id of the newest call whose result is not among the newest ones; "" if
// clearing the results up to it would make no room.
func lastCleared(all message.Messages, keep int) (id string) {
	room := false
	for i := all.Len() - 1; i >= 0; i-- {
		m := all.At(i)
		if m.Role != message.RoleTool {
			continue
		}
		if keep--; keep >= 0 {
			continue
		}
		if id == "" {
			id = m.CallID
		}
		if room = sizeOf(&m) >= leastCleared; room {
			return id
		}
	}
	return ""
}

// sizeOf returns the bytes of a result; 0 for other messages.
func sizeOf(m *message.Message) int {
	if m.Role != message.RoleTool {
		return 0
	}
	return len(m.Result.Text())
}
