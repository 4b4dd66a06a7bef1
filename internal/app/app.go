package app

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/internal/undo"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/critique"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guardrail"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
	undocommands "github.com/grapnel-go/grapnel/subsystems/undo"
)

// Options of Open.
type Options struct {
	Paths Paths
	// Stores are those of Paths. Nil: Open opens them, and Close closes them.
	Stores *Stores
	// Approval has the timeout of approvals and its effect. Open sets where remembered
	// answers are stored.
	Approval approval.Options
	// Inquire puts questions and approvals to people; nil leaves them to callers of
	// Runtime.Answer.
	Inquire Inquire
	// Model is the model of agents that name none, instead of that of the user's settings.
	Model string
	// Spending are limits on what models cost. Open tightens them by those of config.yaml, of
	// the project and of the environment.
	Spending spending.Limits
	// Recent, RecordHooks and Reply are options of the runtime.
	Recent      int
	RecordHooks bool
	Reply       ReplyLimits
	// Schedules makes RunSchedules run what is due.
	Schedules bool
	// Extra are further hooks of the program. They come last.
	Extra []hook.Hook
	// Set overrides the settings of subsystems in the files of the user and the project.
	Set Settings
	// Sandbox is the mode of the sandbox, instead of that of the user's settings: "read-only", "project", or "off" for none; "" is theirs.
	Sandbox string
	// Of is the open program of the user, for the tenant of an owner: with a database of Paths they share its connections. It is closed
	// after this one. Nil is none.
	Of *App
	// Node is how this process is one of several over the database of Paths, if they name one.
	Node Node
	// Note gets a sentence about each oddity that is no error; nil drops it.
	Note func(text string)
	// Trust decides about requests of the project that nobody has allowed yet, one at a time;
	// nil refuses them. TrustLater decides about those that come with Reload.
	Trust, TrustLater trust.Ask

	// scheduled runs the turn of a schedule. Open sets it.
	scheduled func(ctx context.Context, t schedule.Task) (hook.StopReason, error)
	// ready waits until the agent of a schedule is registered. Open sets it.
	ready func(ctx context.Context, agent string) error
	// processes starts those of all subsystems. Open sets it.
	processes processes
	// later: TrustLater decides. Open sets it.
	later *atomic.Bool
	// models finds models. Open sets it.
	models *models.Models
	// audit is the section audit of config.yaml. Open sets it.
	audit message.JSON
	// store has the conversations that agents search. Open sets it.
	store Store
	// turns has what turns changed. Open sets it.
	turns *undo.Book
}

// confirm asks o.Trust about the request, unless the same was allowed under the key before.
func (o *Options) confirm(ctx context.Context, r trust.Request, key, digest string) (trust.Answer, error) {
	return o.Paths.trusted().Confirm(ctx, o.Trust, r, key, digest)
}

// AbsoluteModel is [models.Absolute], for the flag of a command.
func AbsoluteModel(id string) string { return models.Absolute(id) }

// ReplyLimits bound one reply of a model.
type ReplyLimits = provider.Limits

// App is the open program: the runtime, the store and the subsystems. The caller closes it.
type App struct {
	Runtime *runtime.Runtime
	Store   Store
	Hooks   *Hooks

	assembly assembly
	agents   atomic.Pointer[[]Agent] // those of the files; Reload replaces them
	reloads  chan struct{}           // has an entry while Reload works
	options  Options
	settings map[string]string // by Paths.settings, when it was opened
	redact   *redact.Redactor  // masks secrets for people and stores; nil masks nothing
	models   *models.Models
	paths    Paths
	conf     config.Config
	project  config.Config // has limits of spending only
	model    message.Model // of agents that name none
	presence *presence
	nodes    *membership // nil without a database that others share
	// processes starts those of all subsystems.
	processes processes
	// await waits for the registration of an agent that a schedule runs. RunSchedules sets it.
	await func(ctx context.Context, agent string) error
}

// Agent is the definition of an agent. File is "" for the built-in one.
type Agent = agentfile.Agent

