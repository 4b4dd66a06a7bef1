package mcp

// AsWritten returns the configuration without what it remembers of the user's variables,
// so that tests can compare it with what they write themselves.
func AsWritten(c Config) Config {
	for i := range c.Servers {
		c.Servers[i].expanded = nil
	}
	return c
}
