package needs

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// seed is 1, so that a test which blocks a merge draws the same each time. With PROVE=1 it is a new one, unless
// -rapid.seed gives one. Package rapid draws from it as well.
var seed = sync.OnceValue(func() uint64 {
	rapid := flag.Lookup("rapid.seed")
	if rapid != nil && rapid.Value.String() != "0" {
		return rapid.Value.(flag.Getter).Get().(uint64)
	}
	seed := uint64(1)
	if os.Getenv("PROVE") == "1" {
		seed = rand.Uint64()
	}
	if rapid != nil {
		_ = rapid.Value.Set(strconv.FormatUint(seed, 10))
	}
	return seed
})

// Seed returns what a test draws from, and logs it: always 1 unless PROVE is 1.
func Seed(t testing.TB) uint64 {
	t.Helper()
	t.Logf("seed %d", seed())
	return seed()
}

// Seeded returns t for [pgregory.net/rapid.Check], which then draws from [Seed].
func Seeded(t *testing.T) *testing.T {
	t.Helper()
	seed()
	return t
}
