package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// A turn is journaled while it runs, unless the store ends with the process. It writes
//
//   - its begin and its input, before the event of its begin is delivered;
//   - the reply and the calls that are about to run, before the first call starts;
//   - each result as it comes;
//   - the state of a loop that has one, with every write that changes it;
//   - its end, with its last message or when it is cancelled.
//
// At the end of a step its reply and results are appended to the history, and their entries
// are deleted. So at any time another process finds in the store all it needs to end the
// turn or to continue it.
//
// The types below are the data of the entries, as JSON.

// Turn is the entry of a turn.
type Turn struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
	// From is the position of the turn's first message in the history.
	From    int       `json:"from"`
	Started time.Time `json:"started"`
	// Resumed is how often the turn was resumed.
	Resumed int    `json:"resumed,omitzero"`
	Guest   string `json:"guest,omitzero"`
	// Model has what the turn overrides of the agent's model.
	Model message.Model `json:"model,omitzero"`
	// Format was the only such setting once. It is read, and not written any more.
	Format message.ResponseFormat `json:"format,omitzero"`
	// Event is the number of the last event before the turn.
	Event uint64 `json:"event,omitzero"`
	// Project is the project in which the turn began, or was last resumed.
	Project string `json:"project,omitzero"`
	// Token is the name of the credential for which the turn runs.
	Token string `json:"token,omitzero"`
	// Caller are the names of the tools that the caller gave the turn, and Client the tools
	// that its client runs.
	Caller []string     `json:"caller_tools,omitempty"`
	Client []ClientTool `json:"client_tools,omitempty"`
}

// ClientTool is a tool that the client of a turn runs, as far as the client describes it.
type ClientTool struct {
	Name        string              `json:"name"`
	Description string              `json:"description,omitzero"`
	Input       message.JSON        `json:"input,omitzero"`
	Timeout     time.Duration       `json:"timeout,omitzero"`
	Annotations message.Annotations `json:"annotations,omitzero"`
}

// ClientTools returns what is stored of the tools.
func ClientTools(tools []message.Tool) (out []ClientTool) {
	for _, t := range tools {
		out = append(out, ClientTool{t.Name, t.Description, t.Input, t.Timeout, t.Annotations})
	}
	return out
}

// Tool is the tool again.
func (t ClientTool) Tool() message.Tool {
	return message.Tool{Name: t.Name, Description: t.Description, Input: t.Input, Timeout: t.Timeout, Annotations: t.Annotations}
}

// Entry is the turn's entry.
func (t Turn) Entry() store.Entry { return store.Entry{Kind: store.EntryTurn, Data: encode(t)} }

// Reply is the data of the entry of a reply.
type Reply struct {
	Step int `json:"step"`
	// Usage, Cost and Calls are the turn's totals so far.
	Usage message.Usage `json:"usage,omitzero"`
	Cost  hook.Cost     `json:"cost,omitzero"`
	Calls int           `json:"calls"`
}

// Entry returns the entry of the reply with the message.
func (r Reply) Entry(m message.Message) store.Entry {
	return store.Entry{Kind: store.EntryReply, Message: m, Data: encode(r)}
}

// Start is the entry of a call that is about to run.
type Start struct {
	Tool string `json:"tool"`
	// Args is the SHA-256 of the canonical arguments, in hexadecimal.
	Args string `json:"args_sha256"`
	// Key is the idempotency key that the tool gets.
	Key string `json:"key"`
	// Again: the tool is read-only or idempotent, and may run twice.
	Again bool `json:"again,omitzero"`
}

// StartEntry returns the entry of the call with the idempotency key.
func StartEntry(call *hook.ToolCall, key string) store.Entry {
	tool := call.Tool()
	return store.Entry{Kind: store.EntryStart, CallID: call.ID(), Data: encode(Start{
		Tool: tool.Name, Args: digest(call.Args()), Key: key, Again: tool.Annotations.ReadOnly || tool.Annotations.Idempotent,
	})}
}

// Result is the data of the entry of a result.
type Result struct {
	Outcome  message.Outcome `json:"outcome"`
	Duration time.Duration   `json:"duration,omitzero"`
}

// Entry returns the entry of the result of the call, with the message.
func (r Result) Entry(callID string, m message.Message) store.Entry {
	return store.Entry{Kind: store.EntryResult, CallID: callID, Message: m, Data: encode(r)}
}

// End is the entry of the end of a turn.
type End struct {
	// At is the length of the history at the end of the turn.
	At      int               `json:"at"`
	Signals []hook.StopSignal `json:"signals"`
	// Errors are the public texts of the turn's errors.
	Errors []string `json:"errors,omitzero"`
}

// Entry returns the entry of the end.
func (e End) Entry() store.Entry { return store.Entry{Kind: store.EntryEnd, Data: encode(e)} }

// LoopEntry returns the entry of the state of a turn's loop.
func LoopEntry(state message.JSON) store.Entry {
	return store.Entry{Kind: store.EntryLoop, Data: state}
}

// holds reports whether the turn really ends this way when the history has stored messages.
// More messages mean that a hook continued the turn; a cancelled turn cannot continue.
func (e *End) holds(stored int) bool {
	if e == nil || len(e.Signals) == 0 {
		return false
	}
	return e.At == stored || slices.ContainsFunc(e.Signals, func(s hook.StopSignal) bool { return cancels(s.Reason) })
}

