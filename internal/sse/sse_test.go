package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sse"
)

// read returns the events of a stream and the error that ends it.
func read(src io.Reader, o *sse.Options) (all []sse.Event, err error) {
	r := sse.NewReader(src, o)
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		e.Data = bytes.Clone(e.Data)
		all = append(all, e)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	data := func(texts ...string) (all []sse.Event) {
		for _, text := range texts {
			all = append(all, sse.Event{Data: []byte(text)})
		}
		return all
	}
	for _, tt := range []struct {
		name, text string
		want       []sse.Event
	}{
		{"LF", "data: a\n\ndata: b\n\n", data("a", "b")},
		{"CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", data("a", "b")},
		{"CR", "data: a\r\rdata: b\r\r", data("a", "b")},
		{"mixed", "data: a\r\n\rdata: b\n\r\n", data("a", "b")},
		{"one blank is dropped", "data:a\n\ndata:  b\n\n", data("a", " b")},
		{"several lines", "data: a\ndata\ndata: b\n\n", data("a\n\nb")},
		{"empty data", "data\n\n", []sse.Event{{Data: []byte{}}}},
		{"byte order mark", "\uFEFFdata: a\n\n\uFEFFdata: b\n\n", data("a")},
		{"comments", ":\n: a\n\ndata: a\n:b\n\n", data("a")},
		{"unknown fields, retry", "x\nDATA: x\nretry: 1\n data: x\ndata: a\n\n", data("a")},
		{"id and name", "id: 1\nevent: e\ndata: a\n\n", []sse.Event{{ID: "1", Name: "e", Data: []byte("a")}}},
		{"id alone", "id: 1\n\n", []sse.Event{{ID: "1"}}},
		{"an id belongs to one event", "id: 1\n\ndata: a\n\n", []sse.Event{{ID: "1"}, {Data: []byte("a")}}},
		{"id with U+0000", "id: a\x00b\ndata: a\n\n", data("a")},
		{"cut off", "data: a\n\ndata: b\n", data("a")},
		{"nothing", "\n\r\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{
				strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text)), iotest.DataErrReader(strings.NewReader(tt.text)),
			} {
				got, err := read(src, nil)
				require.ErrorIs(t, err, io.EOF)
				assert.Equal(t, tt.want, got)
			}
		})
	}
}

func TestKeepCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: a", "data: a\n"} {
		got, err := read(strings.NewReader(text), &sse.Options{KeepCut: true})
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, []sse.Event{{Data: []byte("a"), Cut: true}}, got)
	}
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\nda"), iotest.ErrReader(broken)), &sse.Options{KeepCut: true, Strict: true})
	require.ErrorIs(t, err, broken, "a broken source is no end")
	assert.Equal(t, []sse.Event{{Data: []byte("a")}}, got)
}

func TestCutWithinTheNameOfAField(t *testing.T) {
	t.Parallel()
	o := &sse.Options{KeepCut: true, Strict: true, Named: []string{"error"}}
	for _, end := range []string{"d", "dat", "ev", "event", "i", "re", "err"} {
		got, err := read(strings.NewReader("data: a\n\n"+end), o)
		require.ErrorIs(t, err, io.EOF, end)
		assert.Equal(t, []sse.Event{{Data: []byte("a")}}, got, end)
	}
	for _, end := range []string{"dat:", "d: a", "x", "Internal Server Error", "dat\n"} {
		_, err := read(strings.NewReader("data: a\n\n"+end), o)
		var line *sse.LineError
		require.ErrorAs(t, err, &line, end)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	o := &sse.Options{Strict: true, Named: []string{"error"}}
	got, err := read(strings.NewReader(":c\nid: 1\nretry: 1\nerror: a\n\ndat: b\n\n"), o)
	var line *sse.LineError
	require.ErrorAs(t, err, &line)
	assert.Equal(t, "dat: b", string(line.Line))
	assert.Equal(t, []sse.Event{{ID: "1", Name: "error", Data: []byte("a")}}, got)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	o := &sse.Options{MaxEvent: 100}
	got, err := read(strings.NewReader("data: "+long+"\r\n\r\n"), o)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, []sse.Event{{Data: []byte(long)}}, got)
	for _, text := range []string{"data: " + long + "x\n\n", "data: " + long + "\ndata\ndata: x\n\n", strings.Repeat("x", 1<<20)} {
		_, err = read(strings.NewReader(text), o)
		require.ErrorIs(t, err, sse.ErrEventTooLong)
	}
	many := strings.Repeat("data: a\n\n", 100)
	_, err = read(strings.NewReader(many), &sse.Options{MaxStream: len(many)})
	require.ErrorIs(t, err, io.EOF)
	_, err = read(strings.NewReader(many), &sse.Options{MaxStream: len(many) - 1})
	require.ErrorIs(t, err, sse.ErrStreamTooLong)
}

// An event is there when its empty line is, even if a line feed may follow the CR.
func TestNextDoesNotWait(t *testing.T) {
	t.Parallel()
	src, wire := io.Pipe()
	defer wire.Close()
	go func() { _, _ = io.WriteString(wire, "data: a\r\r") }()
	e, err := sse.NewReader(src, nil).Next()
	require.NoError(t, err)
	assert.Equal(t, "a", string(e.Data))
}

func TestWriteIsRead(t *testing.T) {
	t.Parallel()
	events := []sse.Event{
		{ID: "E-0"},
		{ID: "E-1", Data: []byte(`{"a":1}`)},
		{ID: "E-9", Name: "lagged", Data: []byte(`{"missed":8}`)},
		{Name: "closed", Data: []byte{}},
	}
	var written bytes.Buffer
	for _, e := range events {
		require.NoError(t, e.Write(&written))
	}
	assert.Equal(t, "id: E-0\n\nid: E-1\ndata: {\"a\":1}\n\nid: E-9\nevent: lagged\ndata: {\"missed\":8}\n\nevent: closed\ndata: \n\n", written.String())
	got, err := read(&written, nil)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, events, got)
}

// The reader does what can be said in a few lines about a whole text, in whatever pieces
// it comes.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "data:a\r\ndata:  b\r\rdata\n\n", "\xEF\xBB\xBFdata: a", ": c\n\nevent: error\n\nevent: error\ndata: x\n\n",
		"id: 1\nretry: 2\ndata: a\n\nx", "error: e\n\n", "\r\n\r\n\n", "id: E-1\ndata: {}\n\n", "event: lagged\ndata:\r\n\r\n:x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := plainly(text)
		for _, src := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text))} {
			got, err := read(src, &sse.Options{KeepCut: true})
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, want, got)
		}
	})
}

// plainly returns the events of a text.
func plainly(text string) (all []sse.Event) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\uFEFF")), "\n")
	var e sse.Event
	for i, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		last := i == len(lines)-1
		switch {
		case name == "data" && e.Data == nil:
			e.Data = []byte(value)
		case name == "data":
			e.Data = append(append(e.Data, '\n'), value...)
		case name == "event":
			e.Name = value
		case name == "id" && !strings.Contains(value, "\x00"):
			e.ID = value
		}
		if (line == "" || last) && (e.ID != "" || e.Name != "" || e.Data != nil) {
			e.Cut = last
			all, e = append(all, e), sse.Event{}
		}
	}
	return all
}
