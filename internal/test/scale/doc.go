// Package scale tests several daemons over one PostgreSQL: they are killed, stopped and cut off from their database, which is
// restarted and runs out of disk, while clients talk through all of them. It has only tests.
package scale
