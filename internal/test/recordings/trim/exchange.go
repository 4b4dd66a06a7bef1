package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// exchange is one request and its answer.
type exchange struct {
	method, path, contentType string
	// at is the time of the answer, if the source says it.
	at                time.Time
	status            int
	retryAfter        string
	request, response []byte
}

// cassette is a file of go-vcr.
type cassette struct {
	Interactions []struct {
		Request struct {
			Method string `yaml:"method"`
			URL    string `yaml:"url"`
			Body   string `yaml:"body"`
		} `yaml:"request"`
		Response struct {
			Body    string      `yaml:"body"`
			Code    int         `yaml:"code"`
			Status  string      `yaml:"status"`
			Headers http.Header `yaml:"headers"`
		} `yaml:"response"`
	} `yaml:"interactions"`
}

func readCassette(data []byte) ([]exchange, error) {
	var c cassette
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	var all []exchange
	for _, i := range c.Interactions {
		u, err := url.Parse(i.Request.URL)
		if err != nil {
			return nil, err
		}
		x := exchange{
			method: i.Request.Method, path: u.Path, request: []byte(i.Request.Body), response: []byte(i.Response.Body),
			status: i.Response.Code,
		}
		if x.status == 0 {
			if _, err := fmt.Sscanf(i.Response.Status, "%d", &x.status); err != nil {
				return nil, fmt.Errorf("status %q: %w", i.Response.Status, err)
			}
		}
		x.headers(i.Response.Headers)
		all = append(all, x)
	}
	return all, nil
}

func (x *exchange) headers(h http.Header) {
	x.contentType, x.retryAfter = h.Get("Content-Type"), h.Get("Retry-After")
	x.at, _ = http.ParseTime(h.Get("Date")) // the zero time is unknown
}

// readTrace reads a file of httprr: the sizes of a request and a response, then both as HTTP/1.
func readTrace(data []byte) ([]exchange, error) {
	r := bufio.NewReader(bytes.NewReader(data))
	if _, err := r.ReadString('\n'); err != nil {
		return nil, err
	}
	var all []exchange
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF && strings.TrimSpace(line) == "" {
			return all, nil
		}
		var in, out int
		if _, err := fmt.Sscanf(line, "%d %d", &in, &out); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		pair := make([]byte, in+out)
		if _, err := io.ReadFull(r, pair); err != nil {
			return nil, err
		}
		x, err := readPair(pair[:in], pair[in:])
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
}

func readPair(in, out []byte) (exchange, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
	if err != nil {
		return exchange{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), req)
	if err != nil {
		return exchange{}, err
	}
	x := exchange{method: req.Method, path: req.URL.Path, status: resp.StatusCode}
	x.headers(resp.Header)
	if x.request, err = io.ReadAll(req.Body); err != nil {
		return exchange{}, err
	}
	x.response, err = io.ReadAll(resp.Body)
	return x, err
}
