package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Activity returns what the daemon does right now.
func (c *Client) Activity(ctx context.Context) (wire.Activity, error) {
	return call[wire.Activity](ctx, c, http.MethodGet, "/v1/activity", nil)
}

// Health returns the daemon's health.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	return call[wire.Health](ctx, c, http.MethodGet, "/v1/health", nil)
}

// Me returns who the client is to the daemon, and what it may do.
func (c *Client) Me(ctx context.Context) (wire.Me, error) {
	return call[wire.Me](ctx, c, http.MethodGet, "/v1/me", nil)
}

// LogLevel returns the level of the daemon's log.
func (c *Client) LogLevel(ctx context.Context) (string, error) {
	out, err := call[wire.LogLevel](ctx, c, http.MethodGet, "/v1/log", nil)
	return out.Level, err
}

// SetLogLevel changes the level of the daemon's log until it ends: debug, info, warn or error.
func (c *Client) SetLogLevel(ctx context.Context, level string) error {
	_, err := call[wire.LogLevel](ctx, c, http.MethodPut, "/v1/log", wire.LogLevel{Level: level})
	return err
}

// Plan returns the plan of the daemon's composite.
func (c *Client) Plan(ctx context.Context) (plan.Plan, error) {
	return call[plan.Plan](ctx, c, http.MethodGet, "/v1/plan", nil)
}

// Tools returns all tools, with the agent's access to each; "" is the daemon's default
// agent.
func (c *Client) Tools(ctx context.Context, agent string) ([]wire.Tool, error) {
	out, err := call[wire.Tools](ctx, c, http.MethodGet, "/v1/tools?"+url.Values{"agent": {agent}}.Encode(), nil)
	return out.Tools, err
}

// Link makes a link by which a page can be entered once.
func (c *Client) Link(ctx context.Context, l wire.NewLink) (wire.Link, error) {
	return call[wire.Link](ctx, c, http.MethodPost, "/v1/links", l)
}

// Agents returns the registered agents, sorted by name.
func (c *Client) Agents(ctx context.Context) ([]wire.Agent, error) {
	out, err := call[wire.Agents](ctx, c, http.MethodGet, "/v1/agents", nil)
	return out.Agents, err
}

// Agent returns one agent with its prompt.
func (c *Client) Agent(ctx context.Context, name string) (wire.Agent, error) {
	return call[wire.Agent](ctx, c, http.MethodGet, "/v1/agents/"+url.PathEscape(name), nil)
}

// Prompt returns what the agent's model is told, in its parts.
func (c *Client) Prompt(ctx context.Context, agent string) (wire.Prompt, error) {
	return call[wire.Prompt](ctx, c, http.MethodGet, "/v1/agents/"+url.PathEscape(agent)+"/prompt", nil)
}

// Models returns the models that the daemon has keys for; all: the others as well.
func (c *Client) Models(ctx context.Context, all bool) (wire.Models, error) {
	path := "/v1/models"
	if all {
		path += "?all=1"
	}
	return call[wire.Models](ctx, c, http.MethodGet, path, nil)
}

// Spending returns what the models have cost, added up by model (also ""), agent or day. since is the first day, as in 2026-11-25, or a number of
// days with today, as in 7d; "" is all.
func (c *Client) Spending(ctx context.Context, by, since string) (wire.Spending, error) {
	return call[wire.Spending](ctx, c, http.MethodGet, "/v1/spending?"+url.Values{"by": {cmp.Or(by, "model")}, "since": {since}}.Encode(), nil)
}

// Audit returns at most limit records of the audit, the newest first. before is the Next of an answer, for older ones; "" is the newest.
func (c *Client) Audit(ctx context.Context, limit int, before string) (wire.Audit, error) {
	return call[wire.Audit](ctx, c, http.MethodGet, "/v1/audit?"+url.Values{"limit": {strconv.Itoa(limit)}, "before": {before}}.Encode(), nil)
}

// UpdateAgent replaces an agent that a client has made. Its next turn has what is new.
func (c *Client) UpdateAgent(ctx context.Context, a wire.NewAgent) (wire.Agent, error) {
	return call[wire.Agent](ctx, c, http.MethodPut, "/v1/agents/"+url.PathEscape(a.Name), a)
}

