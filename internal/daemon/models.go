package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// How the id of a model begins: a scripted one is named by its file, by a path
// from the project; one of an OpenAI-compatible server by its name there.
const (
	scriptPrefix = "script:"
	openaiPrefix = "openai:"
)

// models is the provider of every model that the program knows. It is safe for
// concurrent use. A model is read when it is first asked for.
type models struct {
	root   string
	getenv func(string) string

	mu     sync.Mutex
	loaded map[string]provider.Provider
}

var _ provider.Provider = (*models)(nil)

func newModels(root string) *models {
	return &models{root: root, getenv: os.Getenv, loaded: map[string]provider.Provider{}}
}

// Stream asks the model that the request names.
func (m *models) Stream(ctx context.Context, req hook.ModelRequest) hook.ModelStream {
	p, err := m.find(req.Model)
	if err != nil {
		return func(yield func(hook.Chunk, error) bool) { yield(hook.Chunk{}, err) }
	}
	req.Model = strings.TrimPrefix(req.Model, openaiPrefix)
	return p.Stream(ctx, req)
}

// find returns the provider of a model, or an error that says what to do.
func (m *models) find(id string) (provider.Provider, error) {
	if id == "" {
		return nil, errors.New("no model is configured: name one with --model script:FILE or --model openai:NAME, or with `model:` in the agent's file")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.loaded[id]; p != nil {
		return p, nil
	}
	p, err := m.load(id)
	if err != nil {
		return nil, err
	}
	m.loaded[id] = p
	return p, nil
}

func (m *models) load(id string) (provider.Provider, error) {
	if name, ok := strings.CutPrefix(id, openaiPrefix); ok && name != "" {
		p := openai.New(openai.FromEnv(m.getenv))
		if err := p.Err(); err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		return p, nil
	}
	file, ok := strings.CutPrefix(id, scriptPrefix)
	if !ok || file == "" {
		return nil, fmt.Errorf("there is no model %q: a model is script:FILE or openai:NAME", id)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.root, file)
	}
	p, err := script.Load(file)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	return p, nil
}
