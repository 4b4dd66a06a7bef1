package api_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/grapnel-go/grapnel/client/wire"
)

// coverage is what of the document the tests of this package have seen, all together.
type coverage struct {
	mu       sync.Mutex
	spec     *openapi3.T
	answers  map[string]bool // "POST /v1/links 403"
	codes    map[string]bool // "busy 409"
	members  map[string]bool // "Conversation.title"
	headers  map[string]bool // "POST /v1/agents 201 Location"
	problems map[string]bool
}

// covered has what was seen until TestMain looks.
var covered = &coverage{
	answers: map[string]bool{}, codes: map[string]bool{}, members: map[string]bool{}, headers: map[string]bool{}, problems: map[string]bool{},
}

// exchange records a response.
func (c *coverage) exchange(spec *openapi3.T, method, path string, status int, header map[string][]string, sent, got []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spec = spec
	at := fmt.Sprintf("%s %s %d", method, path, status)
	c.answers[at] = true
	op := spec.Paths.Value(path).GetOperation(method)
	answer := op.Responses.Value(strconv.Itoa(status))
	if answer == nil && status != 500 {
		c.problems["the document has no response "+at] = true
		return
	}
	if answer == nil {
		answer = op.Responses.Default()
	}
	for _, name := range documentedHeaders {
		_, told := header[name]
		documented := slices.ContainsFunc(slices.Collect(maps.Keys(answer.Value.Headers)), func(h string) bool { return http.CanonicalHeaderKey(h) == name })
		if told {
			c.headers[at+" "+name] = true
		}
		if told != documented {
			c.problems[fmt.Sprintf("%s: the header %s: sent %v, in the document %v", at, name, told, documented)] = true
		}
	}
	if body := op.RequestBody; body != nil && status < 300 {
		if media := body.Value.Content.Get("application/json"); media != nil {
			c.value(media.Schema, sent)
		}
	}
	if media := answer.Value.Content.Get("application/json"); media != nil {
		c.value(media.Schema, got)
	}
	c.code(status, got)
}

// failed records the code of a response that belongs to no operation, or did not come through the contract.
func (c *coverage) failed(status int, got []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code(status, got)
}

func (c *coverage) code(status int, got []byte) {
	var f wire.Failure
	if status >= 400 && json.Unmarshal(got, &f) == nil && f.Error.Code != "" { // a probe that fails has no code
		c.codes[fmt.Sprintf("%s %d", f.Error.Code, status)] = true
	}
}

// documentedHeaders are those that a client needs.
var documentedHeaders = []string{"Location", "Retry-After", "Www-Authenticate"}

// event records the members of an event.
func (c *coverage) event(spec *openapi3.T, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spec = spec
	c.value(&openapi3.SchemaRef{Ref: "#/Event", Value: spec.Components.Schemas["Event"].Value}, data)
}

func (c *coverage) value(of *openapi3.SchemaRef, data []byte) {
	var v any
	if json.Unmarshal(data, &v) == nil {
		c.visit("", of, v, map[*openapi3.Schema]bool{})
	}
}

// visit records the members of a value by the schemas that have them. A schema without a name counts by its place.
func (c *coverage) visit(place string, of *openapi3.SchemaRef, v any, above map[*openapi3.Schema]bool) {
	if of == nil {
		return
	}
	if of.Ref != "" {
		place = of.Ref[strings.LastIndex(of.Ref, "/")+1:]
	}
	for _, list := range []openapi3.SchemaRefs{of.Value.AllOf, of.Value.OneOf, of.Value.AnyOf} {
		for _, one := range list {
			c.visit(place, one, v, above)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if p, ok := of.Value.Properties[name]; ok {
				c.members[place+"."+name] = true
				c.visit(place+"."+name, p, member, above)
			} else {
				c.visit(place+".*", of.Value.AdditionalProperties.Schema, member, above)
			}
		}
	case []any:
		for _, item := range v {
			c.visit(place+"[]", of.Value.Items, item, above)
		}
	}
}

// documented lists the members of all schemas that operations use.
func documented(spec *openapi3.T) []string {
	out := map[string]bool{}
	done := map[string]bool{}
	var walk func(place string, of *openapi3.SchemaRef)
	walk = func(place string, of *openapi3.SchemaRef) {
		if of == nil || of.Value == nil {
			return
		}
		if of.Ref != "" {
			place = of.Ref[strings.LastIndex(of.Ref, "/")+1:]
			if done[place] {
				return
			}
			done[place] = true
		}
		for _, list := range []openapi3.SchemaRefs{of.Value.AllOf, of.Value.OneOf, of.Value.AnyOf} {
			for _, one := range list {
				walk(place, one)
			}
		}
		for name, p := range of.Value.Properties {
			out[place+"."+name] = true
			walk(place+"."+name, p)
		}
		walk(place+".*", of.Value.AdditionalProperties.Schema)
		walk(place+"[]", of.Value.Items)
	}
	for name := range spec.Components.Schemas {
		walk("", &openapi3.SchemaRef{Ref: "#/" + name, Value: spec.Components.Schemas[name].Value})
	}
	return slices.Sorted(maps.Keys(out))
}

