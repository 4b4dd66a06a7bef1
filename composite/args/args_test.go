package args_test

import (
	"context"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

// everything has a field of each kind that the decoder reads.
type everything struct {
	Command string            `json:"command"`
	Limit   int               `json:"limit,omitzero"`
	Small   int8              `json:"small,omitzero"`
	Count   uint16            `json:"count,omitzero"`
	Ratio   float64           `json:"ratio,omitzero"`
	Single  float32           `json:"single,omitzero"`
	Force   bool              `json:"force,omitzero"`
	Tags    []string          `json:"tags,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	Sub     *sub              `json:"sub,omitzero"`
	Subs    []sub             `json:"subs,omitzero"`
	Data    []byte            `json:"data,omitzero"`
	At      time.Time         `json:"at,omitzero"`
	Wait    time.Duration     `json:"wait,omitzero"`
	Raw     message.JSON      `json:"raw,omitzero"`
	Any     any               `json:"any,omitzero"`
	Big     int64             `json:"big,omitzero,string"`
	Huge    uint64            `json:"huge,omitzero,string"`
	Share   float64           `json:"share,omitzero,string"`
	Sure    bool              `json:"sure,omitzero,string"`
}

type sub struct {
	Name string `json:"name"`
	N    int    `json:"n,omitzero"`
}

type runner struct{ in everything }

func (*runner) Run(context.Context, *hook.Env) message.ToolResult { return message.ToolResult{} }

var names = []string{
	"command", "limit", "small", "count", "ratio", "single", "force", "tags", "env", "sub", "subs",
	"data", "at", "wait", "raw", "any", "big", "huge", "share", "sure",
}

func decodeEverything(d *args.Decoder, in *everything) {
	o := d.Object()
	for o.Next() {
		switch o.Key() {
		case "command":
			o.Once(0)
			in.Command = d.String()
		case "limit":
			if o.Given(1) {
				in.Limit = int(d.Int(0))
			}
		case "small":
			if o.Given(2) {
				in.Small = int8(d.Int(8))
			}
		case "count":
			if o.Given(3) {
				in.Count = uint16(d.Uint(16))
			}
		case "ratio":
			if o.Given(4) {
				in.Ratio = d.Float(64)
			}
		case "single":
			if o.Given(5) {
				in.Single = float32(d.Float(32))
			}
		case "force":
			if o.Given(6) {
				in.Force = d.Bool()
			}
		default:
			decodeMore(d, &o, in)
		}
	}
	o.Require(0, "command")
}

func decodeMore(d *args.Decoder, o *args.Object, in *everything) {
	switch o.Key() {
	case "tags":
		if o.Given(7) {
			a := d.Array()
			in.Tags = []string{}
			for a.Next() {
				in.Tags = append(in.Tags, d.String())
			}
		}
	case "env":
		if o.Given(8) {
			in.Env = map[string]string{}
			m := d.Object()
			for m.Next() {
				key := m.Key()
				if _, twice := in.Env[key]; twice {
					m.Twice()
				}
				in.Env[key] = d.String()
			}
		}
	case "sub":
		if o.Given(9) {
			in.Sub = new(sub)
			decodeSub(d, in.Sub)
		}
	case "subs":
		if o.Given(10) {
			a := d.Array()
			in.Subs = []sub{}
			for a.Next() {
				var item sub
				decodeSub(d, &item)
				in.Subs = append(in.Subs, item)
			}
		}
	default:
		decodeRest(d, o, in)
	}
}

func decodeRest(d *args.Decoder, o *args.Object, in *everything) {
	switch o.Key() {
	case "data":
		if o.Given(11) {
			in.Data = d.Bytes()
		}
	case "at":
		if o.Given(12) {
			in.At = d.Time()
		}
	case "wait":
		if o.Given(13) {
			in.Wait = d.Duration()
		}
	case "raw":
		o.Once(14)
		in.Raw = d.Raw()
	case "any":
		if o.Given(15) {
			in.Any = d.Any()
		}
	case "big":
		if o.Given(16) {
			in.Big = d.QuotedInt(64)
		}
	case "huge":
		if o.Given(17) {
			in.Huge = d.QuotedUint(64)
		}
	case "share":
		if o.Given(18) {
			in.Share = d.QuotedFloat(64)
		}
	case "sure":
		if o.Given(19) {
			in.Sure = d.QuotedBool()
		}
	default:
		o.Unknown(names...)
	}
}

func decodeSub(d *args.Decoder, in *sub) {
	o := d.Object()
	for o.Next() {
		switch o.Key() {
		case "name":
			o.Once(0)
			in.Name = d.String()
		case "n":
			if o.Given(1) {
				in.N = int(d.Int(0))
			}
		default:
			o.Unknown("name", "n")
		}
	}
	o.Require(0, "name")
}

func call(text string) *hook.ToolCall {
	return hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: "bash"}, Args: message.JSON(text)})
}

func bind(text string) (everything, hook.Invocation) {
	r := &runner{}
	d := args.New(call(text), `{"type":"object"}`)
	decodeEverything(&d, &r.in)
	return r.in, d.Bind(r)
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	in, inv := bind(`{"command":"a\n\"b\" é 😀","limit":-42,"small":-128,"count":65535,"ratio":-0.5e2,"single":1.5,` +
		`"force":true,"tags":["x","\u0041"],"env":{"A":"1","a":"2"},"sub":null,"subs":[{"name":"n","n":7},{"n":1,"name":""}],` +
		`"data":"aGk=","at":"2026-01-02T03:04:05+01:00","wait":"1m30.5s","raw":{"b":[1,2],"a":null},"any":[1,{"k":"v"}],` +
		`"big":"-9223372036854775808","huge":"18446744073709551615","share":"1e3","sure":"true"}`)
	require.Nil(t, inv.Err())
	at := in.At
	in.At = time.Time{}
	assert.Equal(t, "2026-01-02T03:04:05+01:00", at.Format(time.RFC3339))
	assert.Equal(t, everything{
		Command: "a\n\"b\" é 😀", Limit: -42, Small: -128, Count: 65535, Ratio: -50, Single: 1.5, Force: true,
		Tags: []string{"x", "A"}, Env: map[string]string{"A": "1", "a": "2"},
		Subs: []sub{{Name: "n", N: 7}, {N: 1}}, Data: []byte("hi"), Wait: 90500 * time.Millisecond,
		Raw: `{"b":[1,2],"a":null}`, Any: []any{1.0, map[string]any{"k": "v"}},
		Big: math.MinInt64, Huge: math.MaxUint64, Share: 1000, Sure: true,
	}, in)
}

// Null for an optional argument is the call without it, at every depth: the same input, and the same canonical arguments.
func TestNullIsNotGiven(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, canonical string }{
		{"alone", `{"command":"ls","limit":null}`, `{"command":"ls"}`},
		{"first", `{"limit":null,"command":"ls"}`, `{"command":"ls"}`},
		{"in the middle", `{"command":"ls","limit":null,"force":true}`, `{"command":"ls","force":true}`},
		{"blanks around", "{ \"limit\" :\tnull\n, \"command\" : \"ls\" , \"force\" : null } ", `{"command":"ls"}`},
		{"an escaped name", `{"command":"ls","\u006cimit":null}`, `{"command":"ls"}`},
		{"every kind", `{"small":null,"count":null,"ratio":null,"single":null,"command":"a,{\"b\":null}","force":null,"tags":null,"env":null,"sub":null,` +
			`"subs":null,"data":null,"at":null,"wait":null,"any":null,"big":null,"huge":null,"share":null,"sure":null}`, `{"command":"a,{\"b\":null}"}`},
		{"in an object", `{"command":"","sub":{"n":null,"name":"a"}}`, `{"command":"","sub":{"name":"a"}}`},
		{"in objects of a list", `{"command":"","subs":[{"name":"a","n":null},{"n":null,"name":"b"},{"name":"c","n":1}]}`,
			`{"command":"","subs":[{"name":"a"},{"name":"b"},{"name":"c","n":1}]}`},
		{"but not where null is a value", `{"raw":null,"command":""}`, `{"raw":null,"command":""}`},
		{"and not within one", `{"command":"","raw":{"limit":null,"a":[null, null]},"limit":null}`, `{"command":"","raw":{"limit":null,"a":[null,null]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, inv := bind(tt.text)
			require.Nil(t, inv.Err())
			assert.Equal(t, message.JSON(tt.canonical), inv.Args())
			without, inv := bind(tt.canonical)
			require.Nil(t, inv.Err())
			assert.Equal(t, message.JSON(tt.canonical), inv.Args())
			assert.Equal(t, without, got)
		})
	}
}

