// Package bench measures Grapnel beside its limits and its peers: code written by
// hand for the one case, and other frameworks through their public API.
//
// It is a module of its own, so that no user of Grapnel gets the peers. Package
// work says what is done, a package below peers does it with one of them, and the
// benchmarks here have them do it in turn. Every unit of work checks its own
// result, so that nobody is timed doing less.
package bench
