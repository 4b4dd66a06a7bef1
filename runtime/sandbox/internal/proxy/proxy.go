package proxy

type Host string

func (h Host) String() string          { return string(h) }
func ParseHost(s string) (Host, error) { return Host(s), nil }