//go:embed default.md
var defaultAgent []byte

// Agents returns the agents of the project, sorted by name, with the built-in one unless the
// project has an agent with its name. The error has the mistakes of all files.
func Agents(p Paths, note func(string)) ([]Agent, error) {
	agents, warnings, err := agentfile.Load(p.agentDirs()...)
	for _, w := range warnings {
		if note != nil {
			note(w.String())
		}
	}
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if err := checkScript(p, a); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(agents, func(a Agent) bool { return a.Config.Name == DefaultAgent }) {
		cfg, _, err := agentfile.Parse("default.md", defaultAgent, agentfile.Grapnel)
		if err != nil {
			return nil, err
		}
		agents = append(agents, Agent{Config: cfg})
	}
	slices.SortFunc(agents, func(a, b Agent) int { return strings.Compare(a.Config.Name, b.Config.Name) })
	return agents, nil
}

// checkScript returns an error if the agent's scripted model lies outside the project.
func checkScript(p Paths, a Agent) error {
	rel, err := filepath.Rel(p.Root, a.File)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for key, model := range modelsOf(&a.Config) {
		if file, scripted := models.Script(model); scripted && !filepath.IsLocal(file) {
			return errors.New(a.Problem(key, fmt.Sprintf("the script %q lies outside the project", file), "put it there, or name the model with --model").String())
		}
	}
	return nil
}

// modelsOf yields the models that an agent's file names, each with its key. Sections that are
// wrong name none; the registration reports them.
func modelsOf(cfg *hook.AgentConfig) iter.Seq2[string, string] {
	return func(yield func(key, model string) bool) {
		if !yield("model", cfg.Model.Name) {
			return
		}
		if s, _, err := hook.SectionOf[fallback.Section](cfg, "fallback"); err == nil && s.Models != nil {
			for _, model := range *s.Models {
				if !yield("fallback", model) {
					return
				}
			}
		}
		// The registration reports a section that is wrong.
		c, _, _ := hook.SectionOf[compact.Section](cfg, "compact")
		j, _, _ := hook.SectionOf[critique.Section](cfg, "critique")
		m, _, _ := hook.SectionOf[memory.Section](cfg, "memory")
		g, _, _ := hook.SectionOf[guardrail.Section](cfg, "guardrail")
		others := [][2]string{{"compact", c.Model}, {"critique", j.Model}, {"memory", m.Model}}
		for _, check := range slices.Concat(g.Input, g.Output) {
			others = append(others, [2]string{"guardrail", check.Model})
		}
		for _, s := range others {
			if s[1] != "" && !yield(s[0], s[1]) {
				return
			}
		}
	}
}

// Open reads the configuration, opens the database and the subsystems, and starts the
// runtime. If it fails, nothing is left open. It writes only to the state directory.
func Open(ctx context.Context, o Options) (a *App, err error) {
	if o.Stores != nil {
		return open(ctx, o)
	}
	if o.Stores, err = OpenStores(ctx, o.Paths); err != nil {
		return nil, err
	}
	if a, err = open(ctx, o); err != nil {
		o.Stores.Close()
		return nil, err
	}
	o.Stores.ofApp = true
	return a, nil
}

