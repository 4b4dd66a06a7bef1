package schemas

import (
	"context"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Moved is a subsystem whose inputs package hook/tool takes as well: each says in its tags what its comments and constants would say.
// Its tools return what they were given, and their names are those of their inputs.
//
//hook:subsystem
type Moved struct{ hook.Nop }

// Tone is a string without constants.
type Tone string

// Rank is an integer without constants.
type Rank int8

// MovedTexts are strings with every limit.
type MovedTexts struct {
	Free    string       `json:"free" hook:"description=Free is any string."`
	Short   string       `json:"short,omitzero" hook:"minlen=2,maxlen=4,description='Short, with two limits.'"`
	Long    *string      `json:"long" hook:"maxlen=3,description=Long may be null."`
	Filled  *string      `json:"filled" hook:"required,minlen=1,description=Filled must be there."`
	Code    string       `json:"code,omitempty" hook:"pattern='^[a-z]{1,3}(-[0-9]+)?$',description=Code has a pattern.,example=ab-1"`
	Loose   string       `json:"loose,omitzero" hook:"pattern=[0-9]é,maxlen=6,description=Loose has a pattern without ends."`
	Tone    Tone         `json:"tone,omitzero" hook:"enum=low|\"é /|,default=low,description=Tone is one of three."`
	Maybe   *Tone        `json:"maybe" hook:"enum=a|b,description=Maybe is one of two."`
	Words   []string     `json:"words,omitzero" hook:"enum=a|b c|d,minitems=1,maxitems=2,description=Words are of the tag."`
	Tones   []*Tone      `json:"tones" hook:"maxlen=2,description=Tones may be null."`
	Address netip.Addr   `json:"address,omitzero" hook:"description=Address reads text."`
	Near    *netip.Addr  `json:"near" hook:"maxlen=9,pattern='^[0-9.]+$',description=Near has a form."`
	Several []netip.Addr `json:"several,omitzero" hook:"format=ipv4,description=Several addresses."`
	Mark    string       `json:"mark,omitzero" hook:"default=,description=Mark is empty."`
}

// MovedNumbers are numbers of every size.
type MovedNumbers struct {
	I     int      `json:"i" hook:"description=I of any size."`
	I8    int8     `json:"i8,omitzero" hook:"description=I8 has 8 bits."`
	I16   int16    `json:"i16,omitzero" hook:"description=I16 has 16 bits.,default=-7"`
	I32   int32    `json:"i32,omitzero" hook:"description=I32 has 32 bits."`
	I64   int64    `json:"i64,omitzero" hook:"min=-5,max=7,description=I64 has limits."`
	U     uint     `json:"u,omitzero" hook:"description=U of any size."`
	U8    uint8    `json:"u8,omitzero" hook:"max=200,description=U8 has one limit."`
	U32   uint32   `json:"u32,omitzero" hook:"description=U32 has 32 bits."`
	U64   uint64   `json:"u64,omitzero" hook:"min=3,description=U64 has the other limit."`
	F     float64  `json:"f,omitzero" hook:"description=F is a float.,example=0.5"`
	Ratio float64  `json:"ratio,omitzero" hook:"min=-0.5,max=1e3,default=0.25,description=Ratio has limits."`
	Small *float32 `json:"small" hook:"max=0.1,description=Small is of single precision."`
	QI    int64    `json:"qi,omitzero,string" hook:"description=QI is in quotes.,default=12"`
	QU    uint16   `json:"qu,omitzero,string" hook:"description=QU is natural."`
	QF    float64  `json:"qf,omitzero,string" hook:"description=QF is a float."`
	QB    bool     `json:"qb,omitzero,string" hook:"description=QB is a boolean."`
	QP    *bool    `json:"qp,string" hook:"description=QP may be null."`
	Rank  Rank     `json:"rank,omitzero" hook:"enum=1|2|-3,default=-3,description=Rank is one of three."`
	Ranks []*Rank  `json:"ranks,omitzero" hook:"enum=1|2,maxitems=3,description=Ranks may be null."`
	On    bool     `json:"on,omitzero" hook:"default=true,description=On or off."`
	Off   *bool    `json:"off" hook:"description=Off or null."`
}

// movedBase is embedded.
type movedBase struct {
	Author string `json:"author" hook:"maxlen=8,description=Author of it."`
	Hidden int    `json:"hidden" hook:"description=Hidden is hidden."`
	Left   int    `json:"-"`
}

// MovedLeaf lies deepest.
type MovedLeaf struct {
	N    int  `json:"n" hook:"min=1,description=N of it."`
	Tone Tone `json:"tone,omitzero" hook:"enum=low|high,default=low,description=Tone of it."`
}

// MovedNested are objects, lists and maps in each other.
type MovedNested struct {
	movedBase
	Hidden   string               `json:"hidden,omitzero" hook:"description=Hidden is the one that counts."`
	Leaf     MovedLeaf            `json:"leaf" hook:"description=Leaf must be there."`
	Maybe    *MovedLeaf           `json:"maybe" hook:"description=Maybe is null or a leaf."`
	Leaves   []MovedLeaf          `json:"leaves,omitzero" hook:"maxitems=2,description=Leaves are several."`
	Pointers []*MovedLeaf         `json:"pointers,omitzero" hook:"description=Pointers may be null."`
	ByName   map[string]MovedLeaf `json:"by_name,omitzero" hook:"description=ByName are leaves by name."`
	Counts   map[Tone]*int8       `json:"counts,omitzero" hook:"description=Counts are numbers or null."`
	Matrix   [][]uint8            `json:"matrix,omitzero" hook:"description=Matrix of numbers."`
	Lists    map[string]*[]string `json:"lists,omitzero" hook:"description=Lists may be null."`
	List     *[]string            `json:"list" hook:"minitems=1,minlen=1,description=List may be null."`
	Deep     struct {
		B *struct {
			C []Tone `hook:"description=C lies deepest."`
		} `hook:"description=B lies deeper."`
	} `json:"deep,omitzero" hook:"description=Deep lies deep."`
	NoTag string `hook:"description=NoTag has the name of the field."`
}

// MovedSpecial are types that are written in their own way.
type MovedSpecial struct {
	At    time.Time       `json:"at,omitzero" hook:"description=At a time."`
	Until *time.Time      `json:"until" hook:"description=Until a time."`
	Wait  time.Duration   `json:"wait,omitzero" hook:"default=1m30s,description=Wait so long."`
	Waits []time.Duration `json:"waits,omitzero" hook:"description=Waits so long."`
	Data  []byte          `json:"data,omitzero" hook:"description=Data of any kind."`
	Chunk *[]byte         `json:"chunk" hook:"description=Chunk is data or null."`
	//hook:ignore HG037
	Raw json.RawMessage `json:"raw,omitzero" hook:"description=Raw is kept as it is."`
	//hook:ignore HG037
	JSON message.JSON `json:"json,omitzero" hook:"description=JSON is kept as it is."`
	//hook:ignore HG037
	Must json.RawMessage `json:"must" hook:"description=Must may be null."`
	//hook:ignore HG037
	Any any `json:"any,omitzero" hook:"description=Any is anything."`
	//hook:ignore HG037
	Anys []any `json:"anys,omitzero" hook:"description=Anys are anything."`
}

// MovedTexts returns its input.
//
//hook:tool
func (Moved) MovedTexts(_ context.Context, in MovedTexts) (MovedTexts, error) { return in, nil }

// MovedFormats returns its input.
//
//hook:tool
func (Moved) MovedFormats(_ context.Context, in Formats) (Formats, error) { return in, nil }

// MovedNumbers returns its input.
//
//hook:tool readonly idempotent timeout=1m exclusive=numbers maxresult=9 waits
func (Moved) MovedNumbers(_ context.Context, in MovedNumbers) (MovedNumbers, error) { return in, nil }

// MovedNested returns its input.
//
//hook:tool
func (Moved) MovedNested(_ context.Context, in MovedNested) (MovedNested, error) { return in, nil }

// MovedSpecial returns its input.
//
//hook:tool
func (Moved) MovedSpecial(_ context.Context, in MovedSpecial) (MovedSpecial, error) { return in, nil }

// MovedNothing takes nothing.
//
//hook:tool
func (Moved) MovedNothing(_ context.Context, in struct{}) (struct{}, error) { return in, nil }

// Beside is a composite of generated tools and of hooks that only its value tells.
//
//hook:composite
type Beside struct {
	Moved *Moved
	Extra hook.Hook `hook:"optional"`
	Mine  hook.Hook `hook:"optional,prefix=my_"`
	More  []hook.Hook
}
