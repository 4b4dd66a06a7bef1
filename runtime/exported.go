package runtime

import (
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
)

// Types of the rooms that embedders name, most of them in Options.
type (
	// JobOptions say which queued jobs the runtime does, and how.
	JobOptions = job.Options
	// JobHandler does one job. It is called with a context that ends with the attempt's time or when the runtime closes.
	JobHandler = job.Handler
	// JobRun is one attempt at a job.
	JobRun = job.Run
	// JobGiveUp is an error of a JobHandler that no further attempt would mend: the job is given up.
	JobGiveUp = job.GiveUp
	// ContributionBudget bounds what hooks contribute to one turn.
	ContributionBudget = contribution.Budget
)
