package openai_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

// toxic damages a response by chance. whole says whether the answer can still be
// got whole.
type toxic struct {
	name  string
	whole bool
	apply func(r *rand.Rand, wire string) server
}

func cutAt(wire string, at int, err error) server {
	return serves(io.MultiReader(strings.NewReader(wire[:at]), failing{err}))
}

// finishAt is where the finish of a composed answer begins: what is cut before
// that is not whole.
func finishAt(wire string) int { return strings.LastIndex(wire, `"finish_reason":"`) }

func toxics() []toxic {
	reset := errors.New("connection reset by peer")
	before := func(r *rand.Rand, wire string) int { return r.IntN(finishAt(wire)) }
	status := func(code int, header ...string) func(*rand.Rand, string) server {
		return func(*rand.Rand, string) server {
			return responds(code, "application/json", `{"error":{"message":"no"}}`, header...)
		}
	}
	return []toxic{
		{"429", false, status(429)},
		{"429 with Retry-After", false, status(429, "Retry-After", "7")},
		{"429 with an absurd one", false, status(429, "Retry-After", "99999999999999999999")},
		{"5xx", false, func(r *rand.Rand, _ string) server { return responds(500+r.IntN(5), "text/html", "<html>") }},
		{"reset", false, func(r *rand.Rand, w string) server { return cutAt(w, before(r, w), reset) }},
		{"unexpected end", false, func(r *rand.Rand, w string) server { return cutAt(w, before(r, w), io.ErrUnexpectedEOF) }},
		{"end", false, func(r *rand.Rand, w string) server { return cutAt(w, before(r, w), io.EOF) }},
		{"end in arguments", false, func(r *rand.Rand, w string) server {
			from := strings.Index(w, `"arguments"`)
			return cutAt(w, from+r.IntN(finishAt(w)-from), io.EOF)
		}},
		{"end in UTF-8", false, func(_ *rand.Rand, w string) server {
			at := strings.Index(w, "—")
			if at < 0 {
				at = strings.Index(w, `\u2014`) + 2
			}
			return cutAt(w, at+1, io.EOF)
		}},
		{"end behind an event", false, func(r *rand.Rand, w string) server {
			ends := strings.SplitAfter(w[:finishAt(w)], "\n")
			return serves(strings.NewReader(strings.Join(ends[:r.IntN(len(ends))], "")))
		}},
		{"[DONE] without a finish", false, func(_ *rand.Rand, w string) server {
			var kept []string
			for _, line := range strings.SplitAfter(w, "\n") {
				if !strings.Contains(line, `"finish_reason":"`) {
					kept = append(kept, line)
				}
			}
			return serves(strings.NewReader(strings.Join(kept, "") + done))
		}},
		{"a garbage line", false, func(r *rand.Rand, w string) server {
			lines := strings.SplitAfter(w, "\n")
			at := r.IntN(strings.Count(w[:finishAt(w)], "\n"))
			return serves(strings.NewReader(strings.Join(lines[:at], "") + "\x00garbage\n" + strings.Join(lines[at:], "")))
		}},
		{"wrong content type", false, func(_ *rand.Rand, w string) server { return responds(200, "text/html", w) }},
		{"slicer", true, func(r *rand.Rand, w string) server {
			p := &pieces{}
			for w != "" {
				n := 1 + r.IntN(min(len(w), 40))
				p.left, w = append(p.left, w[:n]), w[n:]
			}
			return serves(p)
		}},
		{"end with the last bytes", true, func(_ *rand.Rand, w string) server {
			return serves(iotest.DataErrReader(strings.NewReader(w)))
		}},
	}
}

// However an answer is damaged, it is never taken for whole, and no call of it
// can run: calls exist only in a reply without an error.
func TestDamagedAnswersAreNeverTakenForWhole(t *testing.T) {
	t.Parallel()
	for name, want := range wires() {
		for _, tox := range toxics() {
			t.Run(name+"/"+tox.name, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(50) {
					r := rand.New(rand.NewPCG(seed, 1))
					got, err := provider.Collect(asks(tox.apply(r, composed(t, name)), nil).Stream(t.Context(), hello()))
					if tox.whole {
						require.NoError(t, err, "seed %d", seed)
						require.Equal(t, want, got, "seed %d", seed)
						continue
					}
					require.Error(t, err, "seed %d", seed)
					require.NotEmpty(t, err.Error())
					for range got.Calls() {
						t.Fatalf("seed %d: a call of a damaged answer", seed)
					}
					require.True(t, strings.HasPrefix(want.Text(), got.Text()), "seed %d: %q", seed, got.Text())
				}
			})
		}
	}
}

