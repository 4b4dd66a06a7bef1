package internode

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// The headers of requests between nodes.
const (
	// HeaderNode has the id of the node that is meant.
	HeaderNode = "Grapnel-Node"
	// HeaderCaller has the [Caller], as JSON in base64url.
	HeaderCaller = "Grapnel-Caller"
)

// Caller is who sent a request to the node that passes it on.
type Caller struct {
	// Local: the user of that node's unix socket, who may do everything. The other members are then empty.
	Local bool `json:"local,omitzero"`
	// Token is the id of the token, which is no secret.
	Token  string   `json:"token,omitzero"`
	Name   string   `json:"name,omitzero"`
	Owner  string   `json:"owner,omitzero"`
	Scopes []string `json:"scopes,omitzero"`
	// Projects are directories; none is all projects. A node gets those that it has.
	Projects []string `json:"projects,omitzero"`
}

// at returns the caller for a node: a token may be for more projects than a header has room for.
func (c Caller) at(to store.Node) Caller {
	var there []string
	for _, p := range to.Projects {
		if slices.Contains(c.Projects, p.Root) {
			there = append(there, p.Root)
		}
	}
	if there != nil { // none would be all
		c.Projects = there
	}
	return c
}

// header returns the value of HeaderCaller.
func (c Caller) header() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and a flag can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Sent reports whether the request has a header that only nodes send.
func Sent(h http.Header) bool { return h.Values(HeaderNode) != nil || h.Values(HeaderCaller) != nil }

// Received reads who sent a request that another node passes on, and which node it is meant for. The caller has checked
// that it comes from a node.
func Received(h http.Header) (c Caller, node string, err error) {
	nodes, callers := h.Values(HeaderNode), h.Values(HeaderCaller)
	if len(nodes) != 1 || len(callers) != 1 {
		return Caller{}, "", fmt.Errorf("a request between nodes has one header %s and one %s", HeaderNode, HeaderCaller)
	}
	text, err := base64.RawURLEncoding.DecodeString(callers[0])
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return Caller{}, "", fmt.Errorf("the header %s cannot be read: %w", HeaderCaller, err)
	}
	if c.Local && (c.Token != "" || c.Name != "" || c.Owner != "" || c.Scopes != nil || c.Projects != nil) {
		return Caller{}, "", errors.New("the header " + HeaderCaller + " says both that the caller is local and who it is")
	}
	return c, nodes[0], nil
}
