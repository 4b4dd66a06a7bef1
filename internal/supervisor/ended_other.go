//go:build !linux

package supervisor

// Helper returns the process that starts the commands; here it is not told.
func (s *Supervisor) Helper() (Helper, error) { return Helper{}, nil }

func (h Helper) runs() bool { return false }
