package golangci_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/hookvet/golangci"
)

func TestRegistered(t *testing.T) {
	made, err := register.GetPlugin(golangci.Name)
	require.NoError(t, err)
	tests := []struct {
		name string
		conf any
		info string
		err  string
	}{
		{name: "no settings", info: "false"},
		{name: "info", conf: map[string]any{"info": true}, info: "true"},
		{name: "unknown", conf: map[string]any{"inof": true}, err: `settings of hookvet: decoding settings: json: unknown field "inof"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := made(tt.conf)
			if tt.err != "" {
				assert.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, register.LoadModeTypesInfo, plugin.GetLoadMode())
			analyzers, err := plugin.BuildAnalyzers()
			require.NoError(t, err)
			require.Len(t, analyzers, 1)
			assert.Equal(t, golangci.Name, analyzers[0].Name)
			assert.Equal(t, tt.info, analyzers[0].Flags.Lookup("info").Value.String())
		})
	}
}
