package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// what a rule covers.
type what string

const (
	coversCall   what = "call"   // this tool with these arguments
	coversFolder what = "folder" // this tool for any file below a folder
	coversTool   what = "tool"   // this tool
)

// scope is where a rule counts.
type scope string

const (
	inConversation scope = "conversation" // and in the tasks that it hands out
	byAgent        scope = "agent"        // in the project, when this agent calls
	inProject      scope = "project"      // in the project, whichever agent calls
)

// cover says which calls a rule covers. Two covers are the same rule exactly if all
// members are equal, and a call is covered by a cover exactly if it is among the
// covers of the call's subject: there is no other matching.
type cover struct {
	What  what  `json:"what"`
	Scope scope `json:"scope"`
	// Conversation, Agent and Project are those of the scope; else empty.
	Conversation string `json:"conversation,omitempty"`
	Agent        string `json:"agent,omitempty"`
	Project      string `json:"project,omitempty"`
	Tool         string `json:"tool"`
	// Shape is a digest of what the tool takes and says of itself, so that another
	// tool which gets the same name is none that was approved.
	Shape string `json:"shape"`
	// Reason is why somebody was asked: an answer to one question is none to another.
	Reason string `json:"reason,omitempty"`
	// Args are the exact arguments of coversCall, as text: JSON within JSON would be
	// written anew, and other bytes are another call.
	Args string `json:"args,omitempty"`
	// Folder is that of coversFolder, relative to the project, with slashes.
	Folder string `json:"folder,omitempty"`
}

// rule is an answer that was remembered.
type rule struct {
	// Text is the sentence that the person has agreed to.
	Text string `json:"text"`
	answer
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	cover
}

