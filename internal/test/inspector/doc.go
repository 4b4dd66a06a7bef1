// Package inspector tests the page that the daemon serves, in a real browser and as a person uses it: daemons of the real program, a
// browser that a script in testdata/journeys drives, and the sources of the page. It has only tests.
package inspector
