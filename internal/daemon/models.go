package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// scriptPrefix is how the id of a scripted model begins; the file follows, by a
// path from the project.
const scriptPrefix = "script:"

// models is the provider of every model that the program knows. It is safe for
// concurrent use. A model is read when it is first asked for.
type models struct {
	root string

	mu     sync.Mutex
	loaded map[string]provider.Provider
}

var _ provider.Provider = (*models)(nil)

func newModels(root string) *models {
	return &models{root: root, loaded: map[string]provider.Provider{}}
}

// Stream asks the model that the request names.
func (m *models) Stream(ctx context.Context, req hook.ModelRequest) hook.ModelStream {
	p, err := m.find(req.Model)
	if err != nil {
		return func(yield func(hook.Chunk, error) bool) { yield(hook.Chunk{}, err) }
	}
	return p.Stream(ctx, req)
}

// find returns the provider of a model, or an error that says what to do.
func (m *models) find(id string) (provider.Provider, error) {
	if id == "" {
		return nil, errors.New("no model is configured: name one with --model script:FILE, or with `model: script:FILE` in the agent's file")
	}
	file, ok := strings.CutPrefix(id, scriptPrefix)
	if !ok || file == "" {
		return nil, fmt.Errorf("there is no model %q: only scripted models exist by now, script:FILE", id)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.loaded[id]; p != nil {
		return p, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.root, file)
	}
	p, err := script.Load(file)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	m.loaded[id] = p
	return p, nil
}
