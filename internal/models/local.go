package models

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Local is a model server on this machine.
type Local struct {
	// Vendor is the prefix of its models, Title what people call the program.
	Vendor, Title string
	// Address is host:port.
	Address string
	// Models are the names of its models, at most ten: plain words that are safe in a command.
	Models []string
}

// Port is where a vendor's server usually listens on this machine.
type Port struct {
	Vendor string
	Number int
}

// UsualPorts are those of all vendors that have one.
func UsualPorts() []Port {
	var out []Port
	for _, v := range vendors() {
		if v.port > 0 {
			out = append(out, Port{v.name, v.port})
		}
	}
	return out
}

const (
	// lookTime is how long the search for servers takes at most.
	lookTime = 300 * time.Millisecond
	// maxList bounds a list of models in bytes, maxLocal the models that are shown of it.
	maxList  = 1 << 20
	maxLocal = 10
	// maxName bounds the name of a model, in bytes.
	maxName = 100
)

// FindLocal returns the servers that answer at the ports of the loopback interface with a list
// of models, in the order of the ports. It asks all of them at once and takes at most 300 ms.
// Any program of this machine may listen there: nothing of an answer is taken but names of a
// few harmless characters.
func FindLocal(ctx context.Context, ports []Port) []Local {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	transport := &http.Transport{Proxy: nil, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	found := make([]Local, len(ports))
	var all sync.WaitGroup
	for i, p := range ports {
		all.Go(func() {
			address := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number))
			if names := modelsAt(ctx, client, address); len(names) > 0 {
				found[i] = Local{Vendor: p.Vendor, Title: known(p.Vendor).title, Address: address, Models: names}
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(found, func(l Local) bool { return l.Vendor == "" })
}

// modelsAt returns the names of the models of a server; nil if it is none.
func modelsAt(ctx context.Context, client *http.Client, address string) []string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/models", nil)
	if err != nil {
		return nil
	}
	req.Header.Set("User-Agent", "grapnel")
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err != nil || len(data) > maxList {
		return nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Data {
		if plain(m.ID) && !slices.Contains(names, m.ID) && len(names) < maxLocal {
			names = append(names, m.ID)
		}
	}
	return names
}

// plain reports whether a name can stand in a command that a person copies.
func plain(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, b := range []byte(name) {
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && b != '.' && b != '_' && b != '-' && b != ':' && b != '/' && b != '@' {
			return false
		}
	}
	return true
}

// Keyed is a vendor that needs a key.
type Keyed struct {
	Vendor, Title string
	// Variable is where its key usually is. Present: it has a key now.
	Variable string
	Present  bool
}

// Keyed returns the vendors of the program that need a key, in the order of the table.
func (m *Models) Keyed() []Keyed {
	var out []Keyed
	for _, v := range vendors() {
		if !v.keyless {
			present, _ := m.Configured(v.name)
			out = append(out, Keyed{v.name, v.title, v.keyNames()[0], present})
		}
	}
	return out
}
