package supervisor

import "time"

// Helper names the process that starts the commands of a program and ends them all when the program dies. It can be written down, so that
// another program can wait for that. The zero value is none.
type Helper struct {
	Pid int
	// Began tells the process from a later one with its number.
	Began string
}

// Wait waits until the process has ended, and with it all commands, at most for a time.
func (h Helper) Wait(atMost time.Duration) {
	for end := time.Now().Add(atMost); h.runs() && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}
