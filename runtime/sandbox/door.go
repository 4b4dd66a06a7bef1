package sandbox

import (
	"net"

	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

// door is the way of one process to the hosts of its grant: a proxy in this process, on a listener in the process's network.
type door struct{ proxy *proxy.Proxy }

// open opens the door of a process; it has none if its grant names no host.
func (s *Sandbox) open(p *supervisor.Process, g Grant) (*door, error) {
	file := p.Door()
	if file == nil {
		return &door{}, nil
	}
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	var hosts []proxy.Host
	for _, text := range g.Hosts {
		h, err := proxy.ParseHost(text)
		if err != nil {
			_ = l.Close()
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return &door{proxy.Serve(l, hosts)}, nil
}

// close closes the door and returns the hosts that were asked for in vain.
func (d *door) close() []string {
	if d.proxy == nil {
		return nil
	}
	d.proxy.Close()
	return d.proxy.Refused()
}
