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
	"github.com/grapnel-go/grapnel/hook/message"
)

// what is the kind of calls that a rule covers.
type what string

const (
	coversCall   what = "call"   // this tool with these arguments
	coversFile   what = "file"   // this tool for one file
	coversFolder what = "folder" // this tool for any file below a folder
	coversRule   what = "rule"   // this tool with arguments of the same class
	coversTool   what = "tool"   // this tool
)

// scope is the scope in which a rule counts.
type scope string

const (
	inConversation scope = "conversation" // and in the tasks that it hands out
	byAgent        scope = "agent"        // in the project, when this agent calls
	inProject      scope = "project"      // in the project, whichever agent calls
)

// cover is a set of calls. Two covers are the same rule if and only if all members are
// equal. A cover covers a call if and only if it is among the covers of the call's
// subject: there is no other matching.
type cover struct {
	What  what  `json:"what"`
	Scope scope `json:"scope"`
	// Conversation, Agent and Project identify the scope; those of other scopes are empty.
	Conversation string `json:"conversation,omitempty"`
	Agent        string `json:"agent,omitempty"`
	Project      string `json:"project,omitempty"`
	Tool         string `json:"tool"`
	// Shape is a digest of the description, schema and annotations, so that the rule does not
	// cover another tool that gets the same name.
	Shape string `json:"shape"`
	// Reason is why the call needed approval: the answer covers no other reason.
	Reason string `json:"reason,omitempty"`
	// Args are the exact arguments of coversCall. They are text, because JSON within JSON
	// could change its bytes, and other bytes are another call.
	Args string `json:"args,omitempty"`
	// File is that of coversFile, Folder that of coversFolder: relative to the project,
	// with slashes. The folder "." is the whole project; old rules may have it.
	File   string `json:"file,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Rule is that of coversRule, whose Reason is empty: the reason names one call of the class.
	Rule string `json:"rule,omitempty"`
}

// rule is an answer that was remembered.
type rule struct {
	// Text is the sentence that the person agreed to.
	Text string `json:"text"`
	answer
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	cover
}

// key returns the cover's key: equal covers have equal keys.
func (c cover) key() string {
	data, err := json.Marshal(c)
	if err != nil { // cannot happen: a cover has only strings
		panic("approval: a cover that is no JSON: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:keyLength/2])
}

// keyLength is the length of a key, in characters.
const keyLength = 32

// subject is a call in the form that rules match.
type subject struct {
	call cover // without What and Scope and the members that belong to them
	// files: the tool works on one file below the project; file is its path.
	files bool
	file  string
	// rule is the class of the call; "" is none.
	rule string
	// whole: one answer may cover all calls of the tool.
	whole bool
	// lasting: rules can outlive the process.
	lasting bool
	// conversation is the one that people see, also for the call of a child; nil outside
	// a conversation.
	conversation *hook.Conversation
	agent        string
	project      string
}

// maxShown limits the arguments of a call for which an answer is remembered, in bytes: nobody
// reads all of longer ones.
const maxShown = 64 << 10

func (rs *rules) subject(call *hook.ToolCall, reason string) subject {
	tool, args := call.Tool(), call.Args()
	s := subject{
		call:    cover{Tool: tool.Name, Shape: shape(tool), Reason: reason, Args: string(args)},
		lasting: rs.store != nil && rs.project != "", project: rs.project,
	}
	if step := call.Step(); step != nil && step.Turn() != nil {
		s.conversation, s.agent = step.Turn().Root().Conversation(), step.Turn().Agent().Name
	}
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &in) != nil {
		return s
	}
	_, runs := in["command"]
	s.whole = !runs && !tool.Annotations.Destructive
	s.file, s.files = rs.file(in)
	s.files = s.files && !runs && !tool.Annotations.OpenWorld
	return s
}

// shape returns a digest of the description, schema and annotations of a tool.
func shape(t message.Tool) string {
	data, err := json.Marshal(struct {
		Description string
		Input       message.JSON
		Notes       message.Annotations
	}{t.Description, t.Input, t.Annotations})
	if err != nil {
		data = []byte(t.Input) // the schema is not JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// fileArgs are the arguments that a tool for one file may have: no other names a place.
var fileArgs = [...]string{"file_path", "content", "old_string", "new_string", "replace_all"}

// file returns the path of the one file that the arguments name, relative to the project.
// It returns false for a path through a link, and for one with a hidden part.
func (rs *rules) file(in map[string]json.RawMessage) (string, bool) {
	var name string
	if rs.project == "" || json.Unmarshal(in["file_path"], &name) != nil {
		return "", false
	}
	for member := range in {
		if !slices.Contains(fileArgs[:], member) {
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

// folders returns the folders above the file, the nearest first; "." is the project.
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

// scopes returns the scopes that a rule for the call can have, the narrowest first.
func (s subject) scopes() []scope {
	var out []scope
	if s.conversation != nil {
		out = append(out, inConversation)
	}
	if s.lasting {
		if s.agent != "" {
			out = append(out, byAgent)
		}
		out = append(out, inProject)
	}
	return out
}

// in returns the cover with a scope.
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

// kinds returns the covers of the call without scopes, the narrowest first, with one for
// each of the folders.
func (s subject) kinds(folders []string) []cover {
	out := []cover{s.call}
	out[0].What = coversCall
	wide := s.call
	wide.Args = ""
	if s.rule != "" {
		c := wide
		c.What, c.Rule, c.Reason = coversRule, s.rule, ""
		out = append(out, c)
	}
	if s.files {
		c := wide
		c.What, c.File = coversFile, s.file
		out = append(out, c)
	}
	for _, folder := range folders {
		c := wide
		c.What, c.Folder = coversFolder, folder
		out = append(out, c)
	}
	if s.whole {
		wide.What = coversTool
		out = append(out, wide)
	}
	return out
}

func (s subject) covers() []cover { return s.everywhere(s.kinds(s.folders())) }

// offered returns the covers that a person can choose; none if the call is too long to be read. Of the folders it offers only the
// file's own, and never the root of the project: below it are also files that commands
// run, and the person has seen one file only.
func (s subject) offered() []cover {
	if len(s.call.Args) > maxShown {
		return nil
	}
	folders := s.folders()
	folders = folders[:min(1, len(folders))]
	if len(folders) == 1 && folders[0] == "." {
		folders = nil
	}
	return s.everywhere(s.kinds(folders))
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

// id identifies a cover among the offered ones.
func (c cover) id() string { return string(c.What) + "-" + string(c.Scope) }

func (s subject) offers() message.List[hook.Offer] {
	var out []hook.Offer
	for _, c := range s.offered() {
		out = append(out, hook.Offer{ID: c.id(), Text: c.text()})
	}
	return message.Freeze(out)
}

// text describes the cover and its scope in a sentence.
func (c cover) text() string {
	text := "any call of " + c.Tool
	switch c.What {
	case coversCall:
		text = "exactly this call of " + c.Tool
	case coversFile:
		text += " for the file " + plain(c.File) + ", whatever it writes"
	case coversFolder:
		text += " for any file below the folder " + plain(c.Folder) +
			" and its folders, build files and scripts included, hidden files and links excepted, whatever it writes"
	case coversRule:
		text += " with one command that " + plain(c.Rule) +
			" covers: other operands and flags, but none that is known to run another program or to write a file, nor any that is not known"
	case coversTool:
		text += ", whatever its arguments"
	}
	switch c.Scope {
	case byAgent:
		return text + ", by the agent " + plain(c.Agent) + " in this project, until it is forgotten"
	case inProject:
		return text + ", by every agent in this project, until it is forgotten"
	}
	return text + ", in this conversation and the tasks that it hands out"
}

// plain returns text for display: in quotes if it has invisible or ambiguous characters.
func plain(text string) string {
	if q := strconv.QuoteToGraphic(text); q != `"`+text+`"` || strings.ContainsAny(text, " ,") || text == "" {
		return q
	}
	return text
}
