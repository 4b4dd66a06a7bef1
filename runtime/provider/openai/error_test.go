package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// responds answers with a status, a content type and a body.
func responds(status int, kind, body string, header ...string) server {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		if kind != "" {
			h.Set("Content-Type", kind)
		}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	for name, tc := range map[string]struct {
		s    server
		want provider.ServerError
		text string
	}{
		"OpenAI's": {
			responds(429, json, `{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, "Retry-After", "20"),
			provider.ServerError{Vendor: "openai", Status: 429, Code: "rate_limit_exceeded", Type: "requests", Message: "Rate limit reached", RetryAfter: 20 * time.Second},
			"openai: 429 Too Many Requests: rate_limit_exceeded: Rate limit reached",
		},
		"llama.cpp's":    {responds(500, json, `{"error":{"code":500,"message":"no slot","type":"server_error"}}`), provider.ServerError{Vendor: "openai", Status: 500, Code: "500", Type: "server_error", Message: "no slot"}, "openai: 500 Internal Server Error: no slot"},
		"vLLM's":         {responds(400, json, `{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}`), provider.ServerError{Vendor: "openai", Status: 400, Code: "400", Type: "BadRequestError", Message: "too long"}, "openai: 400 Bad Request: too long"},
		"Ollama's":       {responds(404, json, `{"error":"model \"x\" not found"}`), provider.ServerError{Vendor: "openai", Status: 404, Message: `model "x" not found`}, `openai: 404 Not Found: model "x" not found`},
		"FastAPI's":      {responds(404, json, `{"detail":"Not Found"}`), provider.ServerError{Vendor: "openai", Status: 404, Message: "Not Found"}, ""},
		"FastAPI's list": {responds(422, json, `{"detail":[{"loc":["body"],"msg":"bad"}]}`), provider.ServerError{Vendor: "openai", Status: 422, Message: `[{"loc":["body"],"msg":"bad"}]`}, ""},
		"a text":         {responds(503, "text/plain", "upstream\r\n\x1b[31mdown"), provider.ServerError{Vendor: "openai", Status: 503, Message: "upstream  [31mdown"}, ""},
		"nothing":        {responds(502, "", ""), provider.ServerError{Vendor: "openai", Status: 502, Message: "the server gave no reason"}, ""},
		"HTML":           {responds(404, "text/html", "<!doctype html><TITLE> Not\nhere </TITLE>"), provider.ServerError{Vendor: "openai", Status: 404, Message: "an HTML page instead of the API: Not here"}, ""},
		"other HTML":     {responds(502, "", "<h1>no</h1>"), provider.ServerError{Vendor: "openai", Status: 502, Message: "an HTML page instead of the API"}, ""},
		"a redirect":     {responds(307, "", "", "Location", "http://elsewhere.test/"), provider.ServerError{Vendor: "openai", Status: 307, Message: "the server redirects; the base URL must be the final address"}, ""},
		"broken JSON":    {responds(500, json, `{"error":{"message":"half`), provider.ServerError{Vendor: "openai", Status: 500, Message: `{"error":{"message":"half`}, ""},
		"a long one":     {responds(500, json, `{"error":{"message":"`+strings.Repeat("é", 400)+`"}}`), provider.ServerError{Vendor: "openai", Status: 500, Message: strings.Repeat("é", 248) + "…"}, ""},
		"an echoed key":  {responds(401, json, `{"error":{"message":"Incorrect API key: `+canary+`","code":"`+canary+`","type":"`+canary+`"}}`), provider.ServerError{Vendor: "openai", Status: 401, Message: "Incorrect API key: [hidden]", Code: "[hidden]", Type: "[hidden]"}, ""},
		"an odd status":  {responds(599, json, `{}`), provider.ServerError{Vendor: "openai", Status: 599, Message: "{}"}, "openai: 599 unknown status: {}"},
		"200, no stream": {responds(200, json, `{"error":{"message":"no"}}`), provider.ServerError{Vendor: "openai", Status: 200, Message: "no"}, "openai: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := asks(tc.s, nil)
			if name == "a redirect" {
				p = openai.New(&openai.Options{BaseURL: "http://model.test/v1", Network: provider.Network{Client: &http.Client{Transport: tc.s}}})
			}
			reply, err := provider.Collect(p.Stream(t.Context(), hello()))
			var e *provider.ServerError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tc.want, *e)
			assert.Zero(t, reply.Content.Len())
			if tc.text != "" {
				assert.EqualError(t, err, tc.text)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	date := "Sat, 21 Nov 2026 05:12:30 GMT"
	for name, tc := range map[string]struct {
		header []string
		want   time.Duration
	}{
		"none":         {nil, 0},
		"seconds":      {[]string{"Retry-After", "3"}, 3 * time.Second},
		"fraction":     {[]string{"Retry-After", "0.5"}, 500 * time.Millisecond},
		"milliseconds": {[]string{"Retry-After-Ms", "1500", "Retry-After", "2"}, 1500 * time.Millisecond},
		"a date":       {[]string{"Retry-After", "Sat, 21 Nov 2026 05:13:30 GMT", "Date", date}, time.Minute},
		"a past date":  {[]string{"Retry-After", "Sat, 21 Nov 2020 05:13:30 GMT"}, 0},
		"negative":     {[]string{"Retry-After", "-3"}, 0},
		"absurd":       {[]string{"Retry-After", "1e300"}, 24 * time.Hour},
		"infinite":     {[]string{"Retry-After", "Inf"}, 24 * time.Hour},
		"no number":    {[]string{"Retry-After", "NaN"}, 0},
		"words":        {[]string{"Retry-After", "soon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Collect(asks(responds(429, "", "", tc.header...), nil).Stream(t.Context(), hello()))
			var e *provider.ServerError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tc.want, e.RetryAfter)
		})
	}
}

// What is not a whole answer is an error with a reason, never an answer.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	begun := callsWith(`{"index":0,"id":"1","function":{"name":"x","arguments":"{}"}}`)
	for name, tc := range map[string]struct {
		wire   string
		is     error
		reason string
	}{
		"nothing":                   {"", provider.ErrNoFinish, ""},
		"only comments":             {": a\n\n: b\n\n", provider.ErrNoFinish, ""},
		"only [DONE]":               {done, provider.ErrNoFinish, "[DONE]"},
		"text, no finish":           {says("looks whole."), provider.ErrNoFinish, ""},
		"text, [DONE]":              {says("looks whole.") + done, provider.ErrNoFinish, "[DONE]"},
		"a call, no finish":         {begun, provider.ErrNoFinish, ""},
		"more behind the finish":    {says("a") + ends + says("b"), provider.ErrNoFinish, ""},
		"cut in a line":             {says("a") + ends[:len(ends)-20], provider.ErrNoFinish, ""},
		"cut in a name":             {says("a") + "dat", provider.ErrNoFinish, ""},
		"cut in UTF-8":              {says("a") + "data: {\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f", provider.ErrNoFinish, ""},
		"garbage":                   {says("a") + "garbage\n\n" + whole, provider.ErrProtocol, `"garbage"`},
		"a damaged name":            {strings.Replace(says("a"), "data", "dada", 1) + whole, provider.ErrProtocol, "dada"},
		"JSON without data":         {`{"choices":[]}` + "\n" + whole, provider.ErrProtocol, "choices"},
		"HTML inside":               {says("a") + "<html>\n" + whole, provider.ErrProtocol, "html"},
		"no JSON":                   {"data: garbage\n\n" + whole, provider.ErrProtocol, "garbage"},
		"half of JSON":              {`data: {"choices":[` + "\n\n" + whole, provider.ErrProtocol, "ends in the middle"},
		"a list":                    {"data: []\n\n" + whole, provider.ErrProtocol, "it is no JSON object"},
		"a wrong choice":            {`data: {"choices":{}}` + "\n\n" + whole, provider.ErrProtocol, "/choices is of the wrong type"},
		"a wrong delta":             {`data: {"choices":[{"delta":"a"}]}` + "\n\n" + whole, provider.ErrProtocol, "/choices/0/delta is of the wrong type"},
		"too much JSON":             {`data: {"choices":[]}}` + "\n\n" + whole, provider.ErrProtocol, "}"},
		"a bad escape":              {says(`\x`) + whole, provider.ErrProtocol, "it is no JSON"},
		"too deep":                  {"data: {\"x\":" + strings.Repeat("[", 100_000) + "\n\n" + whole, provider.ErrProtocol, "it is no JSON"},
		"arguments of nothing":      {callsWith(`{"function":{"arguments":"{}"}}`) + whole, provider.ErrProtocol, "no tool call"},
		"a call without a name":     {callsWith(`{"index":0,"id":"1","function":{"arguments":"{}"}}`) + whole, provider.ErrProtocol, "no name"},
		"too many calls":            {callsWith(strings.TrimSuffix(strings.Repeat(`{"function":{"name":"x"}},`, 2000), ",")) + whole, provider.ErrProtocol, "1024"},
		"an error":                  {says("a") + `data: {"error":{"message":"overloaded","type":"server_error","code":"busy"}}` + "\n\n", nil, "openai: busy: overloaded"},
		"an error as text":          {says("a") + `data: {"error":"overloaded"}` + "\n\n" + whole, nil, "openai: overloaded"},
		"an error among choices":    {says("a") + `data: {"error":{"code":502,"message":"lost"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n" + done, nil, "openai: 502: lost"},
		"vLLM's error":              {says("a") + `data: {"object":"error","message":"dead","code":500}` + "\n\n" + done, nil, "dead"},
		"llama.cpp's error":         {says("a") + `error: {"code":500,"message":"slot lost","type":"server_error"}` + "\n\n", nil, "500: slot lost"},
		"an event error":            {says("a") + "event: error\ndata: {\"message\":\"gone\"}\n\n", nil, "gone"},
		"an event error, no JSON":   {says("a") + "event: error\ndata: gone\n\n", nil, "gone"},
		"an empty error":            {says("a") + `data: {"error":{}}` + "\n\n", nil, "no reason given"},
		"gave up":                   {says("a") + chunkOf(`{}`, "error") + done, nil, "the server gave up: error"},
		"aborted":                   {says("a") + chunkOf(`{}`, "abort") + done, nil, "the server gave up: abort"},
		"a key in the middle of it": {says("a") + canary + "\n\n", provider.ErrProtocol, "[hidden]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := answers(t.Context(), tc.wire)
			require.Error(t, err)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			} else {
				var e *provider.ServerError
				require.ErrorAs(t, err, &e)
				assert.Equal(t, 200, e.Status)
			}
			assert.ErrorContains(t, err, tc.reason)
			assert.Less(t, len(err.Error()), 700)
			assert.NotContains(t, err.Error(), canary)
			for range reply.Calls() {
				t.Error("a call of a broken answer")
			}
		})
	}
}

func TestWrongContentTypes(t *testing.T) {
	t.Parallel()
	for kind, reason := range map[string]string{
		"text/html; charset=utf-8": `text/html instead of a stream of events: "an HTML page instead of the API: Sign in"`,
		"application/json":         "application/json instead of a stream of events",
		"text/plain":               "text/plain instead",
		"a;b;c":                    "a;b;c instead",
	} {
		_, err := provider.Collect(asks(responds(200, kind, "<html><title>Sign in</title>"), nil).Stream(t.Context(), hello()))
		require.ErrorIs(t, err, provider.ErrProtocol, kind)
		assert.ErrorContains(t, err, reason)
	}
	reply, err := provider.Collect(asks(responds(200, "", says("ok")+whole), nil).Stream(t.Context(), hello()))
	require.NoError(t, err, "a server may say nothing")
	assert.Equal(t, "ok", reply.Text())
}

func TestBounds(t *testing.T) {
	t.Parallel()
	o := &openai.Options{Network: provider.Network{MaxEvent: 1000, MaxStream: 5000}}
	for name, tc := range map[string]struct{ wire, reason string }{
		"a line":            {says(strings.Repeat("a", 100_000)), "an event is too long: Options.MaxEvent is 1000 bytes"},
		"a line of no end":  {strings.Repeat("a", 100_000), "an event is too long"},
		"an event":          {strings.Repeat("data: "+strings.Repeat(" ", 100)+"\n", 40), "an event is too long"},
		"the stream":        {strings.Repeat(says("a"), 1000) + whole, "the stream is too long: Options.MaxStream is 5000 bytes"},
		"comments for ever": {strings.Repeat(": ping\n\n", 10_000) + whole, "the stream is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.Collect(asks(serves(strings.NewReader(tc.wire)), o).Stream(t.Context(), hello()))
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureTooLarge, class, "a retry would bring the same")
			require.ErrorContains(t, err, tc.reason)
		})
	}
	_, err := provider.Collect(asks(serves(strings.NewReader(says(strings.Repeat("a", 800))+whole)), o).Stream(t.Context(), hello()))
	require.NoError(t, err)
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o      openai.Options
		reason string
	}{
		"no key":          {openai.Options{}, "no API key for api.openai.com; set OPENAI_API_KEY"},
		"no URL":          {openai.Options{BaseURL: "http://user:" + canary + "@[::1/v1"}, "base URL"},
		"no scheme":       {openai.Options{BaseURL: "localhost:8080/v1"}, "base URL"},
		"a file":          {openai.Options{BaseURL: "file:///etc"}, "base URL"},
		"a broken key":    {openai.Options{APIKey: canary + "\n"}, "API key"},
		"extra, no JSON":  {openai.Options{APIKey: canary, Extra: `{"a":`}, "Extra: it is not a JSON object"},
		"extra, a list":   {openai.Options{APIKey: canary, Extra: `[]`}, "Extra: it is not a JSON object"},
		"extra, two":      {openai.Options{APIKey: canary, Extra: `{} {}`}, "after top-level value"},
		"extra, our keys": {openai.Options{APIKey: canary, Extra: `{"temperature":0,"stream":false}`}, `may not set "stream"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Client = &http.Client{Transport: server(func(*http.Request) (*http.Response, error) {
				t.Error("a request was made")
				return nil, io.EOF
			})}
			p := openai.New(&tc.o)
			require.ErrorIs(t, p.Err(), provider.ErrOptions)
			assert.ErrorContains(t, p.Err(), tc.reason)
			assert.NotContains(t, p.Err().Error(), canary)
			_, err := provider.Collect(p.Stream(t.Context(), hello()))
			assert.Equal(t, p.Err(), err)
		})
	}
	assert.NoError(t, openai.New(&openai.Options{APIKey: canary}).Err())
}

// Keys are in no error and in no text form, whoever repeats them.
func TestKeysStayHidden(t *testing.T) {
	t.Parallel()
	fails := server(func(*http.Request) (*http.Response, error) { return nil, errors.New("dial " + canary + " failed") })
	for name, o := range map[string]openai.Options{
		"key":        {BaseURL: "http://model.test", APIKey: canary},
		"header":     {BaseURL: "http://model.test", Network: provider.Network{Header: http.Header{"Api-Key": {canary}}}},
		"own bearer": {BaseURL: "http://model.test", Network: provider.Network{Header: http.Header{"Authorization": {"Bearer " + canary}}}},
		"password":   {BaseURL: "http://me:" + canary + "@model.test"},
		"user":       {BaseURL: "http://" + canary + "@model.test"},
		"query":      {BaseURL: "http://model.test?key=" + canary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []server{
				fails,
				responds(401, "application/json", `{"error":{"message":"bad key `+canary+`"}}`),
				responds(401, "text/plain", strings.Repeat("x", 495)+canary),
				responds(200, "text/html", "<title>"+canary+"</title>"),
				responds(200, canary, ""),
				responds(200, "text/event-stream", "data: "+canary+"\n\n"),
				responds(200, "text/event-stream", `data: {"error":{"code":"`+canary+`"}}`+"\n\n"),
				responds(200, "text/event-stream", chunkOf(`{}`, "error")+canary),
			} {
				o.Client = &http.Client{Transport: s}
				p := openai.New(&o)
				require.NoError(t, p.Err())
				_, err := provider.Collect(p.Stream(t.Context(), hello()))
				require.Error(t, err)
				for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err), fmt.Sprint(p), fmt.Sprintf("%v %+v %#v %s %d", p, p, p, p, p)} {
					assert.NotContains(t, text, canary[:12])
				}
			}
		})
	}
	assert.Equal(t, "openai(model.test)", fmt.Sprintf("%+v", openai.New(&openai.Options{BaseURL: "http://model.test/x"})))
}

func TestErrorsOfTheNetworkNameTheServer(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset by peer")
	_, err := provider.Collect(asks(func(*http.Request) (*http.Response, error) { return nil, reset }, nil).Stream(t.Context(), hello()))
	require.ErrorIs(t, err, reset)
	assert.EqualError(t, err, "openai: model.test: connection reset by peer")

	cut := io.MultiReader(strings.NewReader(says("a")), failing{reset})
	reply, err := provider.Collect(asks(serves(cut), nil).Stream(t.Context(), hello()))
	require.ErrorIs(t, err, reset)
	assert.Equal(t, "a", reply.Text(), "the text so far is kept")

	cut = io.MultiReader(strings.NewReader(says("a")+ends), failing{reset})
	reply, err = provider.Collect(asks(serves(cut), nil).Stream(t.Context(), hello()))
	require.NoError(t, err, "the answer was whole")
	assert.Equal(t, message.FinishStop, reply.Finish)

	_, err = provider.Collect(asks(serves(failing{nil}), nil).Stream(t.Context(), hello()))
	require.ErrorIs(t, err, io.ErrNoProgress)
}

// failing is a reader that gives nothing but its error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