// refused are the malformed and the ambiguous: what one reader may understand
// otherwise than another.
var refused = []struct {
	name, text, path, reason string
}{
	{"empty means no arguments", ``, "command", "is required"},
	{"blank only", "  ", "", "must be complete JSON"},
	{"null", `null`, "", "must be an object, not null"},
	{"array", `[]`, "", "must be an object"},
	{"string", `"{}"`, "", "must be an object"},
	{"number", `1`, "", "must be an object"},
	{"true", `true`, "", "must be an object"},
	{"two values", `{"command":"ls"}{"command":"rm"}`, "", "nothing after it"},
	{"trailing text", `{"command":"ls"} x`, "", "nothing after it"},
	{"trailing NUL", "{\"command\":\"ls\"}\x00", "", "nothing after it"},
	{"trailing comment", `{"command":"ls"}//`, "", "nothing after it"},
	{"byte order mark", "\ufeff{}", "", "must be valid JSON"},
	{"leading NUL", "\x00{}", "", "must be valid JSON"},
	{"vertical tab as a blank", "{\v}", "", "must be valid JSON"},
	{"no-break space as a blank", "{\u00a0}", "", "must be valid JSON"},
	{"truncated object", `{"command":"ls"`, "", "must be complete JSON"},
	{"truncated name", `{"comm`, "", "must be complete JSON"},
	{"truncated string", `{"command":"l`, "command", "must be complete JSON"},
	{"truncated escape", `{"command":"\`, "command", "must be complete JSON"},
	{"truncated after colon", `{"command":`, "command", "must be complete JSON"},
	{"truncated array", `{"command":"","tags":["a",`, "tags", "must be complete JSON"},
	{"trailing comma in object", `{"command":"ls",}`, "", "must be valid JSON"},
	{"trailing comma in array", `{"command":"","tags":["a",]}`, "tags", "must be valid JSON"},
	{"leading comma", `{,"command":"ls"}`, "", "must be valid JSON"},
	{"missing comma", `{"command":"ls" "limit":1}`, "", "must be valid JSON"},
	{"missing colon", `{"command" "ls"}`, "command", "must be valid JSON"},
	{"single quotes", `{'command':'ls'}`, "", "must be valid JSON"},
	{"name without quotes", `{command:"ls"}`, "", "must be valid JSON"},
	{"mismatched brackets", `{"command":"","tags":["a"}`, "tags", "must be valid JSON"},
	{"given twice", `{"command":"ls","command":"rm"}`, "command", "must not be given twice"},
	{"given twice by escape", `{"command":"ls","\u0063ommand":"rm"}`, "command", "must not be given twice"},
	{"given twice below", `{"command":"","sub":{"name":"a","name":"b"}}`, "sub.name", "must not be given twice"},
	{"given twice in a list", `{"command":"","subs":[{"name":"a"},{"name":"a","n":1,"n":2}]}`, "subs[1].n", "must not be given twice"},
	{"given twice in a map", `{"command":"","env":{"A":"1","\u0041":"2"}}`, "env.A", "must not be given twice"},
	{"given twice in a raw value", `{"command":"","raw":{"x":[{"a":1,"a":2}]}}`, "raw.x[0].a", "must not be given twice"},
	{"given twice in any", `{"command":"","any":{"a":1,"\u0061":2}}`, "any.a", "must not be given twice"},
	{"other case", `{"command":"ls","Command":"rm"}`, "Command", "did you mean command?"},
	{"other case alone", `{"COMMAND":"ls"}`, "COMMAND", "did you mean command?"},
	{"Kelvin sign", "{\"command\":\"\",\"s\u212aare\":\"\"}", "[\"s\u212aare\"]", "did you mean share?"},
	{"long s", "{\"command\":\"\",\"\u017fure\":\"true\"}", "[\"\u017fure\"]", "did you mean sure?"},
	{"one letter missing", `{"comand":"ls"}`, "comand", "did you mean command?"},
	{"unknown", `{"command":"","sudo":true}`, "sudo", "known are command, limit"},
	{"unknown with odd name", `{"command":"","a\nb":true}`, `["a\nb"]`, "is not known here"},
	{"unknown below", `{"command":"","sub":{"name":"","N":1}}`, "sub.N", "did you mean n?"},
	{"missing", `{"limit":1}`, "command", "is required"},
	{"missing below", `{"command":"","subs":[{"name":""},{"n":1}]}`, "subs[1].name", "is required"},
	{"null for a string", `{"command":null}`, "command", "must be a string, not null"},
	{"null for a string in a list", `{"command":"","subs":[{"name":null}]}`, "subs[0].name", "must be a string, not null"},
	{"null for an element", `{"command":"","subs":[null]}`, "subs[0]", "must be an object, not null"},
	{"null for a value of a map", `{"command":"","env":{"A":null}}`, "env.A", "must be a string, not null"},
	{"null twice", `{"command":"","limit":null,"limit":null}`, "limit", "must not be given twice"},
	{"null and a value", `{"command":"","limit":null,"limit":1}`, "limit", "must not be given twice"},
	{"null for an unknown name", `{"command":"","lmit":null}`, "lmit", "did you mean limit?"},
	{"almost null", `{"command":"","limit":nul}`, "limit", "must be valid JSON"},
	{"more than null", `{"command":"","limit":nullx}`, "", "must be valid JSON"},
	{"null in a list", `{"command":"","tags":[null]}`, "tags[0]", "must be a string, not null"},
	{"number for a string", `{"command":1}`, "command", "must be a string"},
	{"string for a number", `{"command":"","limit":"1"}`, "limit", "must be an integer"},
	{"number for true", `{"command":"","force":1}`, "force", "must be true or false"},
	{"True", `{"command":"","force":True}`, "force", "must be valid JSON"},
	{"truely", `{"command":"","force":truely}`, "", "must be valid JSON"},
	{"fraction for an integer", `{"command":"","limit":1.0}`, "limit", "without fraction and exponent"},
	{"exponent for an integer", `{"command":"","limit":1e2}`, "limit", "without fraction and exponent"},
	{"leading zero", `{"command":"","limit":010}`, "", "must be valid JSON"},
	{"leading zero after minus", `{"command":"","limit":-01}`, "", "must be valid JSON"},
	{"leading plus", `{"command":"","limit":+1}`, "limit", "must be valid JSON"},
	{"minus alone", `{"command":"","limit":-}`, "limit", "must be valid JSON"},
	{"hexadecimal", `{"command":"","limit":0x10}`, "", "must be valid JSON"},
	{"underscore", `{"command":"","limit":1_000}`, "", "must be valid JSON"},
	{"point without digits", `{"command":"","ratio":1.}`, "ratio", "must be valid JSON"},
	{"point first", `{"command":"","ratio":.5}`, "ratio", "must be valid JSON"},
	{"exponent without digits", `{"command":"","ratio":1e}`, "ratio", "must be valid JSON"},
	{"NaN", `{"command":"","ratio":NaN}`, "ratio", "must be valid JSON"},
	{"Infinity", `{"command":"","ratio":Infinity}`, "ratio", "must be valid JSON"},
	{"beyond int8", `{"command":"","small":128}`, "small", "between -128 and 127"},
	{"below int8", `{"command":"","small":-129}`, "small", "between -128 and 127"},
	{"beyond uint16", `{"command":"","count":65536}`, "count", "between 0 and 65535"},
	{"below zero", `{"command":"","count":-1}`, "count", "at least 0"},
	{"2^53", `{"command":"","limit":9007199254740992}`, "limit", "9007199254740991"},
	{"2^53+1 negative", `{"command":"","limit":-9007199254740993}`, "limit", "9007199254740991"},
	{"2^64", `{"command":"","limit":18446744073709551616}`, "limit", "9007199254740991"},
	{"2^53+1 for a float", `{"command":"","ratio":9007199254740993}`, "ratio", "9007199254740991"},
	{"2^53+1 in a raw value", `{"command":"","raw":[9007199254740993]}`, "raw[0]", "9007199254740991"},
	{"2^53+1 in any", `{"command":"","any":{"n":9007199254740993}}`, "any.n", "9007199254740991"},
	{"beyond float64", `{"command":"","ratio":1e400}`, "ratio", "range of float64"},
	{"beyond float64 in a raw value", `{"command":"","raw":{"n":-1e400}}`, "raw.n", "range of float64"},
	{"beyond float32", `{"command":"","single":1e39}`, "single", "range of float32"},
	{"quoted integer with blanks", `{"command":"","big":" 1"}`, "big", "integer in quotes"},
	{"quoted integer with a fraction", `{"command":"","big":"1.0"}`, "big", "integer in quotes"},
	{"quoted integer out of range", `{"command":"","big":"9223372036854775808"}`, "big", "in range"},
	{"quoted unsigned below zero", `{"command":"","huge":"-1"}`, "huge", "at least 0"},
	{"quoted number not quoted", `{"command":"","share":1}`, "share", "a number in quotes"},
	{"quoted true in capitals", `{"command":"","sure":"TRUE"}`, "sure", "true or false in quotes"},
	{"invalid UTF-8", "{\"command\":\"\xff\"}", "command", "must be valid UTF-8"},
	{"overlong UTF-8", "{\"command\":\"\xc0\xaf\"}", "command", "must be valid UTF-8"},
	{"surrogate in UTF-8", "{\"command\":\"\xed\xa0\x80\"}", "command", "must be valid UTF-8"},
	{"invalid UTF-8 in a name", "{\"command\":\"\",\"\xff\":1}", "", "must be valid UTF-8"},
	{"invalid UTF-8 in a raw value", "{\"command\":\"\",\"raw\":[\"\xff\"]}", "raw[0]", "must be valid UTF-8"},
	{"lone high surrogate", `{"command":"\ud800"}`, "command", "half a surrogate pair"},
	{"lone low surrogate", `{"command":"\udc00x"}`, "command", "half a surrogate pair"},
	{"swapped surrogates", `{"command":"\udc00\ud800"}`, "command", "half a surrogate pair"},
	{"lone surrogate in a raw value", `{"command":"","raw":"\ud800"}`, "raw", "half a surrogate pair"},
	{"lone surrogate in a name", `{"command":"","\ud800":1}`, "", "half a surrogate pair"},
	{"escaped NUL", `{"command":"ls\u0000rm"}`, "command", "U+0000"},
	{"escaped NUL in a name", `{"command\u0000":"ls"}`, `["command\x00"]`, "U+0000"},
	{"raw NUL", "{\"command\":\"ls\x00\"}", "command", "expecting non-control character"},
	{"raw line break", "{\"command\":\"ls\n\"}", "command", "expecting non-control character"},
	{"raw tab", "{\"command\":\"ls\t\"}", "command", "expecting non-control character"},
	{"unknown escape", `{"command":"\x41"}`, "command", "escape sequence"},
	{"short unicode escape", `{"command":"\u12"}`, "command", "escape sequence"},
	{"bad unicode escape", `{"command":"\u12g4"}`, "command", "escape sequence"},
	{"base64 without padding", `{"command":"","data":"aGk"}`, "data", "base64"},
	{"base64 with a line break", `{"command":"","data":"aGk=\n"}`, "data", "base64"},
	{"base64 with stray bits", `{"command":"","data":"aGl="}`, "data", "base64"},
	{"time without zone", `{"command":"","at":"2026-01-02T03:04:05"}`, "at", "a time"},
	{"31 February", `{"command":"","at":"2026-02-31T03:04:05Z"}`, "at", "a time"},
	{"duration without unit", `{"command":"","wait":"5"}`, "wait", "a duration"},
	{"duration zero", `{"command":"","wait":"0"}`, "wait", "a duration"},
	{"duration with plus", `{"command":"","wait":"+5s"}`, "wait", "a duration"},
	{"duration with point last", `{"command":"","wait":"5.s"}`, "wait", "a duration"},
	{"duration with micro sign", `{"command":"","wait":"5µs"}`, "wait", "a duration"},
	{"duration beyond 292 years", `{"command":"","wait":"9999999h"}`, "wait", "a duration"},
	{"depth 65", `{"command":"","raw":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "raw" + strings.Repeat("[0]", 63), "deeper than 64"},
	{"depth 10,000", `{"command":"","raw":` + strings.Repeat("[", 10_000), "raw" + strings.Repeat("[0]", 63), "deeper than 64"},
	{"depth 100,000 in objects", `{"command":"","raw":` + strings.Repeat(`{"":`, 100_000), `raw` + strings.Repeat(`[""]`, 63), "deeper than 64"},
	{"depth 100,000 at the top", strings.Repeat("[", 100_000), "", "must be an object"},
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(refused), 60)
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, inv := bind(tt.text)
			require.NotNil(t, inv.Err(), "it was accepted")
			assert.Nil(t, inv.Runner(), "a refused call must not run")
			assert.Equal(t, message.JSON(tt.text), inv.Args(), "a refused call keeps what came")
			assert.Equal(t, tt.path, inv.Err().Path)
			assert.Contains(t, inv.Err().Reason, tt.reason)
			assert.Equal(t, "bash", inv.Err().Tool)
			assert.Equal(t, message.JSON(`{"type":"object"}`), inv.Err().Schema)
			_, again := bind(tt.text)
			assert.Equal(t, inv.Err(), again.Err(), "the error must be the same each time")
		})
	}
}

func TestErrorsNeverRepeatValues(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, text := range []string{
		`{"command":["` + secret + `"]}`,
		`{"command":"","limit":"` + secret + `"}`,
		`{"command":"","at":"` + secret + `"}`,
		`{"command":"","wait":"` + secret + `"}`,
		`{"command":"","data":"` + secret + `!"}`,
		`{"command":"","sure":"` + secret + `"}`,
		`{"command":"` + secret + `\ud800"}`,
		`{"command":"` + secret,
		`{"command":"ls"}` + secret,
		`{"command":"` + secret + `","x":1}`,
	} {
		_, inv := bind(text)
		require.NotNil(t, inv.Err(), text)
		assert.NotContains(t, inv.Err().Error(), secret)
	}
}

func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	_, inv := bind(`{"` + strings.Repeat("é", 1<<16) + `":1}`)
	require.NotNil(t, inv.Err())
	assert.Less(t, len(inv.Err().Path), 200)
}

