package recordings_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/recordings"
)

const folder = "testdata"

func manifest(t *testing.T) recordings.Manifest {
	t.Helper()
	data, err := os.ReadFile(folder + "/manifest.json")
	require.NoError(t, err)
	var m recordings.Manifest
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// files are the paths of all files below testdata, with their content.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := os.DirFS(folder)
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		all[path] = string(data)
		return err
	}))
	return all
}

func TestEveryFileHasASource(t *testing.T) {
	t.Parallel()
	m, left := manifest(t), files(t)
	delete(left, "manifest.json")
	used := map[string]bool{}
	for name, s := range m.Sources {
		assert.NotEqual(t, s.Module == "", s.Repository == "", "%s is a module or a repository", name)
		assert.Contains(t, []string{"MIT", "Apache-2.0"}, s.Licence, name)
		assert.NotEmpty(t, s.LicenceFiles, name)
		for _, file := range s.LicenceFiles {
			assert.Contains(t, files(t), "LICENSES/"+file, name)
			delete(left, "LICENSES/"+file)
		}
		if s.Module != "" {
			_, err := time.Parse(time.DateOnly, s.Published)
			assert.NoError(t, err, name)
			assert.Regexp(t, `@v\d`, s.Module)
		}
	}
	for _, r := range m.Recordings {
		source, known := m.Sources[r.Source]
		require.True(t, known, "%s has no source", r.Name)
		used[r.Source] = true
		assert.NotEmpty(t, r.File, r.Name)
		assert.Equal(t, source.Module == "", len(r.Commit) == 40, "%s: a file of a repository has a commit", r.Name)
		if r.Date != "" {
			_, err := time.Parse(time.DateOnly, r.Date)
			assert.NoError(t, err, r.Name)
		}
		assert.Contains(t, left, r.ResponseFile(), "%s: there is no such file, or it belongs to two recordings", r.Name)
		delete(left, r.ResponseFile())
		if r.HasRequest {
			assert.Contains(t, left, r.RequestFile(), r.Name)
			delete(left, r.RequestFile())
		}
	}
	assert.Len(t, used, len(m.Sources), "a source has no recording")
	for file := range left {
		t.Errorf("%s has no entry in the manifest", file)
	}
}

// secrets are forms of keys, of accounts, and of people's addresses.
var secrets = regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16}|\bsk-(?:ant|proj|or)-|AIza[\w-]{20}|\bgsk_\w{16}|\bhf_\w{16}|\bxai-\w{16}|Bearer |ya29\.|-----BEGIN|` +
	`\borg[-_][A-Za-z0-9]{12}|\bproj_[A-Za-z0-9]{8}|\buser_[A-Za-z0-9]{12}|(?i)authorization|api[-_]?key"|[\w.+-]+@[\w-]+\.[a-z]{2,}`)

func TestNoSecrets(t *testing.T) {
	t.Parallel()
	for _, canary := range []string{"sk-" + strings.Repeat("a", 20), "sk-ant-api03", "AIza" + strings.Repeat("b", 35), "Authorization: x", "Bearer x",
		"org-" + strings.Repeat("c", 24), "proj_abcdefgh", `"user_id":"user_2abcdefghijklmn"`, "someone@example.com", `"api_key":"x"`} {
		assert.Regexp(t, secrets, canary)
	}
	size := 0
	for path, text := range files(t) {
		size += len(text)
		if strings.HasPrefix(path, "LICENSES/") {
			continue
		}
		for _, found := range secrets.FindAllString(text, -1) {
			t.Errorf("%s has %.20q", path, found)
		}
	}
	assert.LessOrEqual(t, size, 3<<19, "bytes of testdata")
}

// Every recording is what its manifest says, and of every wire there is what adapters find
// difficult.
func TestRead(t *testing.T) {
	t.Parallel()
	type having struct{ text, reasoning, calls, parallel, signed, cached, failures, requests int }
	want := map[recordings.Wire]having{
		recordings.Chat:      {text: 40, reasoning: 20, calls: 30, parallel: 10, cached: 10, failures: 1, requests: 100},
		recordings.Responses: {text: 10, reasoning: 2, calls: 8, parallel: 3, signed: 2, failures: 1, requests: 20},
		recordings.Anthropic: {text: 15, reasoning: 3, calls: 8, parallel: 2, signed: 3, failures: 1, requests: 20},
		recordings.Gemini:    {text: 10, reasoning: 2, calls: 8, parallel: 2, signed: 5, failures: 3, requests: 20},
	}
	got := map[recordings.Wire]having{}
	for _, r := range recordings.All(t, "") {
		body := r.Response(t)
		a, err := recordings.Read(r, body)
		require.NoError(t, err, r.Name)
		assert.Equal(t, r.Refused(), strings.HasPrefix(r.ContentType, "application/json"), r.Name)
		if r.HasRequest {
			assert.True(t, json.Valid(r.Request(t)), r.Name)
		} else {
			assert.Nil(t, r.Request(t), r.Name)
		}
		h := got[r.Wire]
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&h.text, a.Text != "")
		count(&h.reasoning, a.Reasoning != "")
		count(&h.calls, len(a.Calls) > 0)
		count(&h.parallel, len(a.Calls) > 1)
		count(&h.signed, len(a.Signed) > 0)
		count(&h.cached, a.Usage.CacheRead > 0)
		count(&h.failures, a.Failure != "")
		count(&h.requests, r.HasRequest)
		got[r.Wire] = h
		if a.Failure != "" {
			continue
		}
		assert.NotEmpty(t, a.Finish, r.Name)
		assert.Positive(t, a.Usage.Input, r.Name)
		assert.GreaterOrEqual(t, a.Usage.Input, a.Usage.CacheRead+a.Usage.CacheWrite, r.Name)
		assert.GreaterOrEqual(t, a.Usage.Output, a.Usage.Reasoning, r.Name)
		assert.Equal(t, a.Finish == message.FinishTools, len(a.Calls) > 0, r.Name)
		for _, c := range a.Calls {
			assert.NotEmpty(t, c.Tool, r.Name)
			assert.True(t, c.Arguments == "" || json.Valid([]byte(c.Arguments)), r.Name)
		}
	}
	for wire, least := range want {
		t.Logf("%s: %+v", wire, got[wire])
		h := got[wire]
		for name, n := range map[string][2]int{"text": {h.text, least.text}, "reasoning": {h.reasoning, least.reasoning}, "calls": {h.calls, least.calls},
			"parallel calls": {h.parallel, least.parallel}, "signed": {h.signed, least.signed}, "cached": {h.cached, least.cached},
			"failures": {h.failures, least.failures}, "requests": {h.requests, least.requests}} {
			assert.GreaterOrEqual(t, n[0], n[1], "%s: recordings with %s", wire, name)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	r := recordings.All(t, recordings.Anthropic)[0]
	server := httptest.NewServer(recordings.Handler(t, r))
	defer server.Close()
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/v1/messages", http.StatusOK},
		{http.MethodPost, "/v1/messages?beta=true", http.StatusOK},
		{http.MethodGet, "/v1/messages", http.StatusNotFound},
		{http.MethodPost, "/v1/chat/completions", http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, tt.want, resp.StatusCode, tt.path)
		if tt.want == http.StatusOK {
			assert.Equal(t, string(r.Response(t)), string(body))
			assert.Equal(t, r.ContentType, resp.Header.Get("Content-Type"))
		} else {
			assert.Contains(t, string(body), "anthropic")
		}
	}
}
