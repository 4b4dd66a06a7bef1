package api

import (
	"net/http"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook/point"
)

// planByPoint is the plan with its members by point, in the order of their calls.
type planByPoint struct {
	*plan.Plan
	Points []picture.At `json:"points"`
}

func (s *Server) plan(w http.ResponseWriter, _ *http.Request) error {
	p := s.o.Plan
	if p == nil {
		p = &plan.Plan{Members: []plan.Member{}}
	}
	source := picture.Source{Plan: p, Own: p.Own}
	for _, info := range point.All() {
		source.Points = append(source.Points, picture.Point(info))
	}
	view := planByPoint{Plan: p, Points: picture.New(source).Points}
	if view.Points == nil {
		view.Points = []picture.At{}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}