// Reload makes the daemon read the files of its agents again. If one is wrong, the error has its
// mistakes, and nothing has changed.
func (c *Client) Reload(ctx context.Context) (wire.Reloaded, error) {
	return call[wire.Reloaded](ctx, c, http.MethodPost, "/v1/reload", nil)
}

// Stats returns what the daemon has counted since it began.
func (c *Client) Stats(ctx context.Context) (wire.Stats, error) {
	return call[wire.Stats](ctx, c, http.MethodGet, "/v1/stats", nil)
}

// CreateAgent registers an agent, which outlives the daemon until it is deleted.
func (c *Client) CreateAgent(ctx context.Context, a wire.NewAgent) (wire.Agent, error) {
	return call[wire.Agent](ctx, c, http.MethodPost, "/v1/agents", a)
}

// DeleteAgent unregisters an agent. It waits for its turns, which are cancelled
// after the daemon's grace period.
func (c *Client) DeleteAgent(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/v1/agents/"+url.PathEscape(name), nil)
	return err
}

// Conversations returns the conversations of the daemon's project, the last changed one
// first.
func (c *Client) Conversations(ctx context.Context) ([]wire.Conversation, error) {
	out, err := call[wire.Conversations](ctx, c, http.MethodGet, "/v1/conversations", nil)
	return out.Conversations, err
}

// AllConversations returns those of all projects, project by project.
func (c *Client) AllConversations(ctx context.Context) ([]wire.Conversation, error) {
	out, err := call[wire.Conversations](ctx, c, http.MethodGet, "/v1/conversations?all=1", nil)
	return out.Conversations, err
}

// Adopt moves a conversation to the daemon's project, from a project that no longer exists
// or from none.
func (c *Client) Adopt(ctx context.Context, id string, a wire.Adoption) (wire.Conversation, error) {
	return call[wire.Conversation](ctx, c, http.MethodPost, conversation(id, "/adopt"), a)
}

// Conversation returns the conversation of the agent with the sender, or makes it. An empty
// agent is the daemon's default one, an empty sender a new one.
func (c *Client) Conversation(ctx context.Context, agent, sender string) (wire.Conversation, error) {
	return call[wire.Conversation](ctx, c, http.MethodPost, "/v1/conversations", wire.NewConversation{Agent: agent, Sender: sender})
}

// ConversationByID returns an existing conversation.
func (c *Client) ConversationByID(ctx context.Context, id string) (wire.Conversation, error) {
	return call[wire.Conversation](ctx, c, http.MethodGet, conversation(id, ""), nil)
}

// Messages returns the history of a conversation, oldest first.
func (c *Client) Messages(ctx context.Context, id string) ([]message.Message, error) {
	out, err := call[wire.Messages](ctx, c, http.MethodGet, conversation(id, "/messages"), nil)
	return out.Messages, err
}

// MessagesPage returns at most limit messages before the one of that index, which counts from 0; 0 is the last page. To page backwards, ask
// for those before First of the last answer, until that is 0.
func (c *Client) MessagesPage(ctx context.Context, id string, before, limit int) (wire.Messages, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if before > 0 {
		q.Set("before", strconv.Itoa(before))
	}
	return call[wire.Messages](ctx, c, http.MethodGet, conversation(id, "/messages?"+q.Encode()), nil)
}

