package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/sse"
)

const document = "../../docs/openapi.yaml"

// contract compares requests and responses with the document.
type contract struct {
	t    *testing.T
	spec *openapi3.T
	mux  *http.ServeMux // finds the path of the document

	mu sync.Mutex
	// seen are the operations that were answered, with their statuses.
	seen map[string]bool
}

func newContract(t *testing.T) *contract {
	t.Helper()
	data, err := os.ReadFile(document)
	require.NoError(t, err)
	spec, err := openapi3.NewLoader().LoadFromData(data)
	require.NoError(t, err)
	require.NoError(t, spec.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()))
	c := &contract{t: t, spec: spec, mux: http.NewServeMux(), seen: map[string]bool{}}
	for _, path := range spec.Paths.InMatchingOrder() {
		c.mux.HandleFunc(patternOf(path), func(http.ResponseWriter, *http.Request) {})
	}
	return c
}

// patternOf returns the pattern of a mux for a path of the document, which cannot say that a name has slashes.
func patternOf(path string) string {
	switch path {
	case "/":
		return "/{$}"
	case "/page/{file}":
		return "/page/{file...}"
	}
	return path
}

// route finds the operation of a request; nil if the document has none.
func (c *contract) route(req *http.Request) (*routers.Route, map[string]string) {
	_, pattern := c.mux.Handler(req)
	pattern = strings.NewReplacer("{$}", "", "...}", "}").Replace(pattern)
	item := c.spec.Paths.Value(pattern)
	if item == nil || item.GetOperation(req.Method) == nil {
		return nil, nil
	}
	params := map[string]string{}
	want, got := strings.Split(pattern, "/"), strings.Split(req.URL.EscapedPath(), "/")
	for i, part := range want {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			value, err := url.PathUnescape(got[i])
			assert.NoError(c.t, err)
			params[strings.TrimSuffix(name, "}")] = value
		}
	}
	return &routers.Route{Spec: c.spec, Path: pattern, PathItem: item, Method: req.Method, Operation: item.GetOperation(req.Method)}, params
}

// check compares one exchange; body is what the client sent. What is wrong fails
// the test. The response can still be read.
func (c *contract) check(resp *http.Response, sent []byte) {
	req := resp.Request
	route, params := c.route(req)
	if route == nil {
		assert.Contains(c.t, []int{403, 404, 405}, resp.StatusCode, "%s %s is not in the document", req.Method, req.URL)
		body, err := io.ReadAll(resp.Body)
		assert.NoError(c.t, err)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		covered.failed(resp.StatusCode, body)
		return
	}
	c.mu.Lock()
	c.seen[req.Method+" "+route.Path] = true
	c.mu.Unlock()
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: options}
	if resp.StatusCode < 300 {
		again := req.Clone(req.Context())
		again.Body = io.NopCloser(bytes.NewReader(sent))
		in.Request = again
		assert.NoError(c.t, openapi3filter.ValidateRequest(req.Context(), in), "%s %s was answered: %s", req.Method, req.URL, sent)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Options: options}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		covered.exchange(c.spec, req.Method, route.Path, resp.StatusCode, resp.Header, sent, nil)
		out.Options = &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true}
		resp.Body = c.stream(resp.Body)
	} else {
		body, err := io.ReadAll(resp.Body)
		assert.NoError(c.t, err)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		covered.exchange(c.spec, req.Method, route.Path, resp.StatusCode, resp.Header, sent, body)
		out.Body = io.NopCloser(bytes.NewReader(body))
		if len(body) == 0 {
			out.Options = &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true}
		}
	}
	assert.NoError(c.t, openapi3filter.ValidateResponse(req.Context(), out), "%s %s", req.Method, req.URL)
}

// stream checks the events of a stream as they are read.
func (c *contract) stream(body io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		parts := sse.NewReader(r, nil)
		for {
			p, err := parts.Next()
			if err != nil {
				return
			}
			c.part(p)
		}
	}()
	return &teed{ReadCloser: body, w: w, done: done}
}

func (c *contract) part(p sse.Event) {
	switch p.Name {
	case wire.StreamLagged, wire.StreamRestarted, wire.StreamClosed, wire.StreamWaiting:
		assert.True(c.t, json.Valid(p.Data))
	case "":
		if p.Data == nil {
			assert.NotEmpty(c.t, p.ID)
			return
		}
		var v any
		assert.NoError(c.t, json.Unmarshal(p.Data, &v))
		err := c.spec.Components.Schemas["Event"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation())
		assert.NoError(c.t, err, "%s", p.Data)
		covered.event(c.spec, p.Data)
	default:
		assert.Fail(c.t, "a part of an unknown name", p.Name)
	}
}

type teed struct {
	io.ReadCloser
	w    *io.PipeWriter
	done chan struct{}
}

func (t *teed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		_, _ = t.w.Write(p[:n])
	}
	return n, err
}

func (t *teed) Close() error {
	_ = t.w.Close()
	<-t.done
	return t.ReadCloser.Close()
}

// proxy checks everything that goes to the daemon and comes from it.
func (c *contract) proxy(to http.RoundTripper) http.Handler {
	type bodyKey struct{}
	p := &httputil.ReverseProxy{
		Transport: to, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "daemon", r.In.Host
		},
		ModifyResponse: func(resp *http.Response) error {
			sent, _ := resp.Request.Context().Value(bodyKey{}).([]byte)
			c.check(resp, sent)
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		p.ServeHTTP(w, r.WithContext(contextWith(r.Context(), bodyKey{}, sent)))
	})
}

// TestDocument: the document has the routes of the program and no others.
// The authority of a reason is its place among the constants, and that of an unknown one their number.
func TestTheDocumentHasEveryStopReasonInOrder(t *testing.T) {
	reasons := newContract(t).spec.Components.Schemas["Event"].Value.Properties["stop"].Value.Enum
	require.Len(t, reasons, hook.StopReason("novel").Authority())
	for i, name := range reasons {
		assert.Equal(t, i, hook.StopReason(name.(string)).Authority(), name)
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	var documented []api.Route
	c := newContract(t)
	for path, item := range c.spec.Paths.Map() {
		for method, op := range item.Operations() {
			need := access.Scope("public")
			for _, way := range *op.Security {
				for _, scopes := range way {
					require.Len(t, scopes, 1)
					need = access.Scope(scopes[0])
				}
			}
			documented = append(documented, api.Route{Method: method, Path: path, Need: need})
		}
	}
	assert.ElementsMatch(t, newWorld(t, nil).server.Routes(), documented)
}
