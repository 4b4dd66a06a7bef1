package designs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
)

// Memory is the package of hooks that design 001 (phases and contributions) puts around a memory.
// A subsystem is such a package: its methods are the hooks, its type is what a builder installs.
//
//	001                                      here
//	turn.pre_policy                          TurnPolicy
//	turn.pre_prompt_context                  TurnContext    (deterministic recall)
//	turn.post_preflight_prompt_context       RefineContext  (active recall)
//	turn.pre_tool_materialization            TurnTools      (the tool bundle, narrowed)
//	turn.pre_prompt_compile                  PromptSections (the prompt contract)
//	turn.post_turn, schedule_background_job  AfterTurn, Host.Enqueue and Extract
//	fallback_contributions                   Fallback
//
//hook:subsystem prefix=memory_
type Memory struct {
	hook.Nop
	mu    sync.Mutex
	facts map[string]Fact
	// Classify decides about a turn; nil is [Rules].
	Classify func(text string) (TurnMemory, error)
}

// Fact is what is known under a name.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Source says who told it: "user", or the id of the turn.
	Source string `json:"source"`
}

// TurnMemory is 001's MemoryTurnPolicy: what a turn may do with the memory.
type TurnMemory struct {
	// Recall is none, light or full; Tools are full, read_only or disabled.
	Recall, Tools string
	// Extract has the turn looked through for new facts when it has ended.
	Extract bool
	// Reason is 001's reason_code.
	Reason string
}

// Rules is a classifier without a model.
func Rules(text string) (TurnMemory, error) {
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "off the record"):
		return TurnMemory{Recall: "none", Tools: "disabled", Reason: "user_opt_out"}, nil
	case strings.Contains(text, "remember"):
		return TurnMemory{Recall: "light", Tools: "full", Extract: true, Reason: "explicit_remember"}, nil
	}
	return TurnMemory{Recall: "full", Tools: "read_only", Extract: true, Reason: "default"}, nil
}

// Assistant is an agent's composite: the memory, with the time that 001 gives to active recall.
//
//hook:composite
type Assistant struct {
	Memory *Memory `hook:"optional; RefineContext: timeout=800ms"`
}

// Remembers returns an assistant with the memory.
func Remembers(m *Memory) *Assistant { return &Assistant{Memory: m} }

// NewMemory returns a memory of the facts.
func NewMemory(facts ...Fact) *Memory {
	m := &Memory{facts: map[string]Fact{}}
	for _, f := range facts {
		m.facts[f.Name] = f
	}
	return m
}

const domain = "memory"

// TurnPolicy contributes the policy of the turn, which the other hooks read.
func (m *Memory) TurnPolicy(_ context.Context, turn *hook.Turn) ([]hook.Policy, error) {
	classify := m.Classify
	if classify == nil {
		classify = Rules
	}
	p, err := classify(turn.Input().Text())
	if err != nil {
		return nil, err // the policies of Fallback count
	}
	return p.policies(turn.Input().Text()), nil
}

// policies are the policy as contributions. Of several contributors the heaviest wins; here is one.
func (p TurnMemory) policies(text string) []hook.Policy {
	out := []hook.Policy{
		{Domain: domain, Key: "recall", Value: p.Recall}, {Domain: domain, Key: "tools", Value: p.Tools},
		{Domain: domain, Key: "extract", Value: fmt.Sprint(p.Extract)}, {Domain: domain, Key: "reason", Value: p.Reason},
	}
	if p.Recall == "full" { // at most 3 queries, 5 hits, 1,500 characters
		queries := words(text)
		out[0].Recall = hook.RecallPlan{Queries: message.ListOf(queries[:min(3, len(queries))]...), Limit: 5, Chars: 1500}
	}
	return out
}

// Fallback has what counts if the classifier fails: 001's allow_read_only.
func (m *Memory) Fallback(*hook.Turn) hook.Contributions {
	return hook.Contributions{TurnPolicy: TurnMemory{Recall: "light", Tools: "read_only", Reason: "classifier_failed"}.policies("")}
}

// TurnContext recalls the facts that the input names.
func (m *Memory) TurnContext(_ context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
	if recall, _ := turn.Contributed().Policy(domain, "recall"); recall == "none" {
		return nil, nil
	}
	said := words(turn.Input().Text())
	return blocks("named", m.find(func(f Fact) bool { return slices.Contains(said, f.Name) }), 1500), nil
}

// RefineContext searches for more, unless the recall before it was sufficient.
func (m *Memory) RefineContext(_ context.Context, turn *hook.Turn) ([]hook.ContextBlock, error) {
	so := turn.Contributed()
	if so.Recall.IsZero() || so.Context.Len() > 0 {
		return nil, nil
	}
	found := m.find(func(f Fact) bool {
		return slices.ContainsFunc(so.Recall.Queries.Slice(), func(q string) bool { return strings.Contains(strings.ToLower(f.Text), q) })
	})
	return blocks("found", found[:min(len(found), so.Recall.Limit)], so.Recall.Chars), nil
}

// TurnTools narrows the bundle of tools as the policy says.
func (m *Memory) TurnTools(_ context.Context, turn *hook.Turn) ([]hook.ToolChange, error) {
	switch tools, _ := turn.Contributed().Policy(domain, "tools"); tools {
	case "full":
		return nil, nil
	case "read_only":
		return []hook.ToolChange{{ID: domain, Hide: message.ListOf(ToolMemoryRemember, ToolMemoryForget)}}, nil
	}
	return []hook.ToolChange{{ID: domain, Hide: message.ListOf(ToolMemorySearch, ToolMemoryRemember, ToolMemoryForget)}}, nil
}