func open(ctx context.Context, o Options) (*App, error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	gate, err := gateTimeout(os.Getenv)
	if err != nil {
		return nil, err
	}
	agents, err := Agents(o.Paths, o.Note)
	if err != nil {
		return nil, err
	}
	noteForeign(o)
	settings, err := o.Paths.settings()
	if err != nil {
		return nil, err
	}
	maps.Copy(settings, o.Paths.others())
	o.later = new(atomic.Bool)
	a := &App{options: o, paths: o.Paths, settings: settings, reloads: make(chan struct{}, 1)}
	a.processes.commands = supervisor.New()
	a.agents.Store(&agents)
	if err := a.configure(&o); err != nil {
		return nil, err
	}
	note := o.Note
	o.Note = func(text string) { note(a.redact.Text(text)) }
	o.processes, o.models, o.scheduled, o.audit = a.processes, a.models, a.runScheduled, a.conf.Audit
	o.ready = func(ctx context.Context, agent string) error { return a.await(ctx, agent) }
	if a.presence, err = newPresence(o.Paths.locks()); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx, o); err != nil {
		return nil, errors.Join(err, a.presence.end())
	}
	o.store, o.turns = a.Store, newBook(o, a.presence.owner, a.gone)
	o.Extra = append(a.hooks(o), o.Extra...)
	a.options = o
	var ledger *spending.Ledger
	if a.assembly, err = assemble(ctx, o, agents, a.delegates); err == nil {
		a.Hooks = a.assembly.Hooks
		if ledger, err = a.ledger(o, o.Spending); err != nil {
			err = errors.Join(err, a.assembly.discard(ctx))
		}
	}
	if err == nil {
		a.Runtime = runtime.New(a.assembly.hook, a.models, &runtime.Options{
			Jobs: a.jobs(), Store: a.Store, Project: o.Paths.Project(), Environment: environment(o.Paths), Owner: a.presence.owner, Gone: a.gone, Node: a.nodes != nil, FindAgent: a.find,
			Events: runtime.Events{Recent: o.Recent, RecordHooks: o.RecordHooks, Mask: masker(a.redact)}, Limits: runtime.Limits{Reply: o.Reply, Contributions: contributions(), Gate: gate}, Spending: ledger,
		})
		a.joined()
		err = a.Runtime.Open(ctx)
	}
	if err != nil {
		a.models.Close()
		return nil, errors.Join(err, a.processes.close(), a.closeStore())
	}
	return a, nil
}

// configure reads the user's settings: of models, of spending, of what is masked and of what commands may do.
func (a *App) configure(o *Options) (err error) {
	if err := a.openModels(*o); err != nil {
		return err
	}
	if o.Spending, err = a.limits(o.Spending, os.Getenv); err != nil {
		return err
	}
	if a.redact, err = redactor(a.conf); err != nil {
		return err
	}
	return a.processes.confine(*o, a.conf)
}

// With opens the program, calls do with it, and closes it.
func With(ctx context.Context, o Options, do func(a *App) error) (err error) {
	a, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
	return do(a)
}

// servers returns the state of the MCP servers.
func (a *App) servers() []mcp.Status {
	if a.Hooks.MCP == nil {
		return nil
	}
	return a.Hooks.MCP.Status()
}

// Project returns the id of the project in the store.
func (a *App) Project() string { return a.paths.Project() }

// Schema returns the tools of all subsystems that are on.
func (a *App) Schema() []message.Tool { return a.assembly.hook.Schema() }

// Command is a line that people type and a subsystem answers.
type Command = compact.Command

// Commands returns the commands of the agent: those of the subsystems that are on for it.
func (a *App) Commands(agent *runtime.Agent) []Command {
	out := []Command{Command(approval.Commands()[0])}
	if agent.Plan().OffBy("Compact") == "" {
		out = append(out, compact.Commands()...)
	}
	if agent.Plan().OffBy("Tasks") == "" && tasks.Has(agent.Config()) {
		out = append(out, Command(tasks.Commands()[0]))
	}
	if agent.Plan().OffBy("Undo") == "" {
		for _, c := range undocommands.Commands() {
			out = append(out, Command(c))
		}
	}
	return out
}

// Skills returns the readable skills of the agent; none if Skills is off for it.
func (a *App) Skills(agent *runtime.Agent) []skills.Skill {
	if agent.Plan().OffBy("Skills") != "" {
		return nil
	}
	return a.Hooks.Skills.All()
}

// hooks returns the App's own hooks. They precede those of Extra, which find the agents
// refreshed when they get the event of a server.
func (a *App) hooks(o Options) []hook.Hook {
	out := []hook.Hook{&refresher{app: a}}
	if o.Inquire != nil {
		out = append(out, &inquirer{app: a, inquire: o.Inquire})
	}
	return out
}

