// Package instructions gives an agent the instruction files of its project: AGENTS.md,
// CLAUDE.md and its relatives, with the files that they import.
//
//	in := instructions.New(&instructions.Options{Root: project, Dir: workingDirectory})
//
// The files of each directory from the root of the project down to where the agent works
// become one section of the system prompt. Files of a nearer directory come later. An
// @path in a file, outside of code, imports another file. Each text appears once.
//
// The files are looked at before a turn, at most four times a second, and read again if
// one has changed, so a change counts from the next turn on. The section has the same
// bytes as long as the files have.
//
// No file outside the project is read, and only documents are, such as Markdown. Their
// text is marked as the project's: it approves nothing and changes no rule. Trust it as
// much as the project. This package executes nothing in it.
package instructions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/estimate"
)

// Instructions contributes the section. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Instructions struct {
	hook.Nop
	o Options

	// told is the version of the files that the conversation has heard of.
	told hook.ConversationState[string]

	mu sync.Mutex
	// loaded has the files by what agents ask for; agents with equal sections share them.
	loaded map[key]*loaded
}

var (
	_ hook.PromptSections = (*Instructions)(nil)
	_ hook.Stateful       = (*Instructions)(nil)
)

// DefaultMax is the default of [Options.Max]: what a runtime lets one section have.
const DefaultMax = 8_000

// Options are the settings of [Instructions]. The zero value of each field is usable.
type Options struct {
	// Root is the project. No file outside of it is read. "" has no instructions.
	Root string
	// Dir is where agents work, in Root; an agent's section can override it. "", and a
	// directory outside of Root, is Root.
	Dir string
	// Files are the names that are looked for in each directory, in the order in which
	// they are given; nil is [DefaultFiles]. An agent's section can override them.
	Files []string
	// Max limits the section in the prompt, in bytes; 0 is [DefaultMax]. A larger one
	// needs as much room in the runtime's Limits.Contributions. An agent's section can
	// lower it.
	Max int
	// Fresh is how long the files of a turn count as unchanged without another look at
	// them; 0 is [DefaultFresh], and with a negative one each turn looks.
	Fresh time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// DefaultFresh is the default of [Options.Fresh]: too short for a person to notice.
const DefaultFresh = 250 * time.Millisecond

// DefaultFiles returns the names that are looked for without others.
func DefaultFiles() []string {
	return []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"}
}

// Section is the agent's section "instructions".
type Section struct {
	// Files are [Options.Files] for this agent. Nil keeps those, empty means none.
	Files []string `json:"files"`
	// Dir is where this agent works, relative to the project; "" keeps [Options.Dir].
	Dir string `json:"dir"`
	// Max lowers [Options.Max]; 0 keeps it.
	Max int `json:"max"`
}

// File is one instruction file as an agent gets it.
type File struct {
	// Path is relative to the project, with slashes. By is the file that imports it; "" if
	// its name and place make it one.
	Path, By string
	// Kept is how many bytes of its text the model gets; Size is how many there are.
	Kept, Size int
	// Note says why the file is cut or left out; "" if the model gets all of it.
	Note string

	// warn: the note matters to people in a turn, too.
	warn bool
}

// Tokens estimates the tokens of what the model gets.
func (f File) Tokens() int64 { return estimate.Tokens(f.Kept) }

// New returns the subsystem. It reads no files yet. Nil options have no instructions.
func New(o *Options) *Instructions {
	in := &Instructions{loaded: map[key]*loaded{}}
	if o != nil {
		in.o = *o
	}
	if in.o.Files == nil {
		in.o.Files = DefaultFiles()
	}
	if in.o.Max <= 0 {
		in.o.Max = DefaultMax
	}
	if in.o.Fresh == 0 {
		in.o.Fresh = DefaultFresh
	}
	if in.o.Now == nil {
		in.o.Now = time.Now
	}
	in.o.Dir = relative(in.o.Root, in.o.Dir)
	return in
}

// relative returns dir relative to root, with slashes; "." if it is not in root.
func relative(root, dir string) string {
	if dir == "" {
		return "."
	}
	base, err := filepath.Abs(root)
	if err != nil {
		return "."
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "."
	}
	rel, err := filepath.Rel(base, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return "."
	}
	return filepath.ToSlash(rel)
}

// States implements hook.Stateful.
func (in *Instructions) States() map[string]hook.State {
	return map[string]hook.State{"told": &in.told}
}

// want is what an agent asks for.
type want struct {
	// dir is relative to the project, with slashes.
	dir   string
	files []string
	max   int
}

// key names what is asked for. No name has a NUL.
type key struct {
	dir, files string
	max        int
}

func (w want) key() key { return key{w.dir, strings.Join(w.files, "\x00"), w.max} }

const (
	// maxNames limits the names that are looked for in each directory.
	maxNames = 16
	// minMax is the smallest limit of the section.
	minMax = 1_000
)

// of returns what the agent asks for; an error if its section is wrong.
func (in *Instructions) of(cfg *hook.AgentConfig) (want, error) {
	w := want{in.o.Dir, in.o.Files, in.o.Max}
	s, _, err := hook.SectionOf[Section](cfg, "instructions")
	if err != nil {
		return w, err
	}
	wrong := func(format string, args ...any) (want, error) {
		return w, fmt.Errorf("agent %q: section instructions: "+format, append([]any{cfg.Name}, args...)...)
	}
	if s.Files != nil {
		w.files = s.Files
	}
	if len(w.files) > maxNames {
		return wrong("files has %d names; write at most %d", len(w.files), maxNames)
	}
	for _, name := range w.files {
		if why := unusable(name); why != "" {
			return wrong("files: %q %s", name, why)
		}
	}
	if s.Dir != "" {
		w.dir = path.Clean(s.Dir)
		if !filepath.IsLocal(filepath.FromSlash(s.Dir)) || character.Odd(s.Dir) != "" {
			return wrong("dir: %q is no directory in the project; write its path from the root of the project, such as services/api", s.Dir)
		}
	}
	if s.Max < 0 || s.Max > 0 && s.Max < minMax || s.Max > in.o.Max {
		return wrong("max is %d; write a number of bytes from %d to %d, or leave it out", s.Max, min(minMax, in.o.Max), in.o.Max)
	}
	if s.Max > 0 {
		w.max = s.Max
	}
	return w, nil
}

// unusable says why a name cannot be looked for; "" if it can.
func unusable(name string) string {
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || character.Odd(name) != "":
		return "is no path in a directory; write a name such as AGENTS.md or docs/agents.md"
	case !document(name):
		return "is no document; name one that ends in " + endings
	}
	return ""
}

