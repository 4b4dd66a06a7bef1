package console

import (
	"os"

	"github.com/grapnel-go/grapnel/internal/term"
)

// Ask says how calls are approved; nil is all zero values.
type Ask struct {
	// Root is the directory whose files a question shows changes of; "" shows none.
	Root string
	// Yes allows every call without asking.
	Yes bool
	// StdinUsed: standard input has been read for something else, so nobody can be asked.
	StdinUsed bool
	// Gate is closed while somebody is asked; nil is none.
	Gate *term.Gate
}

// Approver returns who is asked: the person at the terminal, if there is one that both
// shows the question and takes the answer.
func (c *Console) Approver(ask *Ask) *term.Approver {
	if ask == nil {
		ask = &Ask{}
	}
	o := &term.ApproverOptions{Yes: ask.Yes, Root: ask.Root, Gate: ask.Gate}
	seen := c.screen()
	if seen != nil && !ask.StdinUsed && term.IsTerminal(c.In) {
		o.Answers, o.Out, o.Color = c.personAt(seen), seen, term.Colored(seen)
	}
	return term.NewApprover(o)
}

// personAt is the person at the terminal; nil if they cannot be asked.
func (c *Console) personAt(seen *os.File) term.Answers {
	if c.person == nil {
		ask := NewPerson
		if c.NewPerson != nil {
			ask = c.NewPerson
		}
		p, err := ask(c.In, seen)
		if err != nil {
			c.Note(err.Error())
			return nil
		}
		c.person = p
	}
	return c.person
}

// screen is where a question is seen: standard error, or the terminal itself if
// that leads elsewhere; nil if there is none.
func (c *Console) screen() *os.File {
	if term.IsTerminal(c.Err) {
		return c.Err
	}
	if c.tty == nil {
		tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		c.tty = tty
	}
	return c.tty
}
