package recordings

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

//go:embed testdata
var files embed.FS

// Wire is a protocol between a client and a model's server.
type Wire string

// The wires.
const (
	Chat      Wire = "chat"      // OpenAI's chat completions, and what others make of them
	Responses Wire = "responses" // OpenAI's Responses
	Anthropic Wire = "anthropic" // Anthropic's Messages
	Gemini    Wire = "gemini"    // Google's generateContent
)

// serves reports whether a server of the wire answers requests to the path.
func (w Wire) serves(path string) bool {
	switch w {
	case Chat:
		return strings.HasSuffix(path, "/chat/completions")
	case Responses:
		return strings.HasSuffix(path, "/responses")
	case Anthropic:
		return strings.HasSuffix(path, "/messages")
	case Gemini:
		return strings.HasSuffix(path, "enerateContent")
	}
	return false
}

// Manifest is the content of testdata/manifest.json.
type Manifest struct {
	// Sources are who published recordings, by name.
	Sources map[string]Source `json:"sources"`
	// Recordings are sorted by wire and name.
	Recordings []Recording `json:"recordings"`
}

// Source is who published recordings: a module, or a repository.
type Source struct {
	// Module is a module of Go at a version; "" if the source is none.
	Module string `json:"module,omitempty"`
	// Repository is a public repository; "" if the source is a module.
	Repository string `json:"repository,omitempty"`
	// Licence is the name of the licence in the form of SPDX, LicenceFiles its text and
	// what has to be passed on with it, in testdata/LICENSES.
	Licence      string   `json:"licence"`
	LicenceFiles []string `json:"licence_files"`
	// Published is the date of the module's version, as 2006-01-02; a repository has commits.
	Published string `json:"published,omitempty"`
	// Note says what differs from the source.
	Note string `json:"note,omitempty"`
}

// Recording is one request to a server and its answer. Ids of accounts and all headers but
// those named here are removed.
type Recording struct {
	Name   string `json:"name"`
	Wire   Wire   `json:"wire"`
	Source string `json:"source"` // a name of Manifest.Sources
	// File is the path at the source, Commit its commit in a repository, and Exchange the
	// place within the file, from 0.
	File     string `json:"file"`
	Commit   string `json:"commit,omitempty"`
	Exchange int    `json:"exchange"`
	// Date is when the server answered, as 2006-01-02; "" if the source does not say it.
	Date        string `json:"date,omitempty"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	RetryAfter  string `json:"retry_after,omitempty"`
	// HasRequest: the request is kept. Requests with images are not.
	HasRequest bool `json:"has_request"`
}

// ResponseFile and RequestFile are the files of the bodies, below testdata.
func (r Recording) ResponseFile() string {
	if strings.HasPrefix(r.ContentType, "text/event-stream") {
		return string(r.Wire) + "/" + r.Name + ".sse"
	}
	return string(r.Wire) + "/" + r.Name + ".error.json"
}

// RequestFile is the file of the request's body, if HasRequest.
func (r Recording) RequestFile() string { return string(r.Wire) + "/" + r.Name + ".request.json" }

// Response returns the body of the answer, byte for byte.
func (r Recording) Response(t testing.TB) []byte {
	t.Helper()
	return read(t, r.ResponseFile())
}

// Request returns the body of the request; nil if it is not kept.
func (r Recording) Request(t testing.TB) []byte {
	t.Helper()
	if !r.HasRequest {
		return nil
	}
	return read(t, r.RequestFile())
}

// Refused reports whether the server refused the request instead of streaming an answer.
func (r Recording) Refused() bool { return r.Status >= http.StatusBadRequest }

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatalf("recordings: %v", err)
	}
	return data
}

// All returns the recordings of the wire, sorted by name; "" is every wire.
func All(t testing.TB, wire Wire) []Recording {
	t.Helper()
	m, err := manifest()
	if err != nil {
		t.Fatalf("recordings: %v", err)
	}
	var all []Recording
	for _, r := range m.Recordings {
		if wire == "" || r.Wire == wire {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		t.Fatalf("recordings: there are none of the wire %q", wire)
	}
	return all
}

func manifest() (Manifest, error) {
	var m Manifest
	data, err := files.ReadFile("testdata/manifest.json")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("manifest.json: %w", err)
	}
	return m, nil
}
