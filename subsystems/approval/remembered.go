package approval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/conffile"
)

// Remembered is an answer that outlives its conversation, in a form for people. It counts
// until Forget deletes it.
type Remembered struct {
	// ID names it in its directory: 32 characters, or the name of a foreign file.
	ID string `json:"id"`
	// Problem says why it does not count; then other fields but ID may be empty.
	Problem string `json:"problem,omitzero"`
	// Answer is hook.AnswerApprove or hook.AnswerRefuse.
	Answer hook.Answer `json:"answer,omitzero"`
	// Text is the sentence that the person agreed to.
	Text string `json:"text,omitzero"`
	// Project and Agent are those whose calls it covers; an empty Agent is all agents.
	Project string `json:"project,omitzero"`
	Agent   string `json:"agent,omitzero"`
	// Tool is the tool. At most one of Args, File, Folder and Rule limits the calls that the
	// answer covers: to exactly these arguments, to this file of the project, to files below
	// this folder, or to commands of this class.
	Tool   string `json:"tool,omitzero"`
	Args   string `json:"args,omitzero"`
	File   string `json:"file,omitzero"`
	Folder string `json:"folder,omitzero"`
	Rule   string `json:"rule,omitzero"`
	// Reason is why the call needed approval, Refusal the text for the model.
	Reason  string `json:"reason,omitzero"`
	Refusal string `json:"refusal,omitzero"`
	// By names the person who answered, Since is the time of the answer.
	By    string    `json:"by,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// List returns the remembered answers in a directory of [Options.Dir], for all projects,
// the oldest first. A missing directory has none. A file that cannot be read is listed
// with its problem.
func List(dir string) ([]Remembered, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list remembered answers: %w", err)
	}
	var out []Remembered
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			out = append(out, remembered(dir, name))
		}
	}
	slices.SortStableFunc(out, func(a, b Remembered) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func remembered(dir, name string) Remembered {
	out := Remembered{ID: idOf(name)}
	r, err := readRule(filepath.Join(dir, name))
	if err == nil && fileOf(r.cover) != name {
		err = errElsewhere
	}
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	return Remembered{
		ID: out.ID, Answer: r.Answer, Text: r.Text, Project: r.Project, Agent: r.Agent, Tool: r.Tool, Args: r.Args,
		File: r.File, Folder: r.Folder, Rule: r.Rule,
		Reason: r.Reason, Refusal: r.Refusal, By: r.By, Since: r.Since,
	}
}

// idOf returns the id of a file: the key of the rule, if the name has one.
func idOf(file string) string {
	name := strings.TrimSuffix(file, ".json")
	if at := strings.LastIndex(name, "-"); at >= 0 && len(name)-at-1 == keyLength {
		return name[at+1:]
	}
	return name
}

// Forget deletes the answer with an id of [List]. From then on, all processes ask again.
// A missing answer is no error.
func Forget(dir, id string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", id, err)
	}
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasSuffix(name, ".json") && idOf(name) == id {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forget %s: %w", id, err)
			}
			return syncDir(dir)
		}
	}
	return nil
}

// errElsewhere: the name of a file does not belong to the rule in it.
var errElsewhere = errors.New("it is about something else than its name says")

// maxRule limits the size of a rule's file, in bytes. It may have the arguments of a call.
const maxRule = 16 << 20

// reason is an error of a file without its path.
type reason struct{ error }

func (r reason) Error() string { return conffile.Reason(r.error) }

func (r reason) Unwrap() error { return r.error }

// readRule reads the file of a rule. The error has no path.
func readRule(name string) (rule, error) {
	data, err := conffile.Read(name, &conffile.Options{Max: maxRule, Within: filepath.Dir(name), JSON: true, Private: true})
	if err != nil {
		return rule{}, reason{err}
	}
	var r rule
	if err := json.Unmarshal(data, &r); err != nil {
		return rule{}, err
	}
	if r.Answer != hook.AnswerApprove && r.Answer != hook.AnswerRefuse {
		return rule{}, fmt.Errorf("answer is %.20q; it is approve or refuse", r.Answer)
	}
	return r, nil
}
