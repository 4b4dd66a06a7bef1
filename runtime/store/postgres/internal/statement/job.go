package statement

import (
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// firstJobs returns the first job of each project, kind and key: the others would change nothing,
// and a statement sets each row once.
func firstJobs(all []store.Job) []store.Job {
	var out []store.Job
	for _, j := range all {
		if !slices.ContainsFunc(out, func(o store.Job) bool { return o.Project == j.Project && o.Kind == j.Kind && o.Key == j.Key }) {
			out = append(out, j)
		}
	}
	return out
}

// InsertJobs is the statement that queues the jobs once for each row of from. Jobs of deleted
// conversations are dropped: one that is being deleted is in the statement's snapshot, and cannot
// be locked any more when the deletion is over.
func InsertJobs(b *Builder, jobs []store.Job, from string) string {
	n := len(jobs)
	projects, kinds, keys, payloads := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	conversations, turns := make([]string, n), make([]string, n)
	versions, contracts, dues := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, j := range jobs {
		projects[i], kinds[i], keys[i], payloads[i] = []byte(j.Project), []byte(j.Kind), []byte(j.Key), []byte(j.Payload)
		conversations[i], turns[i] = j.Conversation, j.Turn
		versions[i], contracts[i] = int64(max(1, j.Version)), int64(max(1, j.Contract))
		if !j.Due.IsZero() {
			dues[i] = j.Due.UnixNano()
		}
	}
	return `INSERT INTO job (project, kind, key, payload, conversation, turn, version, contract, status, attempts, due, owner, epoch, failure, created, updated)
		SELECT x.project, x.kind, x.key, x.payload, x.conversation, x.turn, x.version, x.contract, 'queued', 0, greatest(` + Now + `, x.due), '', 0, '', ` + Now + `, ` + Now + `
		FROM ` + from + `, unnest(` + b.Arg(projects, "bytea[]") + `, ` + b.Arg(kinds, "bytea[]") + `, ` + b.Arg(keys, "bytea[]") + `, ` + b.Arg(payloads, "bytea[]") + `,
			` + b.Arg(conversations, "text[]") + `, ` + b.Arg(turns, "text[]") + `, ` + b.Arg(versions, "bigint[]") + `, ` + b.Arg(contracts, "bigint[]") + `,
			` + b.Arg(dues, "bigint[]") + `)
			WITH ORDINALITY x (project, kind, key, payload, conversation, turn, version, contract, due, o)
		WHERE NOT EXISTS (SELECT FROM erased e WHERE e.id = x.conversation) AND {x.project}
		ORDER BY o
		ON CONFLICT (project, kind, key) DO UPDATE SET payload = excluded.payload, conversation = excluded.conversation, turn = excluded.turn,
			version = excluded.version, contract = excluded.contract, status = 'queued', attempts = 0, due = excluded.due, failure = '', updated = excluded.updated
			WHERE job.status = 'failed' RETURNING 1`
}
