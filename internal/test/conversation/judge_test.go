package conversation_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

// judge holds what goes over the wires to the rules. It is not safe for concurrent use.
type judge struct {
	problems []string
	// request is the newest request, as the runtime has made it, and sents all as they went
	// out, by the wire.
	request request
	sents   map[string][]sent
	// secrets are what servers have signed or encrypted, and thoughts the words of reasoning
	// with the models that have thought them.
	secrets  []secret
	thoughts map[string]string
	// epoch counts the compactions. silent are the turns without an answer.
	epoch  int
	silent map[int]bool
	// at is the turn of the newest request, and exchange the request with its answer.
	at       int
	exchange *exchange
	usage    message.Usage // of the newest turn
}

// request is what a request says, whatever its wire.
type request struct {
	model    string
	summary  bool
	words    []string
	failures int
	// images and documents count those of users and tools.
	images, documents int
	// results: the model gets results of calls of this turn.
	results bool
}

// sent is a request that went out.
type sent struct {
	request
	turn, epoch int
}

// exchange is a request and its answer. broken: the answer ends with an error.
type exchange struct {
	model  string
	turn   int
	broken bool
}

// secret is a text of a server that only one model may get back.
type secret struct {
	model, text string
	turn        int
	// due: the model must get it back, with results of the same turn.
	due bool
}

var (
	words  = regexp.MustCompile(`~[a-z][0-9]{2}(\.[0-9]+)*~`)
	signed = regexp.MustCompile(`"(?:signature|thoughtSignature|encrypted_content)":"([^"]{20,})"|"data":"([^"]{20,})","type":"redacted_thinking"`)
)

func (j *judge) problem(text string) {
	j.problems = append(j.problems, fmt.Sprintf("turn %d, %s: %s", j.at, j.request.model, text))
}

// asked takes the newest request of the runtime.
func (j *judge) asked(req message.ModelRequest) {
	if j.thoughts == nil {
		j.thoughts, j.sents, j.silent = map[string]string{}, map[string][]sent{}, map[int]bool{}
	}
	j.request = request{model: req.Model.Name, summary: isSummary(req.Messages)}
	var groups []string
	role, group := "", []string(nil)
	for _, m := range req.Messages.All() {
		if now := side(m); now != role {
			groups, role, group = append(groups, ordered(group)...), now, nil
		}
		if m.Role == message.RoleTool && m.Result.IsError() {
			j.request.failures++
		}
		j.request.results = m.Role == message.RoleTool
		for _, b := range append(m.Content.Slice(), m.Result.Content.Slice()...) {
			if b.Kind != message.BlockReasoning {
				group = append(group, words.FindAllString(b.Text+string(b.JSON), -1)...)
			}
			switch {
			case m.Role == message.RoleAssistant: // not every wire takes what a model made
			case b.Kind == message.BlockImage:
				j.request.images++
			case b.Kind == message.BlockDocument:
				j.request.documents++
			}
		}
	}
	j.request.words = append(groups, ordered(group)...)
}

func side(m message.Message) string {
	if m.Role == message.RoleAssistant {
		return "model"
	}
	return "user"
}

// ordered sorts the words of one side: wires differ in the order within a message.
func ordered(group []string) []string {
	slices.Sort(group)
	return group
}

// said returns the words of a body in the same way.
func said(body string) (out []string) {
	role, group := "", []string(nil)
	for _, w := range words.FindAllString(body, -1) {
		now := "user"
		switch w[1] {
		case 't':
			continue
		case 'a', 'c':
			now = "model"
		}
		if now != role {
			out, role, group = append(out, ordered(group)...), now, nil
		}
		group = append(group, w)
	}
	return append(out, ordered(group)...)
}

// sent takes a body that goes out over a wire.
func (j *judge) sent(turn int, wire, body string) *exchange {
	j.at, j.exchange = turn, &exchange{model: j.request.model, turn: turn}
	j.sents[wire] = append(j.sents[wire], sent{j.request, turn, j.epoch})
	want, got := j.request.words, said(body)
	if j.request.summary {
		got = ordered(got) // the record is one message
	}
	if !slices.Equal(got, want) {
		j.problem(fmt.Sprintf("the request says\n\t%v, not\n\t%v", got, want))
	}
	for _, s := range j.secrets {
		there := strings.Contains(body, s.text)
		switch {
		case there && s.model != j.request.model:
			j.problem("it gets what was signed for " + s.model + " in turn " + fmt.Sprint(s.turn))
		case !there && s.due && s.turn == turn && s.model == j.request.model && j.request.results:
			j.problem("it does not get back what it has signed in this turn")
		}
	}
	for _, w := range words.FindAllString(body, -1) {
		if by, ok := j.thoughts[w]; ok && by != j.request.model {
			j.problem("it gets the thought " + w + " of " + by)
		}
	}
	if got, has := failuresIn(wire, body); has && got != j.request.failures && !j.request.summary {
		j.problem(fmt.Sprintf("%d failed results are marked, not %d", got, j.request.failures))
	}
	if images, documents := strings.Count(body, png), strings.Count(body, pdf); images < j.request.images || documents < j.request.documents {
		j.problem(fmt.Sprintf("it has %d images and %d documents, not %d and %d", images, documents, j.request.images, j.request.documents))
	}
	if wire == "messages" && !markedAtTheEnd(body) {
		j.problem("the end of the request is not marked for the cache")
	}
	return j.exchange
}

