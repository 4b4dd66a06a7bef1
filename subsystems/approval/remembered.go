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

// Remembered is an answer that outlives its conversation, for people who want to see
// what they have said. It holds until it is forgotten.
type Remembered struct {
	// ID names it in its directory: 32 characters, or the name of a file that is none
	// of ours.
	ID string `json:"id"`
	// Problem says why it answers nothing; then ID alone is sure to be set.
	Problem string `json:"problem,omitzero"`
	// Answer is hook.AnswerApprove or hook.AnswerRefuse.
	Answer hook.Answer `json:"answer,omitzero"`
	// Text is the sentence that the person has agreed to.
	Text string `json:"text,omitzero"`
	// Project is where it counts, Agent for which agent's calls; "" is every one.
	Project string `json:"project,omitzero"`
	Agent   string `json:"agent,omitzero"`
	// Tool is the tool. Args, File and Folder say which of its calls the answer covers:
	// those with exactly these arguments, for this file of the project, or for any file
	// below this folder. At most one is set; none covers every call.
	Tool   string `json:"tool,omitzero"`
	Args   string `json:"args,omitzero"`
	File   string `json:"file,omitzero"`
	Folder string `json:"folder,omitzero"`
	// Reason is why somebody was asked, Refusal what the model is told.
	Reason  string `json:"reason,omitzero"`
	Refusal string `json:"refusal,omitzero"`
	// By is who answered, Since when.
	By    string    `json:"by,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// List returns what is remembered in a directory of [Options.Dir], for all projects,
// the oldest first. A directory that does not exist has nothing. What cannot be read
// is listed with its problem.
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

// remembered reads one file.
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
		File: r.File, Folder: r.Folder,
		Reason: r.Reason, Refusal: r.Refusal, By: r.By, Since: r.Since,
	}
}

// idOf is the id of a file: the key of the rule, where the name has one.
func idOf(file string) string {
	name := strings.TrimSuffix(file, ".json")
	if at := strings.LastIndex(name, "-"); at >= 0 && len(name)-at-1 == keyLength {
		return name[at+1:]
	}
	return name
}

// Forget deletes what is remembered under an id of [List]. Whoever is asked from then
// on, in whichever process, is asked again. Something that is not there, or not there
// any more, is forgotten already.
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

// errElsewhere: the content of a file is not what its name says.
var errElsewhere = errors.New("it is about something else than its name says")

// maxRule is the size in bytes of the largest file of a rule, which may hold the
// arguments of a call.
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
