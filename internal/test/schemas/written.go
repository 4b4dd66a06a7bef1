package schemas

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Writer is a subsystem whose tools return what they are told to. Generated code writes all of it but Elsewhere.
//
//hook:subsystem
type Writer struct {
	hook.Nop
	Plain   Plain
	Options Options
	Parts   Parts
	Selves  Selves
	// Err is what every tool returns as its error.
	Err error
}

// Plain are values without parts.
type Plain struct {
	Text    string
	Named   Priority
	Yes     bool
	Switch  Switch
	I       int
	I8      int8
	I16     int16
	I32     int32
	I64     int64
	Level   Level
	U       uint
	U8      uint8
	U16     uint16
	U32     uint32
	U64     uint64
	Address uintptr
	F32     float32
	F64     float64
	Degrees Degrees
	Wait    time.Duration
	Bytes   []byte
	Digest  Digest
	NoTag   string `json:",omitempty"`
	Ignored string `json:"-"`
	Odd     string `json:"a <b>&é $%-/ 1"`
}

// Switch is a boolean with a name.
type Switch bool

// Degrees are a number with a name.
type Degrees float32

// Digest are bytes with a name.
type Digest []byte

// Options are fields with the options of tags.
type Options struct {
	Text     string         `json:"text,omitempty"`
	Named    Priority       `json:"named,omitzero"`
	Yes      bool           `json:"yes,omitempty"`
	Switch   Switch         `json:"switch,omitzero"`
	Int      int            `json:"int,omitempty"`
	Uint     uint8          `json:"uint,omitzero"`
	Float    float64        `json:"float,omitempty"`
	Zero     float32        `json:"zero,omitzero"`
	List     []string       `json:"list,omitempty"`
	Set      []string       `json:"set,omitzero"`
	Both     []string       `json:"both,omitempty,omitzero"`
	Map      map[string]int `json:"map,omitempty"`
	Filled   map[string]int `json:"filled,omitzero"`
	Bytes    []byte         `json:"bytes,omitempty"`
	Raw      []byte         `json:"raw,omitzero"`
	Pointer  *int           `json:"pointer,omitempty"`
	Other    *string        `json:"other,omitzero"`
	Behind   *[]int         `json:"behind,omitempty"`
	Struct   Leaf           `json:"struct,omitempty"`
	Leaf     *Leaf          `json:"leaf,omitempty"`
	At       time.Time      `json:"at,omitzero"`
	Empty    time.Time      `json:"empty,omitempty"`
	Until    *time.Time     `json:"until,omitzero"`
	Since    *time.Time     `json:"since,omitempty"`
	Odd      Pairwise       `json:"odd,omitzero"`
	OddAt    *Pairwise      `json:"odd_at,omitempty,omitzero"`
	Own      Never          `json:"own,omitzero"`
	QInt     int            `json:"qint,string"`
	QUint    uint16         `json:"quint,string,omitempty"`
	QFloat   float64        `json:"qfloat,string"`
	QSingle  *float32       `json:"qsingle,string"`
	QBool    Switch         `json:"qbool,string"`
	QPointer *int64         `json:"qpointer,string,omitzero"`
}

// Pairwise says itself when it is zero.
type Pairwise int

// IsZero reports whether it is even.
func (e Pairwise) IsZero() bool { return e%2 == 0 }

// Never says so by a pointer.
type Never struct{ N int }

// IsZero is asked for a pointer.
func (n *Never) IsZero() bool { return n.N < 0 }

// Parts are values with parts.
type Parts struct {
	Base
	Front
	Back
	Named    Base `json:"base"`
	Leaf     Leaf
	Pointer  *Leaf
	Leaves   []Leaf
	Pointers []*Leaf
	Ints     *int
	List     []string
	Matrix   [][]Level
	Pair     [2]*bool
	Leafs    [2]Leaf
	Three    [][2][]uint8
	Nothing  [0]int
	Map      map[string]string
	ByKey    map[Priority]Leaf
	Lists    map[string][]Leaf
	Maps     map[string]map[Priority]*Leaf
	Behind   *[]Leaf
	Table    *map[string][]*int
	Anon     struct {
		X    int `json:"x"`
		Deep struct{ Y []string }
	}
	Shadow string
	Twin   `json:"twin"`
}

// Base is embedded, and a field.
type Base struct {
	ID     string `json:"id"`
	Shadow int
}

// Front and Back embed one struct each, which is there twice, so that encoding/json writes none of its fields.
type (
	// Front embeds.
	Front struct {
		Again
		One int
	}
	// Back does too.
	Back struct{ Again }
	// Again is embedded twice.
	Again struct{ Twice, ID string }
	// Twin has a name although it is embedded.
	Twin struct{ ID string }
)

// Selves are types that encode themselves.
type Selves struct {
	At      time.Time
	Until   *time.Time
	Raw     json.RawMessage
	Maybe   *json.RawMessage `json:"maybe,omitempty"`
	JSON    message.JSON
	Texts   message.List[string]
	Grade   Grade
	Grades  []Grade
	Pointer []*Grade
	ByName  map[string]Grade
	Sealed  Sealed
	Pair    [2]Sealed
}

// Elsewhere is left to encoding/json: each of its fields is enough.
type Elsewhere struct {
	ByNumber map[int]string
	Address  netip.Addr
	Any      any
	Pointers **int
	*Base
}

// WritePlain returns Plain.
//
//hook:tool name=written_plain
func (w *Writer) WritePlain(context.Context) (Plain, error) { return w.Plain, w.Err }

// WriteOptions returns Options.
//
//hook:tool name=written_options
func (w *Writer) WriteOptions(context.Context) (*Options, error) { return &w.Options, w.Err }

// WriteParts returns Parts.
//
//hook:tool name=written_parts
func (w *Writer) WriteParts(context.Context) (Parts, error) { return w.Parts, w.Err }

// WriteSelves returns Selves.
//
//hook:tool name=written_selves
func (w *Writer) WriteSelves(context.Context) (Selves, error) { return w.Selves, w.Err }

// WriteLeaves returns a list.
//
//hook:tool name=written_leaves
func (w *Writer) WriteLeaves(context.Context) ([]Leaf, error) { return w.Parts.Leaves, w.Err }

// WriteMap returns a map.
//
//hook:tool name=written_map
func (w *Writer) WriteMap(context.Context) (map[string]map[Priority]*Leaf, error) {
	return w.Parts.Maps, w.Err
}

// WritePointer returns a pointer that may be nil.
//
//hook:tool name=written_pointer
func (w *Writer) WritePointer(context.Context) (*Leaf, error) { return w.Parts.Pointer, w.Err }

// WriteText returns a text with a name, which is JSON.
//
//hook:tool name=written_text
func (w *Writer) WriteText(context.Context) (Priority, error) { return w.Plain.Named, w.Err }

// WriteFloat returns a number.
//
//hook:tool name=written_float
func (w *Writer) WriteFloat(context.Context) (float64, error) { return w.Plain.F64, w.Err }

// WriteBytes returns bytes.
//
//hook:tool name=written_bytes
func (w *Writer) WriteBytes(context.Context) ([]byte, error) { return w.Plain.Bytes, w.Err }

// WriteTime returns a time.
//
//hook:tool name=written_time
func (w *Writer) WriteTime(context.Context) (*time.Time, error) { return w.Selves.Until, w.Err }

// WriteElsewhere returns what is left to encoding/json.
//
//hook:tool name=written_elsewhere
func (w *Writer) WriteElsewhere(context.Context) (Elsewhere, error) { return Elsewhere{}, w.Err }