// OnBuildAgent refuses an agent with a wrong section, or one that works in a directory
// that does not exist.
func (in *Instructions) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	w, err := in.of(&cfg)
	if err != nil || in.o.Root == "" || w.dir == in.o.Dir {
		return cfg, err
	}
	root, err := conffile.OpenDir(filepath.Join(in.o.Root, filepath.FromSlash(w.dir)), in.o.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, fmt.Errorf("agent %q: section instructions: dir: there is no directory %q in the project; make it, or name another one", cfg.Name, w.dir)
	}
	if err != nil {
		return cfg, fmt.Errorf("agent %q: section instructions: dir: %q %s", cfg.Name, w.dir, conffile.Reason(err))
	}
	return cfg, root.Close()
}

// PromptSections contributes the files to the prompt. The first turn of a conversation
// with a version of the files has diagnostics about what was cut or left out.
func (in *Instructions) PromptSections(ctx context.Context, t *hook.Turn) ([]hook.PromptSection, error) {
	cfg := t.Agent()
	if cfg == nil {
		return nil, nil
	}
	l, err := in.load(ctx, cfg, in.o.Fresh)
	if err != nil {
		return nil, err
	}
	diagnostics := in.tell(t, l)
	switch {
	case l.text != "":
		return []hook.PromptSection{{ID: "instructions", Text: l.text, Weight: weight, Attached: hook.Attached{Diagnostics: diagnostics}}}, nil
	case diagnostics.Len() > 0:
		return []hook.PromptSection{{Attached: hook.Attached{Diagnostics: diagnostics}}}, nil
	}
	return nil, nil
}

// weight puts the section before others: they may change from turn to turn, and vendors
// cache a prompt up to its first change.
const weight = 100

