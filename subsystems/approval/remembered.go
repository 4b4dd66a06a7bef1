package approval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Remembered is an answer that outlives its conversation, in a form for people. It counts
// until Forget deletes it.
type Remembered struct {
	// ID names it in its store: 32 characters, or the name of a foreign file.
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

// List returns the remembered answers of a store, for all projects, the oldest first. One that cannot
// be read is listed with its problem.
func List(s Store) ([]Remembered, error) {
	var out []Remembered
	err := s.Each(func(project, name string, document []byte, err error) {
		out = append(out, remembered(project, name, document, err))
	})
	if err != nil {
		return nil, fmt.Errorf("list remembered answers: %w", err)
	}
	slices.SortStableFunc(out, func(a, b Remembered) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func remembered(project, name string, document []byte, err error) Remembered {
	out := Remembered{ID: idOf(name)}
	var r rule
	if err == nil {
		r, err = decode(document)
	}
	if err == nil && (fileOf(r.cover) != name || project != "" && project != r.Project) {
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
func Forget(s Store, id string) error {
	var found [][2]string
	err := s.Each(func(project, name string, _ []byte, _ error) {
		if idOf(name) == id {
			found = append(found, [2]string{project, name})
		}
	})
	for _, at := range found {
		err = errors.Join(err, s.Remove(at[0], at[1]))
	}
	if err != nil {
		return fmt.Errorf("forget %s: %w", id, err)
	}
	return nil
}

// errElsewhere: the name of a file does not belong to the rule in it.
var errElsewhere = errors.New("it is about something else than its name says")