// key names the cover: equal covers have equal keys.
func (c cover) key() string {
	data, err := json.Marshal(c)
	if err != nil { // strings and JSON that was bound
		panic("approval: a cover that is no JSON: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:keyLength/2])
}

// keyLength is the length of a key, in characters.
const keyLength = 32

// subject is a call as rules see it.
type subject struct {
	call cover // with neither What nor Scope nor what goes with them
	// files: the tool works on the file below the project, and takes nothing else
	// that says where; file is its path.
	files bool
	file  string
	// whole: any call of the tool can be answered at once.
	whole bool
	// lasting: rules can outlive the process.
	lasting bool
	// conversation is that of the people, also for the call of a child; nil outside
	// of one.
	conversation *hook.Conversation
	agent        string
	project      string
}

// maxKept is how long arguments may be in bytes that a rule in a file has.
const maxKept = 64 << 10

// subject returns the call as rules see it.
func (rs *rules) subject(call *hook.ToolCall, r Request) subject {
	tool := call.Tool()
	s := subject{
		call:    cover{Tool: tool.Name, Shape: shape(tool), Reason: r.Reason, Args: string(r.Args)},
		lasting: rs.dir != "" && rs.project != "", agent: r.Agent, project: rs.project,
	}
	if step := call.Step(); step != nil && step.Turn() != nil {
		s.conversation = step.Turn().Root().Conversation()
	}
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(r.Args), &in) != nil {
		return s
	}
	_, runs := in["command"]
	s.whole = !runs && !tool.Annotations.Destructive
	s.file, s.files = rs.file(in)
	s.files = s.files && !runs && !tool.Annotations.OpenWorld
	return s
}

// shape is a digest of what the tool takes and says of itself.
func shape(t hook.Tool) string {
	data, err := json.Marshal(struct {
		Input hook.JSON
		Notes hook.Annotations
	}{t.Input, t.Annotations})
	if err != nil {
		data = []byte(t.Input) // a schema that is no JSON is still itself
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// beside are the members that arguments about a file may have without naming
// another place.
var beside = [...]string{"file_path", "content", "old_string", "new_string", "replace_all"}

// file returns the path of the one file that the arguments are about, relative to
// the project: one that can be reached without following a link, and of which no
// part is hidden.
func (rs *rules) file(in map[string]json.RawMessage) (string, bool) {
	var name string
	if rs.project == "" || json.Unmarshal(in["file_path"], &name) != nil {
		return "", false
	}
	for member := range in {
		if !slices.Contains(beside[:], member) {
			return "", false
		}
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(rs.project, name)
		if err != nil || filepath.Join(rs.project, rel) != name {
			return "", false
		}
		name = rel
	}
	name = filepath.ToSlash(name)
	if name != path.Clean(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", false
	}
	at := rs.project
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return "", false
		}
	}
	return name, true
}

// folders are those that the file is below, the nearest first; "." is the project.
func (s subject) folders() []string {
	var out []string
	if !s.files {
		return nil
	}
	for dir := path.Dir(s.file); ; dir = path.Dir(dir) {
		out = append(out, dir)
		if dir == "." {
			return out
		}
	}
}

// scopes are where a rule about the call can count, the narrowest first.
func (s subject) scopes() []scope {
	var out []scope
	if s.conversation != nil {
		out = append(out, inConversation)
	}
	if s.lasting && len(s.call.Args) <= maxKept {
		if s.agent != "" {
			out = append(out, byAgent)
		}
		out = append(out, inProject)
	}
	return out
}

// in returns the cover at a scope.
func (s subject) in(c cover, at scope) cover {
	c.Scope = at
	switch at {
	case inConversation:
		c.Conversation = s.conversation.ID()
	case byAgent:
		c.Agent, c.Project = s.agent, s.project
	case inProject:
		c.Project = s.project
	}
	return c
}

// wide returns the call's cover of one kind.
func (s subject) wide(w what, folder string) cover {
	c := s.call
	c.What, c.Folder = w, folder
	if w != coversCall {
		c.Args = ""
	}
	return c
}

// covers are all that would cover the call.
func (s subject) covers() []cover {
	kinds := []cover{s.wide(coversCall, "")}
	for _, folder := range s.folders() {
		kinds = append(kinds, s.wide(coversFolder, folder))
	}
	if s.whole {
		kinds = append(kinds, s.wide(coversTool, ""))
	}
	return s.everywhere(kinds)
}

// offered are those of the covers that a person can choose: of folders the file's
// own.
func (s subject) offered() []cover {
	kinds := []cover{s.wide(coversCall, "")}
	if s.files {
		kinds = append(kinds, s.wide(coversFolder, path.Dir(s.file)))
	}
	if s.whole {
		kinds = append(kinds, s.wide(coversTool, ""))
	}
	return s.everywhere(kinds)
}

func (s subject) everywhere(kinds []cover) []cover {
	var out []cover
	for _, c := range kinds {
		for _, at := range s.scopes() {
			out = append(out, s.in(c, at))
		}
	}
	return out
}

// id names a cover among those that are offered.
func (c cover) id() string { return string(c.What) + "-" + string(c.Scope) }

// offers are what a person can choose.
func (s subject) offers() hook.List[Offer] {
	var out []Offer
	for _, c := range s.offered() {
		out = append(out, Offer{ID: c.id(), Text: s.text(c)})
	}
	return hook.Freeze(out)
}

// text says what a cover covers.
func (s subject) text(c cover) string {
	text := "exactly this call of " + c.Tool
	switch c.What {
	case coversFolder:
		where := "below " + plain(c.Folder)
		if c.Folder == "." {
			where = "of the project"
		}
		text = "any call of " + c.Tool + " for a file " + where + ", hidden ones excepted, whatever it writes"
	case coversTool:
		text = "any call of " + c.Tool + ", whatever its arguments"
	}
	switch c.Scope {
	case byAgent:
		return text + ", by the agent " + plain(c.Agent) + " in this project, from now on"
	case inProject:
		return text + ", by every agent in this project, from now on"
	}
	return text + ", in this conversation"
}

// plain returns text as it can be shown: in quotes unless it is what it looks like.
func plain(text string) string {
	if q := strconv.QuoteToGraphic(text); q != `"`+text+`"` || strings.ContainsAny(text, " ,") || text == "" {
		return q
	}
	return text
}
