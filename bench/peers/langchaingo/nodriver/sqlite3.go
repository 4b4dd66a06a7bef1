// Package sqlite3 stands in for github.com/mattn/go-sqlite3, which langchaingo's
// memory/sqlite3 imports for no more than the driver that it registers. The work here
// has another driver, and this one is SQLite in C: it wants a compiler of C, and
// minutes of it.
package sqlite3
