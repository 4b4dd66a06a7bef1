// Package job does queued jobs: it takes what is due from a store, has the handler
// of its kind do it, and tries again what failed, later each time. Several
// processes may do the jobs of one store: who has taken one holds a lease on it,
// prolongs it while the job is being done; what a process has left undone that died
// is taken over when the lease ends.
//
// A job that has succeeded is never done again. One may be begun twice, because its
// process died or could not reach the store for as long as the lease, so a handler
// does what it does with the job's key.
package job