func TestChecks(t *testing.T) {
	t.Parallel()
	lower := regexp.MustCompile(`^[a-z]+$`)
	tests := []struct {
		name, text string
		check      func(d *args.Decoder, v string)
		reason     string
	}{
		{"maxlen counts runes", `"ééé"`, func(d *args.Decoder, v string) { d.MaxLen(v, 3) }, ""},
		{"maxlen", `"éééé"`, func(d *args.Decoder, v string) { d.MaxLen(v, 3) }, "must have at most 3 characters"},
		{"minlen", `""`, func(d *args.Decoder, v string) { d.MinLen(v, 1) }, "must have at least 1 character"},
		{"pattern", `"ab"`, func(d *args.Decoder, v string) { d.Pattern(v, lower) }, ""},
		{"pattern broken", `"aB"`, func(d *args.Decoder, v string) { d.Pattern(v, lower) }, "must match ^[a-z]+$"},
		{"refuse", `"x"`, func(d *args.Decoder, _ string) { d.Refuse("must be one of low, high") }, "must be one of low, high"},
		{"first one stays", `"x"`, func(d *args.Decoder, v string) { d.Refuse("must be y"); d.MinLen(v, 9) }, "must be y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := args.New(call(`{"list":[`+tt.text+`]}`), "")
			o := d.Object()
			for o.Next() {
				a := d.Array()
				for a.Next() {
					tt.check(&d, d.String())
				}
			}
			if tt.reason == "" {
				require.Nil(t, d.Err())
				return
			}
			require.NotNil(t, d.Err())
			assert.Equal(t, "list[0]", d.Err().Path)
			assert.Equal(t, tt.reason, d.Err().Reason)
		})
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ good, bad string }{
		"date-time": {"2026-01-02T03:04:05.5Z", "2026-01-02 03:04:05"},
		"date":      {"2026-02-28", "2026-02-30"},
		"time":      {"03:04:05Z", "03:04"},
		"email":     {"a@b.example", "a b@c"},
		"hostname":  {"a-b.example", "-a.example"},
		"ipv4":      {"192.0.2.1", "192.0.2.256"},
		"ipv6":      {"2001:db8::1", "2001:db8::1%eth0"},
		"uri":       {"https://example.com/x?y", "/relative"},
		"uuid":      {"123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"},
	}
	for format, tt := range tests {
		for text, ok := range map[string]bool{tt.good: true, tt.bad: false, "": false} {
			d := args.New(call(""), "")
			d.Format(text, format)
			assert.Equal(t, ok, d.Err() == nil, "%s: %q", format, text)
		}
	}
}

