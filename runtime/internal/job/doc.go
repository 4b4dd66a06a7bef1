// Package job runs queued jobs: it takes due jobs from a store, calls the handler of
// their kind, and retries failed jobs with growing delays. Several processes may run the
// jobs of one store. A process holds a lease on each job that it runs, and renews it. If
// the process dies, another one takes the job over when the lease ends.
//
// A job that has succeeded never runs again. A job may start twice, if its process died or
// could not reach the store for the time of the lease. So a handler must be idempotent by
// the job's key.
package job
