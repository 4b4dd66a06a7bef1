package guard

// stamp tells whether a file or directory has changed. The kernel sets the time, and nothing else can.
type stamp struct {
	id      identity
	changed int64
}

// identity is a file's own number, whatever its name. The device is 0 where it is not known, and matches every other one.
type identity struct{ device, number uint64 }

func (i identity) is(o identity) bool {
	return i.number == o.number && (i.device == o.device || i.device == 0 || o.device == 0)
}

func (s stamp) is(o stamp) bool { return s.changed == o.changed && s.id.is(o.id) }
