package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
)

const (
	// gatherTime is how long other nodes may take to answer for a list.
	gatherTime = 2 * time.Second
	// maxGathered bounds the answer of a node in bytes.
	maxGathered = 64 << 20
)

// Gather sends a GET request to all other live nodes that have a project which the caller may see, at the same time, and returns what they answer, by their ids. A node that does not
// answer with 200 and JSON within two seconds is in silent, which is sorted.
func Gather[T any](ctx context.Context, d *Dispatcher, from internode.Caller, path string) (answers map[string]T, silent []string) {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	answers = map[string]T{}
	for _, n := range d.others(from) {
		asked.Go(func() {
			resp, err := d.o.Client.Do(ctx, n, from, internode.Request{Path: path})
			var out T
			if err == nil {
				out, err = decode[T](resp)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent = append(silent, n.ID)
				return
			}
			answers[n.ID] = out
		})
	}
	asked.Wait()
	slices.Sort(silent)
	return answers, silent
}

// others returns the other live nodes that have a project which the caller may see.
func (d *Dispatcher) others(from internode.Caller) []store.Node {
	return slices.DeleteFunc(d.o.Members.Others(), func(n store.Node) bool {
		return !slices.ContainsFunc(n.Projects, func(p store.NodeProject) bool {
			at := tenant.Parse(p.ID)
			return at.Owner == from.Owner && (len(from.Projects) == 0 || slices.Contains(from.Projects, at.Root))
		})
	})
}

func decode[T any](resp *http.Response) (out T, err error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("status %d", resp.StatusCode)
	}
	return out, json.NewDecoder(io.LimitReader(resp.Body, maxGathered)).Decode(&out)
}
