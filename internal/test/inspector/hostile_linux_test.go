package inspector_test

import "testing"

// TestMarkup: no text from outside does anything, and each of the two defences alone sees to it.
func TestMarkup(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	for _, tt := range []struct {
		name string
		env  []string
	}{
		{"as it is", nil},
		{"without the policy", []string{"POLICY=off"}},
		{"with a careless renderer", []string{"TEXT=html"}},
		{"known bad: without either", []string{"POLICY=off", "TEXT=html", "REACHES=yes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			s.play("markup", nil, tt.env...)
		})
	}
}
