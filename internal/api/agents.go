package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/runtime"
)

func (s *Server) agentOf(a *runtime.Agent) wire.Agent {
	cfg, tools := a.Config(), a.Tools().Tools()
	out := wire.Agent{Name: a.Name(), Description: s.o.Mask(cfg.Description), Model: cfg.Model.Name, Tools: make([]string, tools.Len())}
	for i, t := range tools.All() {
		out.Tools[i] = t.Name
	}
	return out
}

// wholeAgent is the agent with its prompt and its commands.
func (s *Server) wholeAgent(a *runtime.Agent) wire.Agent {
	out := s.agentOf(a)
	out.Prompt = s.o.Mask(a.Prompt())
	if s.o.Commands != nil {
		out.Commands = s.o.Commands(a)
	}
	return out
}

func (s *Server) listAgents(w http.ResponseWriter, _ *http.Request) error {
	out := wire.Agents{Agents: []wire.Agent{}}
	for _, name := range s.o.Runtime.Agents() {
		if a, err := s.o.Runtime.Agent(name); err == nil { // an agent that is being unregistered is not listed
			out.Agents = append(out.Agents, s.agentOf(a))
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
	writeJSON(w, http.StatusOK, s.wholeAgent(a))
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
	cfg, err := s.wanted(r.Context(), in)
	if err != nil {
		return err
	}
	a, err := s.o.Runtime.Register(context.WithoutCancel(r.Context()), cfg)
	if err != nil {
		return refused(err)
	}
	if err := s.keep(in); err != nil {
		return errors.Join(err, s.o.Runtime.Unregister(context.WithoutCancel(r.Context()), a.Name()))
	}
	w.Header().Set("Location", "/v1/agents/"+url.PathEscape(a.Name()))
	writeJSON(w, http.StatusCreated, s.wholeAgent(a))
	return nil
}

// wanted returns the configuration of an agent that a client wants. Its name is not that of an agent that a file or the program
// defines, also while that one is not registered yet.
func (s *Server) wanted(ctx context.Context, in wire.NewAgent) (hook.AgentConfig, error) {
	if err := scripted(ctx, in.Model); err != nil {
		return hook.AgentConfig{}, err
	}
	if len(in.Sections) > 0 && !visitIn(ctx).caller.May(access.Approve) {
		return hook.AgentConfig{}, forbidden("sections say what is asked and allowed, so they need the scope approve too")
	}
	if _, wide := in.Sections["memory"]; wide && !visitIn(ctx).caller.Everywhere() {
		return hook.AgentConfig{}, forbidden("the section memory may read what belongs to other projects, so it is for callers who may see them all")
	}
	for _, text := range in.Sections {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			continue // it is refused later
		}
		for _, name := range texts(v) {
			if err := scripted(ctx, name); err != nil {
				return hook.AgentConfig{}, err
			}
		}
	}
	if s.o.Agents == nil {
		return configOf(in, s.o.Model)
	}
	if owner := s.o.Agents.Owner(in.Name); owner != "" {
		return hook.AgentConfig{}, &failure{http.StatusConflict, wire.CodeExists, fmt.Sprintf("the agent %s is that of %s; change the file, and reload", in.Name, owner)}
	}
	known := s.o.Agents.Sections()
	for name := range in.Sections {
		if !slices.Contains(known, name) { // it might be a restriction that nobody would keep
			return hook.AgentConfig{}, invalid("there is no section %.40q; known are %s", name, strings.Join(known, ", "))
		}
	}
	return configOf(in, s.o.Model)
}

// texts returns all texts in a value of JSON.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			out = append(out, texts(one)...)
		}
	case map[string]any:
		for name, one := range v {
			out = append(append(out, name), texts(one)...)
		}
	}
	return out
}

// refused is the error of a configuration that the runtime or a hook has refused.
func refused(err error) error {
	if f := failureOf(err); f.code != wire.CodeInternal {
		return f
	}
	return invalid("%v", err)
}