// cancels reports whether the reason means that the turn's context has ended.
func cancels(r hook.StopReason) bool {
	return r == hook.StopCancelled || r == hook.StopUserRequested || r == hook.StopTimeLimit
}

// part is the data of the entry of a person's message.
type part struct {
	// Part counts the messages of one input from 0.
	Part int `json:"part,omitzero"`
	// Ephemeral is that of the message; stores do not keep it there.
	Ephemeral bool `json:"ephemeral,omitzero"`
}

// InputEntries returns the entries of an input, one for each message.
func InputEntries(kind store.EntryKind, in message.Input) []store.Entry {
	entries := make([]store.Entry, in.Messages.Len())
	for i, m := range in.Messages.All() {
		entries[i] = store.Entry{Kind: kind, Message: m, Data: encode(part{Part: i, Ephemeral: m.Ephemeral})}
	}
	return entries
}

// Steer is an input that was sent to a running turn. Number is that of its first journal
// entry; 0 is none.
type Steer struct {
	Input  message.Input
	Number int64
}

// Numbers returns the numbers of the steer's entries.
func (s Steer) Numbers() []int64 {
	if s.Number == 0 {
		return nil
	}
	numbers := make([]int64, s.Input.Messages.Len())
	for i := range numbers {
		numbers[i] = s.Number + int64(i)
	}
	return numbers
}

// encode encodes one of the types above; that cannot fail.
func encode(v any) message.JSON {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("runtime: encode a journal entry: %v", err))
	}
	return message.JSON(text)
}

// decode reads the form of encode. It returns the zero value if it cannot.
func decode[T any](text message.JSON) T {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		var zero T
		return zero
	}
	return v
}

// digest returns the SHA-256 of the arguments. It does not copy them: they may be huge.
func digest(args message.JSON) string {
	sum := sha256.New()
	var buf [512]byte
	for rest := string(args); rest != ""; {
		n := copy(buf[:], rest)
		_, _ = sum.Write(buf[:n]) // never fails
		rest = rest[n:]
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Interrupted is the journal of a turn that did not reach its end.
type Interrupted struct {
	Turn
	// Numbers are the entries of the step, or of an input that hooks have not admitted. The
	// next append deletes them.
	Numbers []int64
	// TurnNumbers are the entries of the turn itself.
	TurnNumbers []int64
	// Loop is the last state of the turn's loop; "" is none.
	Loop message.JSON
	// Input is the turn's first input, if hooks have not admitted it yet.
	Input []message.Message
	// End is how the turn was about to end; nil if it was not.
	End *End
	// Message is the model's message whose calls had begun; it has no role if none had.
	Message message.Message
	Reply   Reply
	// Starts and Results are by call id.
	Starts  map[string]Start
	Results map[string]Ended
	Steers  []Steer
}

// Ended is a call whose result was stored.
type Ended struct {
	Message message.Message
	Result
}

// DropEnd drops End if the number of stored messages shows that the turn continued.
func (was *Interrupted) DropEnd(stored int) {
	if !was.End.holds(stored) {
		was.End = nil
	}
}

// TurnID returns the turn id of an [store.EntryTurn]; false for other entries.
func TurnID(e store.Entry) (string, bool) {
	if e.Kind != store.EntryTurn {
		return "", false
	}
	return decode[Turn](e.Data).ID, true
}

// readJournal reads a journal. It skips data that it cannot read. A call whose result it
// cannot read counts as interrupted.
func readJournal(entries []store.Entry) *Interrupted {
	was := &Interrupted{Starts: map[string]Start{}, Results: map[string]Ended{}}
	for _, e := range entries {
		was.add(e)
	}
	return was
}

func (was *Interrupted) add(e store.Entry) {
	switch e.Kind {
	case store.EntryTurn, store.EntrySteer, store.EntryEnd, store.EntryLoop:
	default:
		was.Numbers = append(was.Numbers, e.Seq)
	}
	switch e.Kind {
	case store.EntryTurn:
		was.TurnNumbers = append(was.TurnNumbers, e.Seq)
		was.Turn = decode[Turn](e.Data)
	case store.EntryLoop:
		was.TurnNumbers = append(was.TurnNumbers, e.Seq)
		was.Loop = e.Data
	case store.EntryInput:
		was.Input = append(was.Input, inputMessage(e))
	case store.EntryEnd:
		end := decode[End](e.Data)
		was.End = &end
	case store.EntryReply:
		was.Message, was.Reply = e.Message, decode[Reply](e.Data)
	case store.EntryStart:
		was.Starts[e.CallID] = decode[Start](e.Data)
	case store.EntryResult:
		was.Results[e.CallID] = Ended{e.Message, decode[Result](e.Data)}
	case store.EntrySteer:
		was.addSteer(e)
	}
}

// addSteer adds a message that was sent to the turn. Consecutive parts form one input, so
// that hooks decide on it as a whole.
func (was *Interrupted) addSteer(e store.Entry) {
	m, n := inputMessage(e), len(was.Steers)
	if decode[part](e.Data).Part > 0 && n > 0 {
		last := &was.Steers[n-1]
		if last.Number+int64(last.Input.Messages.Len()) == e.Seq {
			last.Input.Messages = last.Input.Messages.Append(m)
			return
		}
	}
	was.Steers = append(was.Steers, Steer{message.Input{Messages: message.ListOf(m)}, e.Seq})
}

func inputMessage(e store.Entry) message.Message {
	m := e.Message
	m.Ephemeral = decode[part](e.Data).Ephemeral
	return m
}
