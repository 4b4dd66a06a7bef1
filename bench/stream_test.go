package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/peers/grapnel"
	"github.com/grapnel-go/grapnel/bench/peers/langchaingo"
	"github.com/grapnel-go/grapnel/bench/peers/limit"
	"github.com/grapnel-go/grapnel/bench/peers/openaisdk"
	"github.com/grapnel-go/grapnel/bench/subject"
	"github.com/grapnel-go/grapnel/bench/wire"
)

// reading makes a subject of a reader. It fails if not all was heard.
func reading(name string, body []byte, reader func(*http.Client) wire.Reader) subject.Subject {
	return readingOr(name, body, func(c *http.Client) (wire.Reader, error) { return reader(c), nil })
}

// readingOr is reading where it may fail to make one.
func readingOr(name string, body []byte, reader func(*http.Client) (wire.Reader, error)) subject.Subject {
	return subject.Subject{Name: name, New: func(tb testing.TB) func() error {
		r, err := reader(wire.Client(body))
		require.NoError(tb, err)
		all, ctx := wire.All(), tb.Context()
		return func() error {
			switch heard, err := r.Read(ctx); {
			case err != nil:
				return err
			case heard != all:
				return fmt.Errorf("heard %+v of %+v", heard, all)
			}
			return nil
		}
	}}
}

func readers() []subject.Subject {
	body := wire.Answer()
	return []subject.Subject{
		reading("limit-codec", body, func(c *http.Client) wire.Reader { return limit.Codec{Client: c} }),
		reading("limit", body, func(c *http.Client) wire.Reader { return limit.Thin{Client: c} }),
		reading("grapnel", body, func(c *http.Client) wire.Reader { return grapnel.NewReader(c) }),
		readingOr("langchaingo", body, func(c *http.Client) (wire.Reader, error) { return langchaingo.NewReader(c) }),
		reading("openai-go", body, func(c *http.Client) wire.Reader { return openaisdk.New(c) }),
	}
}

// BenchmarkStream measures one request and the reading of its answer of 1,000
// chunks, served from memory without a socket.
func BenchmarkStream(b *testing.B) {
	for _, s := range readers() {
		b.Run(s.Name, func(b *testing.B) {
			read := s.New(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/wire.Chunks, "ns/chunk")
		})
	}
}

func TestStream(t *testing.T) { subject.Check(t, readers()) }

// early stops reading after so many chunks.
type early struct {
	wire.Reader
	texts int
}

func (e early) Read(ctx context.Context) (wire.Heard, error) {
	heard, err := e.Reader.Read(ctx)
	heard.Texts = min(heard.Texts, e.texts)
	return heard, err
}

func TestChunksThatAreNotReadAreFound(t *testing.T) {
	whole := wire.Answer()
	sdk := func(c *http.Client) wire.Reader { return openaisdk.New(c) }
	ours := func(c *http.Client) wire.Reader { return grapnel.NewReader(c) }
	at := bytes.Index(whole, []byte(" word500")) // in the middle of a chunk
	subject.Catch(t, []subject.Subject{
		reading("one chunk is left out", whole, func(c *http.Client) wire.Reader { return early{ours(c), wire.Chunks - 3} }),
		reading("a text is another", bytes.Replace(whole, []byte(" word500"), []byte(" word5000"), 1), sdk),
		reading("the usage is not told", bytes.Replace(whole, []byte(`"completion_tokens":1000`), []byte(`"completion_tokens":0`), 1), sdk),
		reading("the answer breaks off, ours", whole[:at], ours),
		reading("the answer breaks off, theirs", whole[:at], sdk),
	})
}
