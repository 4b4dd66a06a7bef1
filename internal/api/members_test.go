package api_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
)

// TestMembers: the schemas have exactly the members of the types by which the server reads and writes them.
func TestMembers(t *testing.T) {
	t.Parallel()
	spec := newContract(t).spec
	for _, v := range []any{
		wire.Failure{}, wire.NewLink{}, wire.Link{}, wire.Health{}, wire.Abandoned{}, wire.Agent{}, wire.Command{}, wire.Reloaded{}, wire.Stats{}, wire.NewAgent{},
		wire.Tool{}, wire.Tools{}, wire.Conversation{}, wire.Tasks{}, wire.Adoption{}, wire.NewConversation{}, wire.NewMessage{}, wire.ClientTool{}, wire.Call{},
		wire.CallResult{}, wire.File{}, wire.Turn{}, wire.Cancelled{}, wire.Ask{}, wire.Offer{}, wire.Answer{}, wire.Inquiry{}, wire.Reply{},
		wire.NewFork{}, wire.Rewind{}, wire.NewUndo{}, wire.Undone{}, wire.NewCompaction{}, wire.Compaction{}, wire.Match{}, wire.Job{}, wire.Jobs{}, wire.JobChange{}, wire.Activity{}, wire.ActiveTurn{}, wire.Asks{}, wire.Inquiries{}, wire.Calls{},
		wire.Conversations{}, wire.Nodes{}, wire.Node{}, wire.NodeProject{},
		wire.Servers{}, wire.Server{}, wire.RefusedTool{}, wire.Memories{}, wire.Memory{}, wire.MemorySource{}, wire.MemoryChange{}, wire.Schedules{}, wire.Schedule{}, wire.ScheduleRun{},
		wire.Me{}, wire.Messages{}, wire.RanTurns{}, wire.RanTurn{}, wire.TurnEvents{}, wire.Explained{}, wire.ExplainedPoint{}, wire.ExplainedRun{}, wire.Sandbox{},
	} {
		of := reflect.TypeOf(v)
		schema := spec.Components.Schemas[of.Name()]
		if !assert.NotNil(t, schema, "the document has no schema %s", of.Name()) {
			continue
		}
		assert.ElementsMatch(t, membersOf(of), slices.Collect(maps.Keys(schema.Value.Properties)), of.Name())
	}
	given, around := spec.Components.Schemas["Given"].Value.Items.Value, spec.Components.Schemas["Match"].Value.Properties["around"].Value.Items.Value
	assert.ElementsMatch(t, membersOf(reflect.TypeFor[wire.Given]()), slices.Collect(maps.Keys(given.Properties)))
	assert.ElementsMatch(t, membersOf(reflect.TypeFor[wire.Line]()), slices.Collect(maps.Keys(around.Properties)))
	codes := spec.Components.Schemas["Failure"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	require.Len(t, codes, len(statusesOf))
}

func membersOf(of reflect.Type) []string {
	var out []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