// paired checks that each result stands at its call. A call and its result have one word but
// for the kind.
func (j *judge) paired(ms message.Messages) {
	calls := map[string]string{}
	for _, m := range ms.All() {
		for _, b := range m.Content.All() {
			if b.Kind == message.BlockToolCall {
				calls[b.CallID] = words.FindString(string(b.JSON))
			}
		}
		if got := words.FindString(m.Result.Text()); m.Role == message.RoleTool && got != strings.Replace(calls[m.CallID], "~c", "~r", 1) {
			j.problem(fmt.Sprintf("the result %s answers the call %s", got, calls[m.CallID]))
		}
	}
}

// failuresIn counts the results that a body marks as failed, if the wire has such a mark.
func failuresIn(wire, body string) (n int, has bool) {
	switch wire {
	case "messages":
		return strings.Count(body, `"is_error":true`), true
	case "gemini":
		return strings.Count(body, `"response":{"error":`), true
	}
	return 0, false
}

// markedAtTheEnd reports whether the last block of a body of Messages has a cache breakpoint.
func markedAtTheEnd(body string) bool {
	var of struct {
		Messages []struct{ Content []map[string]json.RawMessage }
	}
	if json.Unmarshal([]byte(body), &of) != nil || len(of.Messages) == 0 {
		return false
	}
	content := of.Messages[len(of.Messages)-1].Content
	return len(content) > 0 && content[len(content)-1]["cache_control"] != nil
}

// answered takes whole events of a response.
func (j *judge) answered(e *exchange, events string) {
	for line := range strings.Lines(events) {
		// The encrypted content of an item that has just begun is not the one to send back.
		preliminary := strings.Contains(line, `"type":"response.output_item.added"`)
		for _, m := range signed.FindAllStringSubmatch(line, -1) {
			text := m[1] + m[2]
			if !slices.ContainsFunc(j.secrets, func(s secret) bool { return s.text == text }) {
				j.secrets = append(j.secrets, secret{e.model, text, e.turn, !e.broken && !preliminary})
			}
		}
	}
}

// ended takes the end of a turn.
func (j *judge) ended(n int, of turn, out hook.TurnOutcome) {
	want := of.stop
	if want == "" {
		want = hook.StopCompleted
	}
	if out.Stop != want {
		j.problem(fmt.Sprintf("the turn ends as %s, not %s", out.Stop, want))
	}
	if !strings.Contains(out.Text(), of.says) {
		j.problem(fmt.Sprintf("the answer is %q, without %s", out.Text(), of.says))
	}
	u := out.Usage
	if u.Input <= 0 && want != hook.StopUserRequested || u.Output < 0 || u.CacheRead+u.CacheWrite > u.Input || u.Reasoning > u.Output {
		j.problem(fmt.Sprintf("a usage that cannot be: %+v", u))
	}
	j.silent[n], j.usage = of.silent, u
}

// verdict returns all problems: those so far, what the servers have refused, and requests that
// do not continue the one before.
func (j *judge) verdict(servers map[string]*strictwire.Handler) []string {
	out := slices.Clone(j.problems)
	for _, w := range strictwire.Wires() {
		for _, no := range servers[w.Name()].Rejections() {
			out = append(out, fmt.Sprintf("%s refuses by the rule %s: %s", w.Name(), no.Rule, no.Message))
		}
		requests := servers[w.Name()].Requests()
		sents := j.sents[w.Name()]
		for i := 1; i < len(requests); i++ {
			p, now, before := requests[i].Prefix, sents[i], sents[i-1]
			if now.model != before.model || now.epoch != before.epoch || now.summary || before.summary || p.Stable() {
				continue
			}
			if j.silent[before.turn] && now.turn > before.turn && p.Tools && p.System && p.Kept == p.Before-1 {
				continue // the user's next message has joined the last one
			}
			out = append(out, fmt.Sprintf("%s, turn %d: request %d does not continue the one before: %+v", w.Name(), now.turn, i, p))
		}
	}
	return out
}