// PromptSections renders the prompt contract, only if the agent has a tool of the memory in this turn.
func (m *Memory) PromptSections(_ context.Context, turn *hook.Turn) ([]hook.PromptSection, error) {
	tools, _ := turn.Contributed().Policy(domain, "tools")
	if tools == "disabled" || !slices.Contains(turn.Agent().Tools, ToolMemorySearch) {
		return nil, nil
	}
	text := "Search the memory before you say that you do not know."
	if tools == "full" {
		text += " Remember what the user wants you to remember."
	}
	return []hook.PromptSection{{ID: domain, Title: "Memory", Text: text}}, nil
}

// KindExtract is the kind of the jobs of [Memory.Extract].
const KindExtract = "memory.extract"

// AfterTurn queues the extraction. The turn's id is the idempotency key: of a turn that is
// resumed or told twice, it is done once.
func (m *Memory) AfterTurn(ctx context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	if on, _ := turn.Contributed().Policy(domain, "extract"); on != "true" || out.Stop != hook.StopCompleted {
		return
	}
	payload, err := json.Marshal(Fact{Text: turn.Input().Text(), Source: turn.ID()})
	if err == nil {
		err = turn.Host().Enqueue(ctx, hook.Job{Kind: KindExtract, Key: turn.ID(), Payload: message.JSON(payload)})
	}
	if err != nil {
		turn.Host().Emit(ctx, hook.Diagnostic{Code: "memory.not_extracted", Text: "nothing is extracted from the turn"}.Event())
	}
}

// Extract does a job of AfterTurn: it keeps what the user says of "my NAME is TEXT".
func (m *Memory) Extract(_ context.Context, job runtime.JobRun) error {
	var said Fact
	if err := json.Unmarshal([]byte(job.Payload), &said); err != nil {
		return &runtime.JobGiveUp{Reason: "its payload is not that of an extraction"}
	}
	_, rest, ok := strings.Cut(strings.ToLower(said.Text), "my ")
	name, text, is := strings.Cut(rest, " is ")
	if ok && is && len(words(name)) == 1 {
		m.keep(Fact{Name: name, Text: strings.TrimRight(text, ".!"), Source: said.Source})
	}
	return nil
}

// Query is the input of memory_search.
type Query struct {
	// Text that a fact has to have in it.
	Text string `json:"text" hook:"minlen=1,maxlen=200"`
}

// Search returns the facts with a text.
//
//hook:tool name=memory_search
func (m *Memory) Search(_ context.Context, in Query) ([]Fact, error) {
	return m.find(func(f Fact) bool {
		return strings.Contains(strings.ToLower(f.Name+" "+f.Text), strings.ToLower(in.Text))
	}), nil
}

// Remember keeps a fact under a name.
//
//hook:tool name=memory_remember
func (m *Memory) Remember(_ context.Context, in Remembered) (string, error) {
	m.keep(Fact{Name: in.Name, Text: in.Text, Source: "user"})
	return "remembered " + in.Name, nil
}

// Remembered is the input of memory_remember.
type Remembered struct {
	// Name of the fact.
	Name string `json:"name" hook:"minlen=1,maxlen=60"`
	// Text of the fact.
	Text string `json:"text" hook:"minlen=1,maxlen=1000"`
}

// Forgotten is the input of memory_forget.
type Forgotten struct {
	// Name of the fact.
	Name string `json:"name" hook:"minlen=1,maxlen=60"`
}

// Forget forgets a fact.
//
//hook:tool name=memory_forget
func (m *Memory) Forget(_ context.Context, in Forgotten) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.facts[in.Name]; !known {
		return "", &hook.ToolError{Kind: message.FailNotFound, Text: "nothing is known of " + in.Name}
	}
	delete(m.facts, in.Name)
	return "forgot " + in.Name, nil
}

// Facts returns all facts by name.
func (m *Memory) Facts() []Fact { return m.find(func(Fact) bool { return true }) }

// maxFacts bounds the memory; a fact beyond it is not kept.
const maxFacts = 1000

func (m *Memory) keep(f Fact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.facts[f.Name]; known || len(m.facts) < maxFacts {
		m.facts[f.Name] = f
	}
}

func (m *Memory) find(fits func(Fact) bool) []Fact {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Fact{}
	for _, f := range slices.SortedFunc(maps.Values(m.facts), func(a, b Fact) int { return cmp.Compare(a.Name, b.Name) }) {
		if fits(f) {
			out = append(out, f)
		}
	}
	return out
}

// blocks are the facts as one block of context, with their sources.
func blocks(id string, facts []Fact, chars int) []hook.ContextBlock {
	if len(facts) == 0 {
		return nil
	}
	var lines, sources []string
	for _, f := range facts {
		lines, sources = append(lines, f.Name+": "+f.Text), append(sources, f.Source)
	}
	return []hook.ContextBlock{{Domain: domain, ID: id, Text: strings.Join(lines, "\n"), Chars: chars, Sources: message.ListOf(sources...)}}
}

// words are the words of a text that can name something: those of four characters and more.
func words(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return strings.ContainsRune(" \t\n.,;:!?\"'()", r)
	}), func(w string) bool { return utf8.RuneCountInString(w) < 4 })
}
