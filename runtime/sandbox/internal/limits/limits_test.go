package limits

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 2 << 30: "2 GiB", 2254857830: "2.1 GiB", 1<<63 - 1: "8 EiB",
	} {
		assert.Equal(t, want, size(n))
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	l := Default()
	assert.GreaterOrEqual(t, l.Memory, int64(1<<30))
	assert.LessOrEqual(t, l.Memory, int64(8<<30))
	assert.Equal(t, Limits{Memory: l.Memory, Processes: 512, FileSize: 4 << 30}, l)
	assert.Equal(t, size(l.Memory)+" of memory, 512 processes, 4 GiB for a file", l.String())
	assert.Equal(t, "none", Limits{}.String())
	assert.Equal(t, "3 processes", Limits{Processes: 3}.String())
}

func TestSentences(t *testing.T) {
	t.Parallel()
	l := Limits{Memory: 2 << 30, Processes: 512}
	assert.Equal(t, "it used 2.1 GiB of memory; the limit is 2 GiB", l.overMemory(2254857830))
	assert.Equal(t, "it had more than 512 processes; that is the limit", l.overProcesses())
	assert.Equal(t, "it had more than 4096 threads; that is the limit", l.overThreads())
	assert.Contains(t, Means{parent: "/x"}.String(), "by a cgroup")
	if watches {
		assert.Equal(t, "a watcher sums all processes up, five times a second, because reasons", Means{why: "reasons"}.String())
	} else {
		assert.Equal(t, "none", Means{}.String())
	}
}
