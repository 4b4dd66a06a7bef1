package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/runtime"
)

func agentOf(a *runtime.Agent) wire.Agent {
	cfg, tools := a.Config(), a.Tools().Tools()
	out := wire.Agent{Name: a.Name(), Description: cfg.Description, Model: cfg.Model.Name, Tools: make([]string, tools.Len())}
	for i, t := range tools.All() {
		out.Tools[i] = t.Name
	}
	return out
}

func (s *Server) listAgents(w http.ResponseWriter, _ *http.Request) error {
	out := wire.Agents{Agents: []wire.Agent{}}
	for _, name := range s.o.Runtime.Agents() {
		if a, err := s.o.Runtime.Agent(name); err == nil { // an agent that is being unregistered is not listed
			out.Agents = append(out.Agents, agentOf(a))
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) showAgent(w http.ResponseWriter, r *http.Request) error {
	a, err := s.agent(r.Context(), r.PathValue("agent"))
	if err != nil {
		return err
	}
	out := agentOf(a)
	out.Prompt = a.Prompt()
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) agent(ctx context.Context, name string) (*runtime.Agent, error) {
	a, err := s.registered(ctx, name)
	if why := (unregistered{}); errors.As(err, &why) {
		return nil, notFound("there is no agent %q: %v", name, why)
	}
	if errors.Is(err, runtime.ErrAgentUnknown) {
		return nil, notFound("there is no agent %.80q; the registered agents are %s", name, strings.Join(s.o.Runtime.Agents(), ", "))
	}
	return a, err
}

// unregistered is the error of a registration that failed.
type unregistered struct{ error }

// registered returns the agent. It waits until a running registration of it has ended.
func (s *Server) registered(ctx context.Context, name string) (*runtime.Agent, error) {
	a, err := s.o.Runtime.Agent(name)
	if s.o.Await == nil || !errors.Is(err, runtime.ErrAgentUnknown) {
		return a, err
	}
	if err := s.o.Await(ctx, name); err != nil {
		return nil, unregistered{err}
	}
	return s.o.Runtime.Agent(name)
}

func (s *Server) tools(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("agent")
	if name == "" {
		name = s.o.Agent
	}
	a, err := s.agent(r.Context(), name)
	if err != nil {
		return err
	}
	out := wire.Tools{Agent: name, Tools: []wire.Tool{}}
	if s.o.Tools != nil {
		out.Tools = append(out.Tools, s.o.Tools(a)...)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) createAgent(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewAgent](w, r)
	if err != nil {
		return err
	}
	cfg, err := configOf(in)
	if err != nil {
		return err
	}
	cfg.Model.Name = cmp.Or(cfg.Model.Name, s.o.Model)
	a, err := s.o.Runtime.Register(context.WithoutCancel(r.Context()), cfg)
	if err != nil {
		if f := failureOf(err); f.code != wire.CodeInternal {
			return f
		}
		return invalid("%v", err) // a hook or the runtime refused the configuration
	}
	out := agentOf(a)
	out.Prompt = a.Prompt()
	w.Header().Set("Location", "/v1/agents/"+url.PathEscape(a.Name()))
	writeJSON(w, http.StatusCreated, out)
	return nil
}

func configOf(in wire.NewAgent) (hook.AgentConfig, error) {
	cfg := hook.AgentConfig{
		Name: in.Name, Description: in.Description, Instructions: in.Instructions, Tools: slices.Clone(in.Tools),
		Model:  message.Model{Name: in.Model, Format: in.Format, Choice: in.ToolChoice, MaxTokens: in.Limits.MaxTokens},
		Limits: hook.Limits{Steps: in.Limits.Steps, Tokens: in.Limits.Tokens}, Loop: in.Loop,
	}
	if in.Tools != nil && cfg.Tools == nil {
		cfg.Tools = []string{}
	}
	if in.Limits.Steps < 0 {
		return cfg, invalid("limits.steps is %d; a client cannot lift the limit of steps, leave it out for the default", in.Limits.Steps)
	}
	if err := checkFormat(in.Format); err != nil {
		return cfg, err
	}
	if in.Limits.Time != "" {
		d, err := time.ParseDuration(in.Limits.Time)
		if err != nil || d <= 0 {
			return cfg, invalid("limits.time is %.40q; write a time with its unit: 90s, 2m", in.Limits.Time)
		}
		cfg.Limits.Time = d
	}
	for name, body := range in.Sections {
		if !strings.HasPrefix(string(body), "{") {
			return cfg, invalid("sections.%.40s is no object; write {\"%.40s\": {…}}", name, name)
		}
		cfg = cfg.WithSection(name, body)
	}
	return cfg, nil
}

// deleteAgent unregisters the agent. It waits for the agent's turns for the grace period,
// and then cancels them.
func (s *Server) deleteAgent(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("agent")
	if _, err := s.agent(r.Context(), name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.o.Grace)
	defer cancel()
	if err := s.o.Runtime.Unregister(ctx, name); err != nil {
		return fmt.Errorf("unregister agent %q: %w", name, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
