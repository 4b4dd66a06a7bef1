package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
)

func run(dir string) error {
	file := filepath.Join(dir, "manifest.json")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var m recordings.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	m.Recordings = slices.DeleteFunc(m.Recordings, func(r recordings.Recording) bool { return m.Sources[r.Source].Module != "" })
	for name, source := range m.Sources {
		if source.Module == "" {
			continue
		}
		found, err := cut(name, source, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", source.Module, err)
		}
		m.Recordings = append(m.Recordings, found...)
	}
	slices.SortFunc(m.Recordings, func(a, b recordings.Recording) int {
		return cmp.Or(cmp.Compare(a.Wire, b.Wire), cmp.Compare(a.Name, b.Name))
	})
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// cut writes the recordings of a module, and returns their entries of the manifest.
func cut(name string, source recordings.Source, dir string) ([]recordings.Recording, error) {
	root, files, err := download(source.Module)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	var all []recordings.Recording
	for _, f := range files.File {
		at := strings.TrimPrefix(f.Name, root)
		s, ok := selected(name, at)
		if !ok || f.FileInfo().IsDir() {
			continue
		}
		exchanges, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		for i, x := range exchanges {
			if !x.kept(s.wire) {
				continue
			}
			r, err := write(dir, s, at, i, x)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// download returns the zip file of a module at a version, and the folder in it.
func download(module string) (root string, files *zip.ReadCloser, err error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output() // fails for a module that needs a newer Go, and has the zip all the same
	var got struct{ Zip, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil || got.Zip == "" {
		return "", nil, fmt.Errorf("go mod download: %w %s", cmp.Or(err, jsonErr), got.Error)
	}
	files, err = zip.OpenReader(got.Zip)
	return module + "/", files, err
}

func read(f *zip.File) ([]exchange, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if path.Ext(f.Name) == ".httprr" {
		return readTrace(data)
	}
	return readCassette(data)
}

func write(dir string, s selection, at string, i int, x exchange) (recordings.Recording, error) {
	r := recordings.Recording{
		Name: nameOf(s, at, i), Wire: recordings.Wire(s.wire), Source: s.source, File: at, Exchange: i,
		Method: x.method, Path: x.path, Status: x.status, ContentType: x.contentType, RetryAfter: x.retryAfter,
		HasRequest: len(x.request) <= maxRequest,
	}
	if when := recorded(x); !when.IsZero() {
		r.Date = when.UTC().Format(time.DateOnly)
	}
	if err := os.MkdirAll(filepath.Join(dir, s.wire), 0o755); err != nil {
		return r, err
	}
	if r.HasRequest {
		if err := os.WriteFile(filepath.Join(dir, r.RequestFile()), clean(x.request), 0o644); err != nil {
			return r, err
		}
	}
	return r, os.WriteFile(filepath.Join(dir, r.ResponseFile()), clean(x.response), 0o644)
}

// nameOf makes a name of the server, the model, and what the file is about.
func nameOf(s selection, at string, i int) string {
	rest := strings.TrimSuffix(strings.TrimPrefix(at, s.dir), path.Ext(at))
	rest = strings.NewReplacer("/", "-", "_", "-").Replace(rest)
	rest = strings.NewReplacer("-streaming", "", "-stream", "", "tool-runner-", "").Replace(rest)
	if !strings.HasPrefix(s.server, "openrouter") { // there it is the vendor behind the server
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "azure-"), "openai-")
	}
	return strings.ReplaceAll(fmt.Sprintf("%s-%s-%d", s.server, strings.TrimPrefix(rest, "-"), i+1), "--", "-")
}

var (
	created = regexp.MustCompile(`"created(?:_at)?": ?(\d{10})`)
	account = regexp.MustCompile(`("(?:user_id|org_id|organization)":\s*")[^"]*`)
)

// recorded is the date of the answer: its header's, or that in its body.
func recorded(x exchange) time.Time {
	for _, m := range created.FindAllSubmatch(x.response, -1) {
		var seconds int64
		if _, err := fmt.Sscan(string(m[1]), &seconds); err == nil && x.at.IsZero() {
			return time.Unix(seconds, 0)
		}
	}
	return x.at
}

// clean removes the ids of accounts.
func clean(body []byte) []byte { return account.ReplaceAll(body, []byte("${1}removed")) }
