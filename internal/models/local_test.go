package models_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/models"
)

// listens returns the port of a server on the loopback interface.
func listens(t *testing.T, h http.HandlerFunc) int {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	return port
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestServersOnThisMachine(t *testing.T) {
	t.Parallel()
	many := make([]string, 50)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"m%d"}`, i)
	}
	other := listens(t, says(`{"data":[{"id":"other"}]}`))
	_, free, err := net.SplitHostPort(closed(t))
	require.NoError(t, err)
	nobody, err := strconv.Atoi(free)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		port int
		want []string
	}{
		"a server": {listens(t, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "GET /v1/models", r.Method+" "+r.URL.Path)
			assert.Empty(t, r.Header.Get("Authorization"))
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"llama3.2:3b"},{"id":"hf.co/org/Model_1@v2"},{"id":"llama3.2:3b"}]}`)
		}), []string{"llama3.2:3b", "hf.co/org/Model_1@v2"}},
		"hostile names": {listens(t, says(`{"data":[{"id":"a b"},{"id":"$(rm -rf ~)"},{"id":"\u001b[31mred"},{"id":"a;b"},{"id":""},{"id":"`+strings.Repeat("x", 101)+`"},{"id":"ok"}]}`)), []string{"ok"}},
		"many":          {listens(t, says(`{"data":[`+strings.Join(many, ",")+`]}`)), []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"}},
		"no models":     {listens(t, says(`{"data":[]}`)), nil},
		"a page":        {listens(t, says("<html>")), nil},
		"without end": {listens(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}), nil},
		"an error": {listens(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"data":[{"id":"x"}]}`)
		}), nil},
		"a redirect": {listens(t, http.RedirectHandler(fmt.Sprintf("http://127.0.0.1:%d/v1/models", other), http.StatusFound).ServeHTTP), nil},
		"silence":    {listens(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil},
		"nobody":     {nobody, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for range 100 { // on a busy machine a server may not answer in time
				if found := models.FindLocal(t.Context(), []models.Port{{Vendor: "ollama", Number: c.port}}); len(found) > 0 {
					assert.Equal(t, []string{"ollama", "Ollama", fmt.Sprintf("127.0.0.1:%d", c.port)}, []string{found[0].Vendor, found[0].Title, found[0].Address})
					got = found[0].Models
					break
				}
				if c.want == nil {
					break
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestTheSearchTakesItsTime and no more, however many servers are silent.
func TestTheSearchTakesItsTime(t *testing.T) {
	t.Parallel()
	var ports []models.Port
	for range 8 {
		ports = append(ports, models.Port{Vendor: "vllm", Number: listens(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })})
	}
	begun := time.Now()
	assert.Empty(t, models.FindLocal(t.Context(), ports))
	t.Logf("FIGURE eight silent servers were given up after %v", time.Since(begun).Round(time.Millisecond))
}

func TestUsualPorts(t *testing.T) {
	t.Parallel()
	assert.ElementsMatch(t, []models.Port{{"ollama", 11434}, {"llamacpp", 8080}, {"lmstudio", 1234}, {"vllm", 8000}}, models.UsualPorts())
}