// Turns returns at most limit turns of a conversation before a turn, the newest first; "" is the end, and 0 the daemon's default.
func (c *Client) Turns(ctx context.Context, id, before string, limit int) ([]wire.RanTurn, error) {
	q := url.Values{"before": {before}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := call[wire.RanTurns](ctx, c, http.MethodGet, conversation(id, "/turns?"+q.Encode()), nil)
	return out.Turns, err
}

// Turn returns a turn with its events, hook runs as far as the client's own choice of them goes.
func (c *Client) Turn(ctx context.Context, id, turn string) (wire.TurnEvents, error) {
	return call[wire.TurnEvents](ctx, c, http.MethodGet, conversation(id, "/turns/"+url.PathEscape(turn))+c.query(), nil)
}

// ExplainCall says who decided about a call of a turn.
func (c *Client) ExplainCall(ctx context.Context, id, turn, callID string) (wire.Explained, error) {
	return call[wire.Explained](ctx, c, http.MethodGet, conversation(id, "/turns/"+url.PathEscape(turn)+"/calls/"+url.PathEscape(callID)), nil)
}

// Sandbox says what commands of agents can change, read and reach.
func (c *Client) Sandbox(ctx context.Context) (wire.Sandbox, error) {
	return call[wire.Sandbox](ctx, c, http.MethodGet, "/v1/sandbox", nil)
}

// Tasks returns the plan and the tasks of a conversation; none if its agent keeps none.
func (c *Client) Tasks(ctx context.Context, id string) (wire.Tasks, error) {
	return call[wire.Tasks](ctx, c, http.MethodGet, conversation(id, "/tasks"), nil)
}

// Send starts a turn and returns when it has begun. The turn does not depend on
// ctx any more: Cancel ends it.
func (c *Client) Send(ctx context.Context, id, text string) (wire.Turn, error) {
	return c.SendMessage(ctx, id, wire.NewMessage{Text: text})
}

// SendWhenBusy is Send with a choice for a conversation with a running turn. If the message
// queues, SendWhenBusy returns when its turn has begun. If ctx ends before, the message is
// dropped.
func (c *Client) SendWhenBusy(ctx context.Context, id, text string, when wire.Busy) (wire.Turn, error) {
	return c.SendMessage(ctx, id, wire.NewMessage{Text: text, WhenBusy: when})
}

// SendMessage is Send with all that a message can have.
func (c *Client) SendMessage(ctx context.Context, id string, m wire.NewMessage) (wire.Turn, error) {
	return call[wire.Turn](ctx, c, http.MethodPost, conversation(id, "/messages"), m)
}

// Resume resumes the interrupted turn of the conversation, and returns when it has begun.
func (c *Client) Resume(ctx context.Context, id string) (wire.Turn, error) {
	return call[wire.Turn](ctx, c, http.MethodPost, conversation(id, "/resume"), nil)
}

// Cancel cancels the running turn of the conversation, if there is one.
func (c *Client) Cancel(ctx context.Context, id string) (wire.Cancelled, error) {
	return call[wire.Cancelled](ctx, c, http.MethodPost, conversation(id, "/cancel"), nil)
}

// Nodes returns the daemons that share the store, sorted by id; none if the daemon shares it with no other.
func (c *Client) Nodes(ctx context.Context) ([]wire.Node, error) {
	out, err := call[wire.Nodes](ctx, c, http.MethodGet, "/v1/nodes", nil)
	return out.Nodes, err
}

// Asks returns the tool calls that wait for approval, the oldest first; "" is all
// conversations.
func (c *Client) Asks(ctx context.Context, id string) ([]wire.Ask, error) {
	out, err := call[wire.Asks](ctx, c, http.MethodGet, "/v1/asks?"+url.Values{"conversation": {id}}.Encode(), nil)
	return out.Asks, err
}

// Answer answers an ask. An ask that has its answer already, or whose turn has
// ended, is not found.
func (c *Client) Answer(ctx context.Context, ask string, a wire.Answer) error {
	_, err := call[wire.Answer](ctx, c, http.MethodPost, "/v1/asks/"+url.PathEscape(ask), a)
	return err
}

// Inquiries returns the questions that wait for an answer, the oldest first; "" is all
// conversations.
func (c *Client) Inquiries(ctx context.Context, id string) ([]wire.Inquiry, error) {
	out, err := call[wire.Inquiries](ctx, c, http.MethodGet, "/v1/inquiries?"+url.Values{"conversation": {id}}.Encode(), nil)
	return out.Inquiries, err
}

// Reply answers an inquiry. An unknown inquiry is not found. A second answer is refused
// with wire.CodeAnswered.
func (c *Client) Reply(ctx context.Context, inquiry string, r wire.Reply) error {
	_, err := call[wire.Reply](ctx, c, http.MethodPost, "/v1/inquiries/"+url.PathEscape(inquiry), r)
	return err
}

// Calls returns the calls of a conversation that wait for the result of a client, the oldest
// first; "" is all conversations.
func (c *Client) Calls(ctx context.Context, id string) ([]wire.Call, error) {
	out, err := call[wire.Calls](ctx, c, http.MethodGet, "/v1/calls?"+url.Values{"conversation": {id}}.Encode(), nil)
	return out.Calls, err
}

// AnswerCall brings the result of a call of a tool that this client runs. An error with
// CodeAnswered says that the call has a result already.
func (c *Client) AnswerCall(ctx context.Context, id, callID string, r wire.CallResult) error {
	_, err := call[wire.CallResult](ctx, c, http.MethodPost, conversation(id, "/calls/"+url.PathEscape(callID)), r)
	return err
}

// Fork makes a conversation with the first turns of another one.
func (c *Client) Fork(ctx context.Context, id string, f wire.NewFork) (wire.Conversation, error) {
	return call[wire.Conversation](ctx, c, http.MethodPost, conversation(id, "/fork"), f)
}

// Rewind removes the turns of a conversation behind the first ones, and returns the changed
// conversation.
func (c *Client) Rewind(ctx context.Context, id string, r wire.Rewind) (wire.Conversation, error) {
	return call[wire.Conversation](ctx, c, http.MethodPost, conversation(id, "/rewind"), r)
}

// Undo takes back what turns of a conversation changed in the project, or says what that would be. An error with CodeIdle says that there
// is nothing to undo.
func (c *Client) Undo(ctx context.Context, id string, u wire.NewUndo) (wire.Undone, error) {
	return call[wire.Undone](ctx, c, http.MethodPost, conversation(id, "/undo"), u)
}

// Compact replaces older turns by a summary. A model writes it.
func (c *Client) Compact(ctx context.Context, id string, o wire.NewCompaction) (wire.Compaction, error) {
	return call[wire.Compaction](ctx, c, http.MethodPost, conversation(id, "/compact"), o)
}

// Query says what to search for.
type Query struct {
	// Text has words; any of them is enough. sail* is all words that begin with sail.
	Text string
	// All searches the conversations of other projects too.
	All bool
	// Agent and Sender limit the search to their conversations; "" is all.
	Agent, Sender string
	// Limit is how many matches to return at most; 0 is the daemon's default.
	Limit int
}

// Search returns the messages that match best, the best first.
func (c *Client) Search(ctx context.Context, q Query) ([]wire.Match, error) {
	v := url.Values{"q": {q.Text}, "agent": {q.Agent}, "sender": {q.Sender}}
	if q.All {
		v.Set("all", "1")
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	out, err := call[wire.Matches](ctx, c, http.MethodGet, "/v1/search?"+v.Encode(), nil)
	return out.Matches, err
}

// Export writes the conversation as lines of JSON.
func (c *Client) Export(ctx context.Context, id string, to io.Writer) error {
	resp, err := c.send(ctx, http.MethodGet, conversation(id, "/export"), nil, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("export conversation %s: %w", id, err)
	}
	return nil
}

// Import makes a conversation from the output of Export, with another agent or sender if
// they are not "". It does not close from.
func (c *Client) Import(ctx context.Context, from io.Reader, agent, sender string) (wire.Conversation, error) {
	q := url.Values{"agent": {agent}, "sender": {sender}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/v1/import?"+q.Encode(), io.NopCloser(from))
	if err != nil {
		return wire.Conversation{}, fmt.Errorf("import a conversation: %w", err)
	}
	req.Header.Set("Content-Type", "application/jsonl")
	resp, err := c.do(req)
	if err != nil {
		return wire.Conversation{}, err
	}
	return answer[wire.Conversation](resp)
}

func conversation(id, rest string) string {
	return "/v1/conversations/" + url.PathEscape(id) + rest
}

// Running returns the turn of the conversation that is running on the daemon, to be followed from now
// on. The error is busy, which said that one is, if there is none any more.
func (c *Client) Running(ctx context.Context, id string, busy error) (wire.Turn, error) {
	conv, err := c.ConversationByID(ctx, id)
	switch {
	case err != nil:
		return wire.Turn{}, err
	case conv.Turn == "":
		return wire.Turn{}, busy
	}
	return wire.Turn{ID: conv.Turn, Conversation: id, LastEventID: conv.LastEventID}, nil
}

// OfProject returns the ids of the conversations of a project, of which there has to be one.
func (c *Client) OfProject(ctx context.Context, project string) ([]string, error) {
	all, err := c.AllConversations(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, conv := range all {
		if conv.Project == project {
			ids = append(ids, conv.ID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the project %q has no conversations; `grapnel conversations --all` lists those that there are", project)
	}
	return ids, nil
}
