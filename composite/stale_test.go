package composite_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// A point without a marker would be one that generated code can lack unnoticed.
func TestNotCalledHasEveryPoint(t *testing.T) {
	want := 0
	for p := range hook.Points() {
		want++
		m, ok := reflect.TypeFor[composite.NotCalled3]().MethodByName(p.String())
		require.True(t, ok, "composite.NotCalled has no %s: add the line in stale.go", p)
		assert.Equal(t, reflect.TypeFor[func(composite.NotCalled3) composite.Stale](), m.Type)
	}
	assert.Equal(t, want, reflect.TypeFor[composite.NotCalled]().NumMethod(), "a method of no point")
}

type sibling struct{ hook.Nop }

type withFacade struct{ hook.Nop }

func (withFacade) OnEvent() {}

// The marker lies between what a member has itself and what it has from Nop.
func TestNotCalledLiesAboveNop(t *testing.T) {
	assert.Equal(t, composite.Stale{}, struct {
		sibling
		composite.NotCalled
	}{}.OnEvent())
	typ := reflect.TypeFor[struct {
		withFacade
		composite.NotCalled
	}]()
	_, ok := typ.MethodByName("OnEvent")
	assert.False(t, ok, "ambiguous")
}