// maxTold limits the files that are told of one by one.
const maxTold = 10

// tell returns what the conversation has not heard of these files yet.
func (in *Instructions) tell(t *hook.Turn, l *loaded) message.List[hook.Diagnostic] {
	c := t.Conversation()
	if c == nil || in.told.Get(c) == l.version {
		return message.List[hook.Diagnostic]{}
	}
	in.told.Update(c, func(string) string { return l.version })
	out := []hook.Diagnostic{{Code: "instructions.loaded", Text: summary(l.files)}}
	warned := 0
	for _, f := range l.files {
		if !f.warn {
			continue
		}
		if warned++; warned > maxTold {
			continue
		}
		code := hook.DiagnosticCode("instructions.cut")
		if f.Kept == 0 {
			code = "instructions.skipped"
		}
		out = append(out, hook.Diagnostic{Code: code, Visibility: event.VisibleUser, Text: "instructions: " + f.Path + ": " + f.Note})
	}
	if more := warned - maxTold; more > 0 {
		out = append(out, hook.Diagnostic{Code: "instructions.skipped", Visibility: event.VisibleUser,
			Text: fmt.Sprintf("instructions: %d more files are cut or left out", more)})
	}
	return message.Freeze(out)
}

func summary(files []File) string {
	var names []string
	var tokens int64
	for _, f := range files {
		if f.Kept > 0 {
			names, tokens = append(names, f.Path), tokens+f.Tokens()
		}
	}
	if len(names) == 0 {
		return "instructions: no file"
	}
	return fmt.Sprintf("instructions: about %d tokens of %s", tokens, strings.Join(names, ", "))
}

// Files returns the instruction files of the agent as its next turn gets them, in their
// order in the prompt, then those that are left out. It reads changed files. The error is
// that of a wrong section, of a root that cannot be read, or of ctx.
func (in *Instructions) Files(ctx context.Context, cfg *hook.AgentConfig) ([]File, error) {
	l, err := in.load(ctx, cfg, -1)
	if err != nil {
		return nil, err
	}
	return slices.Clone(l.files), nil
}

// loaded are the files for one want.
type loaded struct {
	text  string
	files []File
	// version names text and notes; "" if there are neither.
	version string
	// seen are the places that were looked at, and how they were then.
	seen []sighting
	// looked is the time of the last look.
	looked time.Time
}

// maxLoaded limits the cache; programs may register any number of agents.
const maxLoaded = 64

// load returns the files for the agent. It looks at them if the last look is longer ago
// than fresh, and reads them only if one may have changed since then.
func (in *Instructions) load(ctx context.Context, cfg *hook.AgentConfig, fresh time.Duration) (*loaded, error) {
	w, err := in.of(cfg)
	if err != nil || in.o.Root == "" || len(w.files) == 0 {
		return &loaded{}, err
	}
	k, now := w.key(), in.o.Now()
	in.mu.Lock()
	last := in.loaded[k]
	in.mu.Unlock()
	if last != nil && now.Sub(last.looked) < fresh {
		return last, nil
	}
	l, err := in.look(ctx, w, last, now)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.loaded) >= maxLoaded {
		clear(in.loaded)
	}
	in.loaded[k] = l
	return l, nil
}

// look returns the files as they are now: those of the last time if none has changed.
func (in *Instructions) look(ctx context.Context, w want, last *loaded, now time.Time) (*loaded, error) {
	root, err := conffile.OpenDir(in.o.Root, "")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if last != nil && unchanged(root, last.seen) {
		again := *last
		again.looked = now
		return &again, nil
	}
	r := reader{ctx: ctx, root: root, within: in.o.Root, now: now, taken: map[string]string{}, texts: map[[sha256.Size]byte]string{}}
	return r.load(w)
}

// load reads the files and writes the section.
func (r *reader) load(w want) (*loaded, error) {
	docs := r.read(w)
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	l := &loaded{seen: r.seen, looked: r.now}
	l.text, l.files = render(docs, w.max)
	l.files = append(l.files, r.left...)
	if l.text != "" || len(l.files) > 0 {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%+v", l.text, l.files))
		l.version = hex.EncodeToString(sum[:8])
	}
	return l, nil
}