// missing returns what of the document no test has seen, and what tests have seen that the document has not.
func (c *coverage) missing() []string {
	out := slices.Sorted(maps.Keys(c.problems))
	for _, member := range documented(c.spec) {
		_, excused := unseenMembers[member]
		switch seen := c.members[member]; {
		case !seen && !excused:
			out = append(out, "no test has the member "+member+"; test it, or say in unseenMembers why not")
		case seen && excused && !strings.HasPrefix(member, "Event."): // which events come is a matter of time too
			out = append(out, "a test has the member "+member+"; take it out of unseenMembers")
		}
	}
	for _, code := range c.spec.Components.Schemas["Failure"].Value.Properties["error"].Value.Properties["code"].Value.Enum {
		code, _ := code.(string)
		for _, status := range statusesOf[code] {
			if at := fmt.Sprintf("%s %d", code, status); !c.codes[at] {
				out = append(out, "no test has the code and status "+at)
			}
		}
		if len(statusesOf[code]) == 0 {
			out = append(out, "statusesOf does not have the code "+code)
		}
	}
	for at := range c.codes {
		code, status, _ := strings.Cut(at, " ")
		if n, _ := strconv.Atoi(status); !slices.Contains(statusesOf[code], n) {
			out = append(out, "statusesOf does not have the status of the code "+at)
		}
	}
	for path, item := range c.spec.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				at := method + " " + path + " " + status
				if _, excused := unseenAnswers[at]; status != "default" && !anywhere[status] && !c.answers[at] && !excused {
					out = append(out, "no test has the answer "+at)
				} else if excused && c.answers[at] {
					out = append(out, "a test has the answer "+at+"; take it out of unseenAnswers")
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// look fails the run if something is missing. It looks only when all tests have run.
func (c *coverage) look(code int) int {
	if code != 0 || flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" || c.spec == nil {
		return code
	}
	for _, line := range c.missing() {
		fmt.Fprintln(os.Stderr, "docs/openapi.yaml:", line)
		code = 1
	}
	return code
}

// anywhere are statuses that the server answers before it looks at the operation: TestCodes has one example of each.
var anywhere = map[string]bool{"401": true, "403": true, "408": true, "413": true, "415": true, "429": true, "503": true}

// statusesOf are the statuses with which each code comes. Tests have them all.
var statusesOf = map[string][]int{
	"invalid": {400}, "unauthorized": {401}, "forbidden": {403}, "not_found": {404}, "method": {405}, "too_slow": {408}, "exists": {409}, "busy": {409},
	"answered": {409}, "idle": {409}, "skipped": {409}, "agent_gone": {409}, "project": {409}, "configuration": {409}, "too_large": {413},
	"unsupported_media": {415}, "too_many": {429}, "internal": {500}, "model": {502}, "unavailable": {503}, "no_node": {503}, "storage": {507},
}

// unseenAnswers are answers of the document that no test has, with the reason.
var unseenAnswers = map[string]string{
	"POST /v1/conversations/{id}/messages 507": "cmd/grapnel: TestAFullDisk fills one",
	"POST /v1/conversations/{id}/resume 200":   "the stream is that of POST …/messages, which writes it by the same function",
}

// unseenMembers are members of the document that no test of this package has, with the reason.
var unseenMembers = map[string]string{
	"Abandoned.hook": abandoned, "Abandoned.point": abandoned, "Health.late_hooks": abandoned, "Activity.late_hooks": abandoned,
	"Health.hooks": "cmd/grapnel: TestScripts/hooks reads it",
	"Ask.grant":    rules, "Ask.grant.max_output": rules, "Ask.grant.no_network": rules, "Ask.grant.read_only": rules, "Ask.grant.root": rules,
	"Ask.grant.timeout": rules, "Ask.grant.void": rules, "Ask.part": rules, "Ask.reaches": rules, "Ask.remarks": rules,
	"Explained.others": delegation, "Ask.depth": delegation, "Event.depth": delegation,
	"Ask.approved_on_timeout": "a daemon that approves at a timeout; subsystems/approval tests it",
	"Ask.masked":              "a daemon that masks secrets; internal/redact tests it",
	"NewUndo.redo":            "TestUndo calls the function behind it; internal/undo tests what it does",
	"Question.multi":          "the tool of these tests asks for one choice; subsystems/askuser tests many",
	"Match.archived":          compacted, "Match.summary": compacted,
	"Message.label": members, "Message.partial": members, "Message.result.meta": servers, "Block.meta": servers, "Block.uri": servers, "Block.masked": members,
	"Event.changed": members, "Event.ephemeral": members, "Event.queued": members, "Event.attempt": members, "Event.answer_sha256": members,
	"Usage.cache_read": vendors, "Usage.cache_write": vendors, "Usage.reasoning": vendors,
}

// Reasons of unseenMembers.
const (
	abandoned  = "runtime: a hook that outlives its timeout takes as long as the timeout"
	rules      = "a policy with rules, which the composite of these tests has not; cmd/grapnel tests the questions"
	delegation = "an agent that runs another one, which needs subsystems/delegate; internal/term tests its events"
	compacted  = "a search in an archive; runtime/store/storetest has it for every store"
	members    = "a member that a hook, a retry or the masking of secrets sets; the packages that set it test its JSON"
	servers    = "what MCP servers send; subsystems/mcp tests it"
	vendors    = "tokens that vendors count apart; the adapters test them"
)
