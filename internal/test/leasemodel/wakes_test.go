package leasemodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/leasemodel"
)

func TestAReaderGetsEveryEvent(t *testing.T) {
	t.Parallel()
	r := leasemodel.Search(leasemodel.Wakes{Events: 6, Losses: 3}, enough)
	t.Log(r)
	assert.Empty(t, r.Broken, r)
	assert.Equal(t, 1, r.Seconds)
}

func TestTheSearchFindsReadersThatMissEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wakes leasemodel.Wakes
		want  string
	}{
		{"one that takes the notification for the event", leasemodel.Wakes{Events: 3, NoRead: true}, `
 1. A stores event 1; a notification names it.
 2. A stores event 2; a notification names it.
 3. The reader, which has read up to event 0, is woken by the notification of event 2.
Broken: the reader has passed over an event.`},
		{"one that waits for notifications only", leasemodel.Wakes{Events: 3, Losses: 1, NoPoll: true}, `
 1. A stores event 1; a notification names it.
 2. The notification of event 1 is lost.
Broken: the reader waits, and nothing will wake it, though there are events that it has not read.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := leasemodel.Search(c.wakes, enough)
			t.Logf("\n%v", got)
			assert.Equal(t, c.want, "\n"+strings.TrimSuffix(got.String(), "\n"))
		})
	}
}