func environment(p Paths) runtime.Environment {
	return runtime.Environment{OS: goruntime.GOOS, Shell: "bash", Platform: goruntime.GOARCH, Root: p.Root}
}

// Mask masks a text for people, as the user's settings say.
func (a *App) Mask(text string) string { return a.redact.Text(text) }

// Close closes the runtime with the subsystems, ends their remaining commands, and closes the
// store, in this order.
func (a *App) Close(ctx context.Context) error {
	defer a.options.Stores.release()
	if a.Hooks.Schedule != nil {
		a.Hooks.Schedule.Stop()
	}
	err := a.Runtime.Close(ctx)
	a.models.Close()
	return errors.Join(err, a.processes.close(), a.closeStore())
}

// defined returns the agent that a file of the project defines, or the built-in one.
func (a *App) defined(name string) (Agent, bool) {
	return named(*a.agents.Load(), name)
}

func named(agents []Agent, name string) (Agent, bool) {
	i := slices.IndexFunc(agents, func(c Agent) bool { return c.Config.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return agents[i], true
}

// File returns the file that defines the agent; "" if none does.
func (a *App) File(name string) string {
	of, _ := a.defined(name)
	return of.File
}

// Owner returns the file that defines the agent, or "the program" for the one that is built in; "" if neither does.
func (a *App) Owner(name string) string {
	of, ok := a.defined(name)
	if !ok {
		return ""
	}
	return cmp.Or(of.File, "the program (.grapnel/agents/"+name+".md would replace it)")
}

// Started says that the agents of the start are registered: from here on Options.TrustLater decides about servers that an agent
// defines.
func (a *App) Started() { a.options.later.Store(true) }

// Register registers one agent; over overrides its file. It waits for the agent's MCP servers,
// and notes those that it waits for and those that are missing. It is safe for concurrent use.
func (a *App) Register(ctx context.Context, name string, over hook.AgentConfig) (*runtime.Agent, error) {
	of, ok := a.defined(name)
	if !ok {
		return nil, a.unknown(name)
	}
	return a.register(ctx, of, over)
}

func (a *App) register(ctx context.Context, of Agent, over hook.AgentConfig) (*runtime.Agent, error) {
	cfg := of.Config
	if over.Model.Name != "" {
		cfg.Model = cfg.Model.For(over.Model.Name)
	}
	cfg = a.modelled(cfg.Merge(over))
	agent, err := a.Runtime.Register(ctx, cfg)
	if err != nil {
		return nil, a.explained(of, cfg, err)
	}
	if err := a.checkChoice(of, agent); err != nil {
		return nil, errors.Join(err, a.Runtime.Unregister(context.WithoutCancel(ctx), cfg.Name))
	}
	return agent, nil
}

// Waits reports whether the registration of an agent with this configuration may wait for MCP servers.
func (a *App) Waits(cfg hook.AgentConfig) bool {
	return a.Hooks.MCP != nil && a.Hooks.MCP.Waits(cfg)
}

// CheckAgent returns an error, with the known names, unless the project has an agent of that name.
func CheckAgent(p Paths, name string) error {
	agents, err := Agents(p, nil)
	if err != nil || slices.ContainsFunc(agents, func(a Agent) bool { return a.Config.Name == name }) {
		return err
	}
	return unknown(agents, name)
}

func (a *App) unknown(name string) error { return unknown(*a.agents.Load(), name) }

func unknown(agents []Agent, name string) error {
	names := make([]string, len(agents))
	for j, c := range agents {
		names[j] = c.Config.Name
	}
	return fmt.Errorf("there is no agent %q; known are %s; define it in .grapnel/agents/NAME.md", name, strings.Join(names, ", "))
}

// find returns the configuration of an agent that another agent runs.
func (a *App) find(_ context.Context, name string) (hook.AgentConfig, error) {
	of, ok := a.defined(name)
	if !ok {
		return hook.AgentConfig{}, a.unknown(name)
	}
	return a.modelled(of.Config), nil
}

// delegates returns the agents that tasks can be delegated to: those of the project and all
// others that are registered.
func (a *App) delegates() []delegate.AgentInfo {
	var out []delegate.AgentInfo
	agents := *a.agents.Load()
	for _, c := range agents {
		out = append(out, delegate.AgentInfo{Name: c.Config.Name, Description: c.Config.Description})
	}
	for _, name := range a.Runtime.Agents() {
		if _, known := named(agents, name); known {
			continue
		}
		if agent, err := a.Runtime.Agent(name); err == nil {
			out = append(out, delegate.AgentInfo{Name: name, Description: agent.Config().Description})
		}
	}
	return out
}

// Tool is one tool, and whether an agent may use it.
type Tool struct {
	Name        string `json:"name"`
	Owner       string `json:"owner"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only,omitzero"`
	Destructive bool   `json:"destructive,omitzero"`
	Idempotent  bool   `json:"idempotent,omitzero"`
	OpenWorld   bool   `json:"open_world,omitzero"`
	// OutOfScope is the reason why the agent may not use the tool; "" if it may.
	OutOfScope string `json:"out_of_scope,omitzero"`
}

// Notes returns the annotations of the tool in a few words; "-" if it has none.
func (t *Tool) Notes() string {
	var out []string
	for _, n := range []struct {
		word string
		on   bool
	}{{"read-only", t.ReadOnly}, {"destructive", t.Destructive}, {"idempotent", t.Idempotent}, {"open-world", t.OpenWorld}} {
		if n.on {
			out = append(out, n.word)
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// Tools returns all tools, in the order in which models see them, and whether the agent may
// use each.
func (a *App) Tools(agent *runtime.Agent) []Tool {
	mine := map[string]bool{}
	for _, t := range agent.Tools().Tools().All() {
		mine[t.Name] = true
	}
	listed := a.listed(agent.Name())
	plan := a.Runtime.Plan()
	all := slices.DeleteFunc(slices.Clone(a.Schema()), func(t message.Tool) bool { // no agent misses the search who did not ask for it
		return t.Name == toolbox.ToolToolSearch && !mine[t.Name] && !slices.Contains(listed, t.Name)
	})
	out := make([]Tool, len(all))
	for i, t := range all {
		out[i] = Tool{
			Name: t.Name, Owner: plan.Owner(t.Name), Description: t.Description,
			ReadOnly: t.Annotations.ReadOnly, Destructive: t.Annotations.Destructive,
			Idempotent: t.Annotations.Idempotent, OpenWorld: t.Annotations.OpenWorld,
		}
		if out[i].Owner == "" {
			out[i].Owner = a.ownerAtRunTime(t.Name)
		}
		switch {
		case mine[t.Name]:
		case agent.Plan().OffBy(out[i].Owner) != "":
			out[i].OutOfScope = out[i].Owner + " is turned off by " + agent.Plan().OffBy(out[i].Owner)
		case listed != nil && !message.MatchesAny(listed, t.Name):
			out[i].OutOfScope = "not in the agent's list of tools"
		default:
			out[i].OutOfScope = "excluded by the agent's section for " + out[i].Owner
		}
	}
	return out
}

// ToolSizes returns how many tools the agent has, what their schemas cost, and what is left of that behind the search.
func (a *App) ToolSizes(agent *runtime.Agent) toolbox.Sizes {
	box, cfg := a.Hooks.Toolbox, *agent.Config()
	if box == nil || agent.Plan().OffBy("Toolbox") != "" {
		box, cfg = toolbox.New(), cfg.WithSection("toolbox", "")
	}
	return box.Sizes(&cfg, agent.Tools())
}

// listed returns the list of tools in the agent's file; nil is all.
func (a *App) listed(name string) []string {
	of, _ := a.defined(name)
	return of.Config.Tools
}

func (a *App) ownerAtRunTime(tool string) string {
	if a.Hooks.MCP != nil && slices.ContainsFunc(a.Hooks.MCP.Schema(), func(t message.Tool) bool { return t.Name == tool }) {
		return "MCP"
	}
	return "Extra"
}
