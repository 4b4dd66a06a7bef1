package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// rules are the remembered answers. Those of a conversation are in its state, the others
// in the store, one document for each rule. Each request reads the documents again. So several
// processes share rules without a lock, and a deleted rule stops to count at once.
type rules struct {
	store         Store // nil: there are none but those of conversations
	project       string
	conversations *hook.ConversationState[answers]

	mu sync.Mutex
	// changed is closed when a rule is remembered.
	changed chan struct{}
}

type answer struct {
	Answer  hook.Answer `json:"answer"`
	Refusal string      `json:"refusal,omitempty"`
}

func newRules(store Store, project string, conversations *hook.ConversationState[answers]) *rules {
	return &rules{store: store, project: project, conversations: conversations, changed: make(chan struct{})}
}

// changes returns a channel that is closed when the next rule is remembered.
func (rs *rules) changes() <-chan struct{} {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.changed
}

// find returns the rule for the call. A rule that refuses wins over one that approves. The
// error names rules that cannot be read; a rule may be found in spite of it.
func (rs *rules) find(s subject) (found answer, ok bool, err error) {
	for _, c := range s.covers() {
		r, known, e := rs.read(s, c)
		if e != nil {
			err = errors.Join(err, e)
		}
		if known && (!ok || r.Answer == hook.AnswerRefuse) {
			found, ok = r, true
		}
		if ok && found.Answer == hook.AnswerRefuse {
			break
		}
	}
	if err != nil && ok && found.Answer != hook.AnswerRefuse {
		ok = false // an unread rule could have refused
	}
	return found, ok, err
}

func (rs *rules) read(s subject, c cover) (answer, bool, error) {
	if c.Scope == inConversation {
		r, ok := rs.conversations.Get(s.conversation)[c.key()]
		return r.answer, ok, nil
	}
	r, ok, err := rs.load(c)
	return r.answer, ok, err
}

func (rs *rules) load(c cover) (rule, bool, error) {
	name := fileOf(c)
	data, err := rs.store.Read(c.Project, name)
	if err == nil && data == nil {
		return rule{}, false, nil
	}
	var r rule
	if err == nil {
		r, err = decode(data)
	}
	if err == nil && r.cover != c {
		err = errElsewhere
	}
	if err != nil {
		return rule{}, false, rs.unusable(name, err)
	}
	return r, true, nil
}

func (rs *rules) unusable(name string, err error) error {
	if dir, ok := rs.store.(Dir); ok {
		return fmt.Errorf("a remembered answer cannot be used: %s: %w; delete the file to forget it", filepath.Join(string(dir), name), err)
	}
	return fmt.Errorf("a remembered answer cannot be used: %s: %w; `grapnel approvals forget` forgets it", name, err)
}

// fileOf returns the name of a rule's file. The tool's name in it is for people; it may be
// any text if the call's tool is not known.
func fileOf(c cover) string {
	return filepath.Base(filepath.Clean("/"+c.Tool)) + "-" + c.key() + ".json"
}

// remember keeps the answer for the cover that the reply names. It replaces an older answer.
func (rs *rules) remember(s subject, reply hook.ApprovalReply, now time.Time) error {
	for _, c := range s.offered() {
		if c.id() != reply.Remember {
			continue
		}
		said := answer{Answer: reply.Answer, Refusal: reply.Reason}
		if c.Scope == inConversation {
			rs.keep(s.conversation, c.key(), kept{said, c.Conversation, c.text(), c.Tool, c.Args, reply.By, now.UTC()})
		} else if err := rs.write(rule{Text: c.text(), answer: said, By: reply.By, Since: now.UTC(), cover: c}); err != nil {
			return err
		}
		rs.mu.Lock()
		defer rs.mu.Unlock()
		close(rs.changed)
		rs.changed = make(chan struct{})
		return nil
	}
	return fmt.Errorf("there is no offer %.40q", reply.Remember)
}

func (rs *rules) write(r rule) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	return rs.store.Write(r.Project, fileOf(r.cover), data)
}

func encode(r rule) ([]byte, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // people read it
	enc.SetIndent("", "  ")
	err := enc.Encode(r)
	return data.Bytes(), err
}

func decode(data []byte) (rule, error) {
	var r rule
	if err := json.Unmarshal(data, &r); err != nil {
		return rule{}, err
	}
	if r.Answer != hook.AnswerApprove && r.Answer != hook.AnswerRefuse {
		return rule{}, fmt.Errorf("answer is %.20q; it is approve or refuse", r.Answer)
	}
	return r, nil
}
