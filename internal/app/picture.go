package app

import (
	"context"
	"reflect"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// Picture shows the plan of the program, as [Plan] returns it.
func Picture(ctx context.Context, o Options, f picture.Format) (screen.Text, error) {
	layered, err := Plan(ctx, o)
	if err != nil {
		return screen.Text{}, err
	}
	s := picture.Source{Plan: layered, Package: reflect.TypeFor[Hooks]().PkgPath()}
	for _, p := range point.All() {
		s.Points = append(s.Points, picture.Point(p))
	}
	v := picture.New(s)
	if f == picture.JSON {
		text, err := v.JSON() // there is one composite, so no array
		return screen.JSON(string(text)), err
	}
	text, err := picture.Render(f, v)
	return screen.Flow(string(text)), err
}
