package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/costs"
	"github.com/grapnel-go/grapnel/internal/estimate"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Inspect are answers about a program that the server cannot find out itself; nil functions have none.
type Inspect struct {
	// Prompt adds what the program knows of an agent's prompt: owners of tools, sections, instruction files.
	Prompt func(ctx context.Context, agent *runtime.Agent, p *wire.Prompt) error
	// Models returns the models that there are keys for, or all.
	Models func(all bool) (wire.Models, error)
	// Audit returns at most limit records that are older than before, a place; "" is the end. The error of a text that is no place is
	// [ErrPlace].
	Audit func(ctx context.Context, limit int, before string) (wire.Audit, error)
}

func (s *Server) prompt(w http.ResponseWriter, r *http.Request) error {
	a, err := s.agent(r.Context(), r.PathValue("agent"))
	if err != nil {
		return err
	}
	out := wire.Prompt{
		Agent: a.Name(), Model: a.Config().Model.Name, Parts: []wire.PromptPart{}, Tools: []wire.PromptTool{},
		Sections: map[string]any{}, Instructions: []wire.PromptFile{},
	}
	parts, turn := a.PromptParts()
	for _, p := range parts {
		out.Parts = append(out.Parts, wire.PromptPart{
			Contributor: p.By, Point: p.At, ID: p.ID, Text: s.o.Mask(p.Text), Tokens: estimate.Tokens(len(p.Text)),
		})
	}
	for _, t := range a.Tools().Tools().All() {
		out.Tools = append(out.Tools, wire.PromptTool{Name: t.Name, Owner: s.o.Runtime.Plan().Owner(t.Name), Tokens: tokensOf(t)})
		out.ToolTokens += tokensOf(t)
	}
	out.Turn = turn
	if s.o.Inspect.Prompt != nil {
		if err := s.o.Inspect.Prompt(r.Context(), a, &out); err != nil {
			return err
		}
	}
	s.maskPrompt(&out)
	for _, p := range out.Parts {
		out.Tokens += p.Tokens
	}
	out.Tokens += out.ToolTokens
	writeJSON(w, http.StatusOK, out)
	return nil
}

// tokensOf estimates what a tool costs in a request.
func tokensOf(t message.Tool) int64 {
	return estimate.Tokens(len(t.Name) + len(t.Description) + len(t.Input))
}

func (s *Server) maskPrompt(p *wire.Prompt) {
	for name, value := range p.Sections {
		p.Sections[name] = s.masked(value)
	}
	for i := range p.Instructions {
		p.Instructions[i].Note = s.o.Mask(p.Instructions[i].Note)
	}
}

// hiddenText stands in place of what may be a secret.
const hiddenText = "(hidden)"

// masked returns a value of JSON with its texts masked, and without what may be a secret in the definition of an MCP server: variables of the
// environment, headers, arguments of its command, and the user and the query of its URL.
func (s *Server) masked(v any) any {
	switch v := v.(type) {
	case string:
		return s.o.Mask(v)
	case []any:
		for i := range v {
			v[i] = s.masked(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = s.masked(withoutSecrets(name, v[name]))
		}
	}
	return v
}

// withoutSecrets returns the value of a member without what may be a secret.
func withoutSecrets(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if name == "env" || name == "headers" {
			for key := range v {
				v[key] = hiddenText
			}
		}
	case []any:
		if name == "args" {
			for i := range v {
				v[i] = hiddenText
			}
		}
	case string:
		if u, err := url.Parse(v); name == "url" && (err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			if err != nil {
				return hiddenText
			}
			return u.Scheme + "://" + u.Host + u.Path + " " + hiddenText
		}
	}
	return value
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) error {
	all, err := flagIn(r, "all")
	if err != nil {
		return err
	}
	out := wire.Models{Models: []wire.Model{}, Vendors: []wire.Vendor{}}
	if s.o.Inspect.Models != nil {
		if out, err = s.o.Inspect.Models(all); err != nil {
			return err
		}
	}
	for i := range out.Vendors {
		out.Vendors[i].Hint = s.o.Mask(out.Vendors[i].Hint)
	}
	out.Default = s.o.Model
	writeJSON(w, http.StatusOK, out)
	return nil
}

// spendingColumns are what spending can be added up by. Not by token: who has spent what is for those who have the files.
var spendingColumns = [...]string{"model", "agent", "day"}

func (s *Server) spending(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	out := wire.Spending{By: spendingColumns[0], Spent: []wire.Spent{}}
	if by := q.Get("by"); by != "" {
		out.By = by
	}
	if !slices.Contains(spendingColumns[:], out.By) {
		return invalid("by is %.20q; write one of %s", out.By, strings.Join(spendingColumns[:], ", "))
	}
	var err error
	if out.Since, err = costs.FirstDay("since", q.Get("since"), time.Now()); err != nil {
		return invalid("%v", err)
	}
	kept, ok := s.o.Store.(store.Spending)
	if !ok {
		return fmt.Errorf("%w: spending", runtime.ErrUnsupported)
	}
	rows, err := kept.Spent(r.Context(), store.SpendingFilter{Since: out.Since, Project: &s.o.Project})
	if err != nil {
		return err
	}
	groups, total, _ := costs.Group(rows, out.By)
	for _, g := range groups {
		out.Spent = append(out.Spent, wire.Spent(g))
	}
	out.Total = wire.Spent(total)
	writeJSON(w, http.StatusOK, out)
	return nil
}

// Limits of an answer with records of the audit.
const (
	auditLimit    = 100
	maxAuditLimit = 1000
)

// ErrPlace is the error of [Inspect.Audit] for a text that is no place.
var ErrPlace = errors.New("api: no place in the audit")

func (s *Server) audit(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit := auditLimit
	if err := numberIn(q, "limit", &limit); err != nil {
		return err
	}
	if limit < 1 || limit > maxAuditLimit {
		return invalid("limit is %d; write a number from 1 to %d", limit, maxAuditLimit)
	}
	if s.o.Inspect.Audit == nil {
		writeJSON(w, http.StatusOK, wire.Audit{Entries: []wire.AuditEntry{}, Verified: true, Off: true})
		return nil
	}
	out, err := s.o.Inspect.Audit(r.Context(), limit, q.Get("before"))
	if errors.Is(err, ErrPlace) {
		return invalid("before is %.40q; write the next of an answer, or leave it out", q.Get("before"))
	}
	if err != nil {
		return err
	}
	for i := range out.Entries { // a decision may have the text of an error
		out.Entries[i].Decision = s.o.Mask(out.Entries[i].Decision)
	}
	out.Problem = s.o.Mask(out.Problem)
	writeJSON(w, http.StatusOK, out)
	return nil
}
