// Package models is the provider of the program: it passes each request to the provider of the
// model that the request names, and makes that provider at the first request.
package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// The prefixes of model ids. The path of a script's file follows, relative to the project, or
// the name of the model on an OpenAI-compatible server.
const (
	scriptPrefix = "script:"
	openaiPrefix = "openai:"
)

// Script returns the path of the file of a scripted model; false for other models.
func Script(id string) (file string, scripted bool) { return strings.CutPrefix(id, scriptPrefix) }

// Absolute makes the file in the id of a scripted model an absolute path. A path that a
// person types is relative to the working directory, also with --dir.
func Absolute(id string) string {
	file, ok := strings.CutPrefix(id, scriptPrefix)
	if !ok || file == "" {
		return id
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return id
	}
	return scriptPrefix + abs
}

// Models is a provider that passes each request to the provider of its model. It loads a model
// at its first request. It is safe for concurrent use.
type Models struct {
	root   string
	getenv func(string) string

	mu     sync.Mutex
	loaded map[string]provider.Provider
}

var (
	_ provider.Provider  = (*Models)(nil)
	_ provider.Formatter = (*Models)(nil)
	_ provider.Windowed  = (*Models)(nil)
)

// New returns the models of the project with that root.
func New(root string) *Models {
	return &Models{root: root, getenv: os.Getenv, loaded: map[string]provider.Provider{}}
}

// Stream passes the request to the provider of its model.
func (m *Models) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	p, err := m.Find(req.Model.Name)
	if err != nil {
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, err) }
	}
	req.Model.Name = strings.TrimPrefix(req.Model.Name, openaiPrefix)
	return p.Stream(ctx, req)
}

// HasFormat reports whether the model has a response format of its own.
func (m *Models) HasFormat(id string) bool {
	p, err := m.Find(id)
	return err == nil && provider.HasFormat(p, strings.TrimPrefix(id, openaiPrefix))
}

// ContextWindow returns the window of the model; 0 if it is unknown or the model cannot be found.
func (m *Models) ContextWindow(id string) int {
	p, err := m.Find(id)
	if err != nil {
		return 0
	}
	return provider.ContextWindow(p, strings.TrimPrefix(id, openaiPrefix))
}

// Find returns the provider of the model. Its errors say what to do.
func (m *Models) Find(id string) (provider.Provider, error) {
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

func (m *Models) load(id string) (provider.Provider, error) {
	if name, ok := strings.CutPrefix(id, openaiPrefix); ok && name != "" {
		getenv, err := withKeyFile(m.getenv)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		p := openai.New(openai.FromEnv(getenv))
		if err := p.Err(); err != nil {
			return nil, fmt.Errorf("model %s: %w", id, err)
		}
		return p, nil
	}
	file, ok := strings.CutPrefix(id, scriptPrefix)
	if !ok || file == "" {
		return nil, fmt.Errorf("there is no model %q; write script:FILE or openai:NAME", id)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(m.root, file)
	}
	data, err := conffile.Read(file, &conffile.Options{Within: m.root, Max: script.MaxSize})
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	p, err := script.Parse(file, data)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", id, err)
	}
	return p, nil
}

// The variables with the key of OpenAI.
const (
	keyName     = "OPENAI_API_KEY"
	keyFileName = "OPENAI_API_KEY_FILE"
)

// withKeyFile returns an environment with the key from the file in OPENAI_API_KEY_FILE, if
// that variable is set.
func withKeyFile(getenv func(string) string) (func(string) string, error) {
	path := getenv(keyFileName)
	if path == "" {
		return getenv, nil
	}
	if getenv(keyName) != "" {
		return nil, fmt.Errorf("both %s and %s are set; unset one of them", keyName, keyFileName)
	}
	key, err := readKey(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keyFileName, err)
	}
	return func(name string) string {
		if name == keyName {
			return key
		}
		return getenv(name)
	}, nil
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 16 << 10

// readKey reads a key from a file that only its owner can read.
func readKey(path string) (string, error) {
	data, err := conffile.Read(path, &conffile.Options{Max: maxKey})
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read or change %s; run: chmod 600 %s", path, path)
	}
	key := strings.TrimSpace(string(data))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", fmt.Errorf("%s must hold a key in one line", path)
	}
	return key, nil
}