// Cut at any byte before its finish, no composed answer is whole; the test of
// the tests: a reader that forgives a missing finish would fail here.
func TestEveryCutIsNoticed(t *testing.T) {
	t.Parallel()
	for name, want := range wires() {
		wire := composed(t, name)
		for at := range len(wire) {
			if at%5 > 0 && at < finishAt(wire)-400 {
				continue // long stretches of the same
			}
			got, err := answers(t.Context(), wire[:at])
			if at < finishAt(wire)+len(`"finish_reason":"`) {
				require.Error(t, err, "%s cut at %d", name, at)
				continue
			}
			if err == nil {
				require.Equal(t, want.Content, got.Content, "%s cut at %d", name, at)
			}
		}
	}
}

// Bytes that change in transit are noticed or change only what is said, never
// the rules by which it is said.
func TestFlippedBytesBreakNoRule(t *testing.T) {
	t.Parallel()
	for name := range wires() {
		wire := []byte(composed(t, name))
		r := rand.New(rand.NewPCG(7, 7))
		for range 600 {
			damaged := bytes.Clone(wire)
			for range 1 + r.IntN(3) {
				damaged[r.IntN(len(damaged))] = byte(r.Uint32())
			}
			checkStream(t, string(damaged))
		}
	}
}

// checkStream holds what comes of any stream to the rules of message.ChunkKind.
func checkStream(t *testing.T, wire string) {
	t.Helper()
	all, err := reads(t, strings.NewReader(wire))
	var c provider.Collector
	ids := map[string]bool{}
	for _, chunk := range all {
		require.NoError(t, c.Add(&chunk))
		assert.True(t, chunk.Text == strings.ToValidUTF8(chunk.Text, "") && chunk.Tool == strings.ToValidUTF8(chunk.Tool, ""), "no UTF-8")
		if chunk.Kind == message.ChunkCallStart {
			assert.NotEmpty(t, chunk.Tool)
			assert.NotEmpty(t, chunk.CallID)
			assert.False(t, ids[chunk.CallID], "an id twice")
			ids[chunk.CallID] = true
		}
	}
	if err == nil {
		_, err = c.Reply()
		require.NoError(t, err)
		return
	}
	require.NotEmpty(t, err.Error())
	require.Less(t, len(err.Error()), 900)
}

// reads reads a stream without any timer.
func reads(t *testing.T, wire io.Reader) ([]message.Chunk, error) {
	o := &openai.Options{Network: provider.Network{MaxStream: 1 << 20, FirstByteTimeout: -1, IdleTimeout: -1}}
	return chunks(asks(serves(wire), o).Stream(t.Context(), hello()))
}

func FuzzStream(f *testing.F) {
	for name := range wires() {
		f.Add(composed(f, name))
	}
	for _, seed := range []string{
		says("a") + whole, callsWith(`{}`), "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n" + ends, "event: error\ndata: {}\n\n",
		"error: {\"message\":1}\n\n", `data: {"object":"error","message":"x"}`, "\xEF\xBB\xBF\r\r\n\n\r", "data: {\"usage\":{\"prompt_tokens\":1e99}}\n\n" + ends,
		callsWith(`{"index":0,"function":{"name":"x","arguments":{"a":[1,{"b":"\u0000"}]}}},{"index":-1,"id":7}`) + chunkOf(`{}`, "length"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		checkStream(t, wire)
		// and cut in two anywhere it is the same
		one, errOne := reads(t, strings.NewReader(wire))
		two, errTwo := reads(t, iotest.HalfReader(strings.NewReader(wire)))
		three, errThree := reads(t, iotest.OneByteReader(strings.NewReader(wire)))
		assert.Equal(t, one, two)
		assert.Equal(t, one, three)
		assert.Equal(t, fmt.Sprint(errOne), fmt.Sprint(errTwo))
		assert.Equal(t, fmt.Sprint(errOne), fmt.Sprint(errThree))
	})
}
