package wire

import (
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Vendor is one wire: its rules, and how its server reads and writes.
type Vendor struct {
	// Name names the vendor in signatures: what one has signed no other takes.
	Name  string
	Rules []Rule
	// Route checks the path and the headers of a request. It sets c.Model if the path
	// names the model.
	Route func(c *Check, r *http.Request)
	// MaxBody bounds a body, in bytes, by the rule size; 0 is no bound.
	MaxBody int
	// Fault refuses a body that is no JSON object.
	Fault func(c *Check, fault string)
	// Check checks a body and sets c.Model if the body names the model.
	Check func(c *Check, root Node)
	// Request returns what the model behind the server is asked, without the model's name.
	Request func(root Node) message.ModelRequest
	// Answer returns the writer of an answer. It writes nothing before the first Chunk.
	Answer func(out *Out, ask *Ask) Answer
	// Body returns the response of a refusal.
	Body func(r *Refusal) string
	// Failed returns the response of a failure before the answer has begun.
	Failed func(f Failure) (status int, body string)
	// Cached returns the parts of a request that a prompt cache covers, in their order:
	// the tools, the standing instructions, and the messages.
	Cached func(root Node) (tools, system Node, messages []Node)

	index map[string]*Rule
}

// New completes a vendor. It panics if two rules have one ID.
func New(v Vendor) *Vendor {
	v.index = make(map[string]*Rule, len(v.Rules))
	for i := range v.Rules {
		r := &v.Rules[i]
		if v.index[r.ID] != nil {
			panic("wire: " + v.Name + ": two rules " + r.ID)
		}
		v.index[r.ID] = r
	}
	return &v
}

func (v *Vendor) rule(id string) *Rule {
	r := v.index[id]
	if r == nil {
		panic("wire: " + v.Name + " has no rule " + id)
	}
	return r
}

// Ask is a good request that is being answered.
type Ask struct {
	Root   Node
	Model  string
	Signer *Signer
	Memory *Memory
	// ID is different for every request to the server: 8 hexadecimal digits.
	ID string
	// Now is the server's time in seconds since 1970.
	Now int64
	// Input is an estimate of the tokens of the request.
	Input int64
}

// Failure is why the model behind a server failed.
type Failure struct {
	Class      message.FailureClass
	Message    string
	RetryAfter time.Duration
}

// Answer writes an answer as a vendor's events.
type Answer interface {
	// Chunk writes the next chunk of the answer; with ChunkFinish it ends the stream.
	Chunk(c *message.Chunk)
	// Fail writes the error of an answer that has begun, as the vendor does.
	Fail(f Failure)
}

// Directive is how a scripted model has the server say what no chunk says. It stands in the
// Meta of a ChunkMeta under the name "strictwire".
type Directive struct {
	// Redacted is reasoning that the server shows in encrypted form only (Anthropic).
	Redacted string `json:"redacted,omitzero"`
	// Stop is a vendor's own reason to stop; it replaces that of the finish (Anthropic,
	// Gemini).
	Stop string `json:"stop,omitzero"`
	// Refusal is a refusal's text (OpenAI), or its category (Anthropic).
	Refusal string `json:"refusal,omitzero"`
	// Blocked is the reason for which the prompt was blocked (Gemini).
	Blocked string `json:"blocked,omitzero"`
	// Signed has the server sign the end of a text with an empty part (Gemini).
	Signed bool `json:"signed,omitzero"`
}
