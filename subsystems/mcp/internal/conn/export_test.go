package conn

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// UnclaimedTime is unclaimedTime.
const UnclaimedTime = unclaimedTime

// OpenForTest lets the pool open connections with f, which returns the transport
// to a server and what kills that server.
func (p *Pool) OpenForTest(f func(Spec) (sdk.Transport, func(), error)) {
	p.open = func(s Spec, _ *ring) (carrier, error) {
		t, kill, err := f(s)
		return &inMemory{t: t, down: kill}, err
	}
}

// LoopbackOnlyForTest is what guards the dialer of plain http.
func LoopbackOnlyForTest(address string) error { return loopbackOnly("tcp", address, nil) }

// inMemory carries a session to a server within the process.
type inMemory struct {
	t    sdk.Transport
	down func()
}

func (m *inMemory) transport(func()) sdk.Transport          { return m.t }
func (m *inMemory) gone() <-chan struct{}                   { return nil }
func (m *inMemory) exit() (string, bool)                    { return "", false }
func (m *inMemory) stop(_ time.Duration, _ <-chan struct{}) { m.down() }
func (m *inMemory) kill()                                   { m.down() }
func (m *inMemory) release()                                { m.down() }
func (m *inMemory) pid() int                                { return 0 }
