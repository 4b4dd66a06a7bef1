package schemas

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Report is a result with every kind of field.
type Report struct {
	Head
	*Tail
	// Name of it.
	Name     string
	Count    int            `json:"count"`
	Small    uint8          `json:"small,omitempty"`
	Ratio    float32        `json:"ratio,string"`
	Quoted   *int64         `json:"quoted,string"`
	Done     bool           `json:"done,string"`
	Priority Priority       `json:"priority"`
	List     []string       `json:"list"`
	Some     []*Leaf        `json:"some,omitempty"`
	Zero     []Leaf         `json:"zero,omitzero"`
	Map      map[string]int `json:"map"`
	ByNumber map[int8][]int `json:"by number"`
	Array    [2]*bool       `json:"array"`
	Bytes    []byte         `json:"bytes"`
	Digest   [2]byte        `json:"digest"`
	At       time.Time      `json:"at"`
	Until    *time.Time     `json:"until,omitempty"`
	Behind   *[]int         `json:"behind,omitempty"`
	Wait     time.Duration  `json:"wait"`
	Raw      json.RawMessage
	JSON     message.JSON
	Any      any
	Number   json.Number
	Address  netip.Addr
	Texts    message.List[string]
	Grade    Grade
	Sealed   Sealed
	Leaf     *Leaf
	Func     func() `json:",omitzero"`
}

// Head is embedded.
type Head struct {
	ID string `json:"id"`
	// Name is hidden by the one of Report.
	Name string
	Both int
}

// Tail is embedded by pointer: its fields may be missing.
type Tail struct {
	Last string `json:"last"`
	// Both stands in Head too, so that encoding/json writes neither.
	Both string
}

// Grade encodes itself, as it says.
//
//hook:schema {"type":"string","enum":["A","B"]}
type Grade int

// MarshalJSON writes a letter.
func (g Grade) MarshalJSON() ([]byte, error) { return json.Marshal(string(rune('A' + g%2))) }

// Sealed encodes itself and does not say how.
type Sealed struct{}

// MarshalJSON writes a number.
func (Sealed) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// Report returns what it was told to.
//
//hook:tool readonly
func (r *Rich) Report(context.Context) (Report, error) { return r.Reply, nil }

// Leaves returns a list of pointers.
//
//hook:tool readonly
func (r *Rich) Leaves(context.Context) ([]*Leaf, error) { return r.Reply.Some, nil }

// Pointer returns a leaf, or nothing.
//
//hook:tool readonly
func (r *Rich) Pointer(context.Context) (*Leaf, error) { return r.Reply.Leaf, nil }

// Tree returns what refers to itself, so it has no schema.
//
//hook:tool readonly
func (r *Rich) Tree(context.Context) (Tree, error) { return Tree{Children: []Tree{{}}}, nil }

// Tree refers to itself.
type Tree struct{ Children []Tree }