func TestArrayLengths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, reason string
	}{
		{`{"a":[]}`, "must have at least 1 item"},
		{`{"a":["x"]}`, ""},
		{`{"a":["x","x"]}`, ""},
		{`{"a":["x","x","x"]}`, "must have at most 2 items"},
	}
	for _, tt := range tests {
		d := args.New(call(tt.text), "")
		o := d.Object()
		for o.Next() {
			a := d.Array()
			for a.Next() {
				_ = d.String()
			}
			a.AtLeast(1)
			a.AtMost(2)
		}
		if tt.reason == "" {
			assert.Nil(t, d.Err(), tt.text)
			continue
		}
		require.NotNil(t, d.Err(), tt.text)
		assert.Equal(t, "a", d.Err().Path)
		assert.Equal(t, tt.reason, d.Err().Reason)
	}
}

var canonical = []struct{ name, text, want string }{
	{"nothing", ``, `{}`},
	{"blanks", " {\r\n\t\"b\" : [ 1 , 2.50e+1 ] , \"a\" : null } ", `{"b":[1,2.50e+1],"a":null}`},
	{"blanks in strings stay", `{"a":" x\ty "}`, `{"a":" x\ty "}`},
	{"escapes", `{"\u0061":"\u002f\/\u00e9\ud83d\ude00\u0022\u005C\u000A\u001F\u2028<>&"}`, "{\"a\":\"//é😀\\\"\\\\\\n\\u001f\u2028<>&\"}"},
	{"case variants below the top", `{"env":{"PATH":1,"Path":2}}`, `{"env":{"PATH":1,"Path":2}}`},
	{"numbers verbatim", `{"a":-0,"b":1E5,"c":0.10,"d":9007199254740991}`, `{"a":-0,"b":1E5,"c":0.10,"d":9007199254740991}`},
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tt := range canonical {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := args.Canonical(tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			again, err := args.Canonical(string(got))
			require.NoError(t, err)
			assert.Equal(t, got, again)
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	many := make([]string, 20)
	for i := range many {
		many[i] = `"k` + strings.Repeat("x", i) + `":1`
	}
	tests := []struct{ name, text, path string }{
		{"null", `null`, ""},
		{"list", `[]`, ""},
		{"other case", `{"command":"ls","Command":"rm"}`, "Command"},
		{"Kelvin sign", "{\"k\":1,\"\u212a\":2}", "[\"\u212a\"]"},
		{"twice", `{"a":1,"a":1}`, "a"},
		{"other case among many", `{` + strings.Join(many, ",") + `,"Kxx":1}`, "Kxx"},
		{"twice among many", `{` + strings.Join(many, ",") + `,"kxxx":1}`, "kxxx"},
		{"twice among many below", `{"a":{` + strings.Join(many, ",") + `,"kxxx":1}}`, "a.kxxx"},
		{"trailing", `{} {}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := args.Canonical(tt.text)
			var bad *hook.ArgError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tt.path, bad.Path)
		})
	}
}

func TestBoundArgsAreCanonical(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"command":"ls"}`,
		"{ \"command\" : \"ls\"}\n",
		`{"command":"l\u0073","raw": {"a" : "\u0061"},"tags":[ ]}`,
	} {
		in, inv := bind(text)
		require.Nil(t, inv.Err())
		want, err := args.Canonical(text)
		require.NoError(t, err)
		assert.Equal(t, want, inv.Args())
		assert.Equal(t, "ls", in.Command)
		if in.Raw != "" {
			assert.Equal(t, message.JSON(`{"a":"a"}`), in.Raw)
		}
	}
}

// Raw at the top is how tools of unknown type are bound.
func TestRawAtTheTop(t *testing.T) {
	t.Parallel()
	d := args.New(call(` {"b": 1, "a":"\u0062"} `), "")
	assert.Equal(t, message.JSON(`{"b":1,"a":"b"}`), d.Raw())
	inv := d.Bind(&runner{})
	require.Nil(t, inv.Err())
	assert.Equal(t, message.JSON(`{"b":1,"a":"b"}`), inv.Args())
}

func TestAllocs(t *testing.T) {
	good := `{"command":"ls -la","limit":10,"ratio":0.5,"force":true,"env":{},"raw":{"a":[1,2,{"b":"c"}]},"sub":null}`
	c := call(good)
	r := &runner{}
	var inv hook.Invocation
	assert.LessOrEqual(t, allocs.PerRun(100, func() {
		d := args.New(c, "")
		o := d.Object()
		for o.Next() {
			switch o.Key() {
			case "command":
				o.Once(0)
				r.in.Command = d.String()
				d.MaxLen(r.in.Command, 80)
			case "limit":
				o.Once(1)
				r.in.Limit = int(d.Int(0))
			case "ratio":
				o.Once(2)
				r.in.Ratio = d.Float(64)
			case "force":
				o.Once(3)
				r.in.Force = d.Bool()
			default:
				r.in.Raw = d.Raw()
			}
		}
		o.Require(0, "command")
		inv = d.Bind(r)
	}), 4.0)
	require.Nil(t, inv.Err())
	assert.LessOrEqual(t, allocs.PerRun(100, func() { _, _ = args.Canonical(good) }), 12.0)
	assert.Equal(t, "ls -la", r.in.Command)
	assert.True(t, json.Valid([]byte(inv.Args())))
}