// updateAgent replaces an agent that a client has made: the next turn has what is new.
func (s *Server) updateAgent(w http.ResponseWriter, r *http.Request) error {
	in, err := readJSON[wire.NewAgent](w, r)
	if err != nil {
		return err
	}
	name := r.PathValue("agent")
	if in.Name = cmp.Or(in.Name, name); in.Name != name {
		return invalid("name is %.80q, and the path names %.80q; an agent keeps its name: make another one, and delete this one", in.Name, name)
	}
	old, err := s.agent(r.Context(), name)
	if err != nil {
		return err
	}
	if err := mayReplace(r.Context(), old); err != nil {
		return err
	}
	cfg, err := s.wanted(r.Context(), in)
	if err != nil {
		return err
	}
	a, err := s.o.Runtime.Update(context.WithoutCancel(r.Context()), cfg)
	if err != nil {
		return refused(err)
	}
	if err := s.keep(in); err != nil {
		return fmt.Errorf("%w; it holds until the daemon ends", err)
	}
	writeJSON(w, http.StatusOK, s.wholeAgent(a))
	return nil
}

// mayReplace returns an error if the caller may not take away what the sections of an agent deny and ask for.
func mayReplace(ctx context.Context, a *runtime.Agent) error {
	if cfg := a.Config(); len(cfg.Sections()) > 0 && !visitIn(ctx).caller.May(access.Approve) {
		return forbidden("the agent has sections, which say what is asked and allowed, so to change or delete it needs the scope approve too")
	}
	return nil
}

// keep keeps an agent for the next start.
func (s *Server) keep(in wire.NewAgent) error {
	if s.o.Agents == nil {
		return nil
	}
	data, err := json.Marshal(in)
	if err == nil {
		err = s.o.Agents.Keep(in.Name, data)
	}
	if err != nil {
		return fmt.Errorf("keep the agent %q: %w", in.Name, err)
	}
	return nil
}

// ConfigOf returns the configuration of a kept agent. model is that of an agent without one.
func ConfigOf(kept []byte, model string) (hook.AgentConfig, error) {
	var in wire.NewAgent
	if err := strict.Unmarshal(kept, &in, strict.RejectUnknownMembers(true)); err != nil {
		return hook.AgentConfig{}, fmt.Errorf("what was kept of it: %s", describe(err))
	}
	return configOf(in, model)
}

// configOf returns the configuration of an agent; model is that of one without.
func configOf(in wire.NewAgent, model string) (hook.AgentConfig, error) {
	cfg := hook.AgentConfig{
		Name: in.Name, Description: in.Description, Instructions: in.Instructions, Tools: slices.Clone(in.Tools),
		Model:  message.Model{Name: cmp.Or(in.Model, model), Format: in.Format, Choice: in.ToolChoice, MaxTokens: in.Limits.MaxTokens},
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
// and then cancels them. A kept agent is kept no longer, also if it could not be registered.
func (s *Server) deleteAgent(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("agent")
	old, missing := s.agent(r.Context(), name)
	if missing == nil {
		if err := mayReplace(r.Context(), old); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.o.Grace)
		defer cancel()
		if err := s.o.Runtime.Unregister(ctx, name); err != nil {
			return fmt.Errorf("unregister agent %q: %w", name, err)
		}
	}
	if s.o.Agents != nil && (missing == nil || visitOf(r).caller.May(access.Approve)) { // what is only kept may have sections
		found, err := s.o.Agents.Drop(name)
		if err != nil {
			return fmt.Errorf("the agent %q is gone until the daemon starts again: %w", name, err)
		}
		if found {
			missing = nil
		}
	}
	if missing != nil {
		return missing
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// reload reads the files of the agents again.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) error {
	if s.o.Reload == nil {
		return invalid("no file defines the agents of this daemon")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), reloadTime+s.o.Grace)
	defer cancel()
	out, err := s.o.Reload(ctx)
	if err != nil {
		return &failure{http.StatusConflict, wire.CodeConfig, err.Error()}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// reloadTime is how long a reload may wait for the servers of agents.
const reloadTime = 2 * time.Minute

// stats counts the turns of the registered agents and of those that were.
func (s *Server) stats(w http.ResponseWriter, _ *http.Request) error {
	out := wire.Stats{Since: s.started.UTC(), Agents: []wire.AgentStats{}}
	if s.o.Stats != nil {
		out.Agents = s.o.Stats()
	}
	of := func(name string) *wire.AgentStats {
		i, found := slices.BinarySearchFunc(out.Agents, name, func(a wire.AgentStats, name string) int { return strings.Compare(a.Agent, name) })
		if !found {
			out.Agents = slices.Insert(out.Agents, i, wire.AgentStats{Agent: name, Stops: map[hook.StopReason]int{}})
		}
		return &out.Agents[i]
	}
	for _, name := range s.o.Runtime.Agents() {
		of(name)
	}
	for _, t := range s.o.Runtime.Running() {
		of(t.Conversation().Agent().Name()).Running++
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
